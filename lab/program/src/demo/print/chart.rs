//! The demonstration's pictures.

use maud::Markup;

use crate::demo::{APPLICATION_TITLE, Results, StackResults, stacks};
use crate::output::page::axis::{Axis, Base};
use crate::output::page::bars::{self, Bar, Part, Whole};
use crate::output::page::chart::{Chart, Horizontal, Level, Line};
use crate::output::page::picture::{self, Theme};
use crate::output::page::units;
use crate::statistics::Spread;

const SIZE: (f64, f64) = (960.0, 420.0);

/// Bandwidth over message size, one line a stack, with what the rails carry by themselves.
pub fn bandwidth(results: &Results) -> Markup {
    let sum = Spread::of(&results.sum).map(|sum| (sum.median, "sum of the rails, measured", "sum"));
    let alone = results.rails.iter().filter_map(|rail| Spread::of(&rail.alone)).map(|spread| spread.median);
    let alone = alone.reduce(f64::max).map(|best| (best, "best rail alone", "alone"));
    let level = |(value, name, class)| Level { value, name, class };
    let line = |(stack, results): (usize, &StackResults)| {
        let spreads = results.bandwidth.iter().filter_map(|(size, values)| Some((*size as f64, Spread::of(values)?)));
        (stack, spreads.collect::<Vec<_>>())
    };
    let lines = results.stacks.iter().enumerate().map(line);
    let lines: Vec<_> = lines.filter(|(_, points)| !points.is_empty()).collect();
    let values = results.stacks.iter().flat_map(|stack| stack.bandwidth.values().flatten()).chain(&results.sum);
    let y = Axis::from_zero(&values.copied().collect::<Vec<_>>());
    let x = Horizontal {
        caption: "message size".into(),
        base: Some(Base::Two),
        places: results.sizes().into_iter().map(|size| size as f64).collect(),
        name: &|size| units::size(size as u64),
    };
    let named = |(stack, points)| Line { stack, name: &results.stacks[stack].name, points };
    let chart = Chart {
        title: "Bandwidth in megabytes a second over message size, one line for each stack".into(),
        size: SIZE,
        x,
        y,
        unit: "MB/s",
        lines: lines.into_iter().map(named).collect(),
        levels: sum.into_iter().chain(alone).map(level).collect(),
        named: true,
    };
    chart.draw()
}

/// The chart as a standalone file.
pub fn picture(results: &Results, theme: Theme) -> String {
    let stacks: Vec<String> = results.stacks.iter().map(|stack| stack.name.clone()).collect();
    picture::render(&bandwidth(results), SIZE, &stacks, theme)
}

/// Run time of the application, a bar for each stack.
pub fn run_time(results: &Results) -> Markup {
    let stacks = results.stacks.iter().enumerate();
    let bars: Vec<Bar> = stacks
        .filter_map(|(stack, of)| Some(Bar { stack, name: &of.name, spread: Spread::of(&of.run_time)? }))
        .collect();
    bars::values(&format!("Run time of {APPLICATION_TITLE} in seconds"), SIZE.0, "s", &bars)
}

/// Shares of the rails: what Fishplate sent over each, above what each can carry.
pub fn shares(results: &Results) -> Markup {
    let alone: Vec<f64> = results.rails.iter().map(|r| Spread::of(&r.alone).map_or(0.0, |s| s.median)).collect();
    let total: f64 = alone.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let sent = |name: &str| results.shares.iter().find(|share| share.rail == name).map_or(0.0, |share| share.share);
    let part =
        |rail: &crate::demo::RailAlone, share| Part { name: format!("{}, {} Mbit/s", rail.name, rail.mbit), share };
    let sent = results.rails.iter().map(|rail| part(rail, sent(&rail.name))).collect();
    let can = results.rails.iter().zip(&alone).map(|(rail, rate)| part(rail, rate / total)).collect();
    let own = results.stacks.iter().position(|stack| stack.name == stacks::FISHPLATE);
    let own = own.map_or(String::new(), |index| format!("s{index}"));
    let rows = [
        Whole { name: "Fishplate sent".into(), class: own, parts: sent },
        Whole { name: "Rails can carry".into(), class: String::new(), parts: can },
    ];
    bars::shares("Share of the bytes that Fishplate sent over each rail, and of the rates of the rails", SIZE.0, &rows)
}
