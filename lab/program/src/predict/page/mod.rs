//! Predictions as a page: networks side by side, then for each what `fishplate profile` shows of a real run.
//!
//! [`detail`] has a replay's calls made into a profile: `recording` goes through what ranks did, `call_names` says what
//! that is called, `over_time` counts in steps. `path` draws the critical path.

mod call_names;
mod over_time;
mod path;
mod recording;

use fishplate_sim::replay::{CallTimes, Outcome};
use fishplate_sim::testbed::Machine;
use fishplate_trace::{RankTrace, Trace};
use maud::{Markup, html};

use super::prediction::{Detail, Prediction};
use super::{print as tables, worth};
use crate::output::page;
use crate::output::text::{percent, time};
use crate::profile::{self, print};

/// Most networks that are shown in detail.
const MAX_DETAILED: usize = 6;

/// The replay on a machine.
pub fn detail(trace: &Trace, machine: &Machine, outcome: &Outcome, calls: &[CallTimes]) -> Detail {
    let steps = over_time::Steps::new(&outcome.rails, outcome.run);
    let host = |rank: u32| format!("node{}", machine.placement.node_of(rank));
    let all = trace.ranks.iter().zip(calls);
    let record = |(rank, times): (&RankTrace, &CallTimes)| {
        recording::of_rank(rank, host(rank.header.rank), times, steps.clone())
    };
    let (ranks, steps): (Vec<_>, Vec<_>) = all.map(record).unzip();
    let mut profile = profile::of_ranks(ranks);
    for world in &mut profile.worlds {
        for (rank, steps) in world.ranks.iter_mut().zip(&steps) {
            rank.series = Some(steps.series(&rank.host));
        }
    }
    let names: Vec<String> = machine.testbed.rail.iter().map(|rail| rail.name.clone()).collect();
    profile.hosts = vec![over_time::of_rails(&outcome.rails, &names)];
    Detail { profile, path: outcome.path.clone() }
}

/// The page; `headline`: what was predicted, `notes`: what one should know.
pub fn render(program: &str, headline: &str, notes: &[String], predictions: &[Prediction]) -> String {
    let title = format!("Prediction for {program}");
    let detailed: Vec<(&Prediction, &Detail)> =
        predictions.iter().filter_map(|one| Some((one, one.detail.as_deref()?))).take(MAX_DETAILED).collect();
    let body = html! {
        (print::page::style())
        header {
            p .mark { "Fishplate" }
            h1 { (title) }
            p .lead { (headline) "." }
            p .note { "Simulated: none of these runs has happened. Times are of the program's own trace, replayed on models of the networks." }
            @if !notes.is_empty() { ul .findings { @for note in notes { li { (note) } } } }
        }
        section { h2 { "How long it takes" } (tables::times(predictions).html()) }
        (limits(predictions))
        @if let Some(table) = tables::changes(predictions) {
            section { h2 { "Effects of faster components" } p .note { "Run time with one thing changed, each simulated." } (table.html()) }
        }
        @if let Some(table) = tables::worth(predictions) {
            section { h2 { "Gain of each network" } p .note { (worth::explanation(predictions)) } (table.html()) }
        }
        @if predictions.len() > detailed.len() { p .note { "Of the networks, the first " (detailed.len()) " follow in detail." } }
        @for (number, (prediction, detail)) in detailed.iter().enumerate() {
            section .program { h2 { (prediction.network) } }
            (path::markup(&detail.path))
            @for world in &detail.profile.worlds { (print::page::program(&detail.profile, world, number, detailed.len())) }
        }
        (print::page::script())
    };
    page::render(&title, &[], &body)
}

/// Colours of the parts, as in the picture of a critical path.
const CLASSES: [&str; 5] = ["t0", "t1", "t6", "t2", "t4"];

fn limits(predictions: &[Prediction]) -> Markup {
    const ROW: f64 = 24.0;
    let longest = predictions.iter().map(|one| one.run_s).fold(f64::MIN_POSITIVE, f64::max);
    let names = predictions.first().map_or(Vec::new(), |first| first.limits.named().map(|(name, _)| name).to_vec());
    let height = ROW * predictions.len() as f64 + 6.0;
    html! {
        section .breakdown {
            h2 { "Limits of the run time" }
            p .note {
                "The parts of the critical path; their sum is the run time. Late peers: what the path computes beyond the mean of all ranks. "
                "Software: library and kernel. Latency: the way of a message without bytes. Bandwidth: the rest of the way."
            }
            figure {
                p .legend { @for (name, class) in names.iter().zip(CLASSES) { span .key { i class=(format!("chip {class}")) {} span { (name) } } } }
                svg viewBox=(format!("0 0 1140 {height:.0}")) role="img" aria-label="Run time and its limits" {
                    @for (row, one) in predictions.iter().enumerate() { (bar(one, ROW * row as f64, 990.0 / longest)) }
                }
            }
            (tables::limits(predictions).html())
        }
    }
}

fn bar(one: &Prediction, y: f64, scale: f64) -> Markup {
    let mut x = 150.0;
    let mut drawn = Vec::new();
    for ((name, part_s), class) in one.limits.named().into_iter().zip(CLASSES) {
        drawn.push((name, part_s, class, x));
        x += part_s * scale;
    }
    html! {
        text .tick x="140" y=(format!("{:.1}", y + 15.5)) text-anchor="end" { (one.network) }
        @for (name, part_s, class, x) in drawn {
            rect class=(class) x=(format!("{x:.1}")) y=(format!("{:.1}", y + 3.0)) width=(format!("{:.2}", part_s * scale)) height="18" {
                title { (name) ": " (time(part_s * 1e9)) ", " (percent(part_s, one.run_s)) }
            }
        }
    }
}
