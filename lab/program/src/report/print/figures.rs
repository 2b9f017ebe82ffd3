//! The report's pictures: a section a benchmark, a chart a link.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::{labels, tables};
use crate::output::page;
use crate::output::page::axis::Axis as Scale;
use crate::output::page::bars::{self, Bar, Part};
use crate::output::page::chart::{Chart, Horizontal, Line};
use crate::report::Report;
use crate::report::axis::Axis;
use crate::report::model::{Panel, Points};
use crate::report::rail_sums::{Sum, Sums, sums};

/// Width and height of a chart; two stand side by side.
const SIZE: (f64, f64) = (560.0, 330.0);

pub fn benchmarks(report: &Report) -> Markup {
    let model = &report.model;
    html! {
        @for (number, benchmark) in model.benchmarks.iter().enumerate() {
            @let panels: Vec<_> = model.panels.iter().filter(|(panel, _)| panel.benchmark == number).collect();
            @if !panels.is_empty() {
                section id=(format!("benchmark-{}", benchmark.name)) {
                    h2 { (benchmark.title) }
                    p .note { (describe(report, number, &panels)) }
                    (page::printed_legend(&model.stacks))
                    div .grid2 { @for (panel, points) in panels { (figure(report, panel, points)) } }
                }
            }
        }
    }
}

fn describe(report: &Report, benchmark: usize, panels: &[(&Panel, &Points)]) -> String {
    let varying = report.model.varying(benchmark);
    let conditions = panels[0].0.conditions();
    let same = conditions.iter().filter(|(name, _)| !varying.contains(*name));
    let same: Vec<String> = same.map(|(name, value)| labels::condition(name, &value.0)).collect();
    let lower = panels.iter().filter(|(panel, _)| panel.lower_is_better).count();
    let better = match lower {
        0 => "higher is better",
        all if all == panels.len() => "lower is better",
        _ => "lower is better of times, higher of all else",
    };
    let rounds = panels.iter().flat_map(|(_, points)| points.values().flat_map(|stacks| stacks.values()));
    let rounds = rounds.map(|rounds| rounds.len()).max().unwrap_or(0);
    let spread =
        if rounds > 1 { format!("Median of {rounds} rounds, band from least to greatest") } else { "One round".into() };
    let same = if same.is_empty() { String::new() } else { format!(" ({})", same.join(", ")) };
    format!("{spread}; {better}{same}.")
}

fn figure(report: &Report, panel: &Panel, points: &Points) -> Markup {
    let name = labels::panel(report, panel);
    let benchmark = &report.model.benchmarks[panel.benchmark];
    let title = format!("{}, {name}", benchmark.title);
    html! {
        figure {
            figcaption { h3 { (name) } }
            @if points.len() > 1 { (chart(report, panel, points, title)) } @else { (bar_chart(report, panel, points, &title)) }
            (tables::values(report, panel, points))
        }
    }
}

fn chart(report: &Report, panel: &Panel, points: &Points, title: String) -> Markup {
    let axis = &report.model.benchmarks[panel.benchmark].axis;
    let mut lines = Vec::new();
    for (stack, name) in report.model.stacks.iter().enumerate() {
        let spreads = points.keys().filter_map(|place| Some((place.0, labels::spread(points, *place, stack)?)));
        let line = Line { stack, name, points: spreads.collect() };
        if !line.points.is_empty() {
            lines.push(line);
        }
    }
    let values = lines.iter().flat_map(|line| line.points.iter().flat_map(|(_, s)| [s.least, s.greatest]));
    let y = Scale::logarithmic(&values.collect::<Vec<_>>());
    let x = Horizontal {
        caption: axis.caption(),
        base: axis.base(),
        places: points.keys().map(|place| place.0).collect(),
        name: &|place| axis.name(place),
    };
    Chart { title, size: SIZE, x, y, unit: &panel.unit, lines, levels: Vec::new(), named: false }.draw()
}

fn bar_chart(report: &Report, panel: &Panel, points: &Points, title: &str) -> Markup {
    let axis = &report.model.benchmarks[panel.benchmark].axis;
    let Some(place) = points.keys().next() else { return Markup::default() };
    let mut bars = Vec::new();
    for (stack, name) in report.model.stacks.iter().enumerate() {
        bars.extend(labels::spread(points, *place, stack).map(|spread| Bar { stack, name, spread }));
    }
    html! {
        @if *axis != Axis::Size || place.0 > 0.0 { p .note { (axis.caption()) " " (axis.name(place.0)) } }
        (bars::values(title, SIZE.0, &panel.unit, &bars))
    }
}

/// Chart of the bytes sent over each rail.
pub fn rails(report: &Report) -> Markup {
    let model = &report.model;
    let sums = sums(report);
    html! {
        @if !sums.is_empty() { section #rails {
            h2 { "Shares of the rails" }
            p .note { "Bytes that each stack sent over each rail, over all rounds. Only stacks that count them are here." }
            div .grid2 { @for ((benchmark, link), stacks) in &sums {
                @let title = format!("{}, {}", model.benchmarks[*benchmark].title, model.links[*link]);
                figure {
                    figcaption { h3 { (title) } }
                    (bars::shares(&title, SIZE.0, &share_rows(report, stacks)))
                    (tables::sent(report, stacks))
                }
            } }
        } }
    }
}

fn share_rows(report: &Report, stacks: &BTreeMap<usize, Sums>) -> Vec<bars::Whole> {
    let whole = |(stack, rails): (&usize, &Sums)| {
        let total: f64 = rails.values().map(|sum| sum.bytes as f64).sum();
        let part = |(name, sum): (&String, &Sum)| Part { name: name.clone(), share: sum.bytes as f64 / total.max(1.0) };
        let parts = rails.iter().map(part).collect();
        bars::Whole { name: report.model.stacks[*stack].clone(), class: format!("s{stack}"), parts }
    };
    stacks.iter().map(whole).collect()
}
