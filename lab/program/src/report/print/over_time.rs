//! Charts of the traffic of each rail over time, if recorded: one chart per rail, one line per stack.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::output::page::axis::Axis;
use crate::output::page::chart::{Chart, Horizontal, Line};
use crate::output::page::units;
use crate::record::RailShare;
use crate::report::Report;
use crate::statistics::Spread;

/// Width and height of a chart; two stand side by side.
const SIZE: (f64, f64) = (560.0, 260.0);
/// Most places of a line.
const MAX_PLACES: usize = 80;

/// A line: its stack, and times in seconds with rates in MB/s.
type Rates = (usize, Vec<(f64, Spread)>);

/// All of it, of the first round in which each was measured.
pub fn rails(report: &Report) -> Markup {
    let model = &report.model;
    let charts = charts(report);
    html! {
        @if !charts.is_empty() { section #over-time {
            h2 { "Rails over time" }
            p .note {
                "Bytes that all ranks sent over each rail, in one round; the band is from the least to the greatest of the steps that "
                "a mark stands for. Only stacks that count these bytes are here."
            }
            div .grid2 { @for ((benchmark, link, rail), lines) in &charts {
                @let name = format!("{}, {}, {rail}", model.benchmarks[*benchmark].title, model.links[*link]);
                figure { figcaption { h3 { (name) } } (chart(report, name, lines)) }
            } }
        } }
    }
}

/// By benchmark, link and rail.
fn charts(report: &Report) -> BTreeMap<(usize, usize, String), Vec<Rates>> {
    let mut charts: BTreeMap<(usize, usize, String), Vec<Rates>> = BTreeMap::new();
    for line in report.records.iter().flat_map(|record| &record.rails) {
        let step_s = line.step_s.filter(|step_s| step_s.is_finite() && *step_s > 0.0);
        let found = report.model.find(&line.cell).zip(step_s);
        let Some((((benchmark, link), stack), step_s)) = found else { continue };
        for rail in line.rails.iter().filter(|rail| !rail.sent_over_time.is_empty()) {
            let lines = charts.entry((benchmark, link, rail.name.clone())).or_default();
            if lines.iter().all(|(known, _)| *known != stack) {
                lines.push((stack, rates(rail, step_s)));
            }
        }
    }
    charts
}

/// Steps together where they are too many.
fn rates(rail: &RailShare, step_s: f64) -> Vec<(f64, Spread)> {
    let each = rail.sent_over_time.len().div_ceil(MAX_PLACES).max(1);
    let place = |(at, steps): (usize, &[u64])| {
        let rate = |bytes: u64| bytes as f64 / step_s / 1e6;
        let sum: u64 = steps.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes));
        let (least, greatest) = (steps.iter().min(), steps.iter().max());
        let spread = Spread {
            median: rate(sum) / steps.len() as f64,
            least: rate(least.copied().unwrap_or_default()),
            greatest: rate(greatest.copied().unwrap_or_default()),
        };
        ((at * each) as f64 * step_s, spread)
    };
    rail.sent_over_time.chunks(each).enumerate().map(place).collect()
}

fn chart(report: &Report, title: String, lines: &[Rates]) -> Markup {
    let mut places: Vec<f64> = lines.iter().flat_map(|(_, points)| points.iter().map(|point| point.0)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let values: Vec<f64> = lines.iter().flat_map(|(_, points)| points.iter().map(|point| point.1.greatest)).collect();
    let line =
        |(stack, points): &Rates| Line { stack: *stack, name: &report.model.stacks[*stack], points: points.clone() };
    let x = Horizontal {
        caption: "time, s".into(),
        base: None,
        places,
        name: &|place| units::digits((place * 1e6).round() / 1e6),
    };
    Chart {
        title,
        size: SIZE,
        x,
        y: Axis::from_zero(&values),
        unit: "MB/s",
        lines: lines.iter().map(line).collect(),
        levels: Vec::new(),
        named: false,
    }
    .draw()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rail(steps: Vec<u64>) -> RailShare {
        RailShare { sent_over_time: steps, ..RailShare::default() }
    }

    #[test]
    fn bytes_of_steps_are_rates() {
        let found = rates(&rail(vec![1_000_000, 0]), 0.5);
        assert_eq!(found.iter().map(|(time, rate)| (*time, rate.median)).collect::<Vec<_>>(), [(0.0, 2.0), (0.5, 0.0)]);
    }

    #[test]
    fn many_steps_are_put_together_with_their_spread() {
        let found = rates(&rail((0..200).map(|at| if at % 2 == 0 { 0 } else { 20_000 }).collect()), 0.01);
        assert_eq!(found.len(), 67);
        let (time, spread) = found[1];
        assert!((time - 0.03).abs() < 1e-9 && spread.least == 0.0 && (spread.greatest - 2.0).abs() < 1e-9);
        assert!((spread.median - 4.0 / 3.0).abs() < 1e-9);
    }
}
