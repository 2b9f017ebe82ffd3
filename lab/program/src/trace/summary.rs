//! Numbers of a trace.

use std::fs;
use std::path::Path;

use fishplate_trace::rank_file::TRACE;
use fishplate_trace::{Operation, RankTrace, Trace};

use super::facts;
use crate::output::text;

/// Most ranks that have a row.
const MAX_ROWS: usize = 32;

/// A table of ranks, and what all have in common. `folder`: where the files are.
pub fn render(trace: &Trace, folder: &Path) -> String {
    let calls: u64 = trace.ranks.iter().map(|rank| rank.steps.len() as u64).sum();
    let bytes = size_of_files(folder);
    let mut out = format!(
        "{}, {}: {}, {} on disk, {:.2} B a call\n\n",
        facts::program(trace),
        text::plural(trace.ranks.len() as u64, "rank"),
        text::plural(calls, "call"),
        text::bytes(bytes),
        bytes as f64 / calls.max(1) as f64,
    );
    let titles = ["rank", "host", "calls", "different", "computes", "beyond", "sends", "collective", "end"];
    let mut table = text::table(&titles, 2);
    let label = facts::host_labels(trace);
    for rank in trace.ranks.iter().take(MAX_ROWS) {
        table.add_row(row(rank, label(rank)));
    }
    out += &format!("{table}\n");
    if trace.ranks.len() > MAX_ROWS {
        out += &format!("... and {} more\n", trace.ranks.len() - MAX_ROWS);
    }
    facts::notes(trace).iter().for_each(|note| out += &format!("! {note}\n"));
    out
}

fn row(rank: &RankTrace, host: String) -> [String; 9] {
    let time = |ns: u64| text::time(ns as f64);
    let operation = |step: &fishplate_trace::Step| &rank.operations[step.operation as usize];
    let sent: u64 = rank.steps.iter().map(|step| sent(operation(step))).sum();
    let collective = rank.steps.iter().filter(|step| matches!(operation(step), Operation::Collective(_))).count();
    [
        rank.header.rank.to_string(),
        host,
        text::thousands(rank.steps.len() as u64),
        text::thousands(rank.operations.len() as u64),
        time(rank.steps.iter().map(|step| step.processor_ns).sum()),
        time(rank.steps.iter().map(|step| step.idle_ns).sum()),
        text::bytes(sent),
        text::thousands(collective as u64),
        if rank.is_whole { "whole".into() } else { "cut".into() },
    ]
}

/// Bytes of messages from one rank to another.
fn sent(operation: &Operation) -> u64 {
    match operation {
        Operation::Send(send) | Operation::Exchange(send, _) => send.bytes,
        Operation::OneSided { written, .. } => *written,
        _ => 0,
    }
}

fn size_of_files(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let traces = entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == TRACE));
    traces.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}
