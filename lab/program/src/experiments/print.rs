//! Verdicts as Markdown, for docs/papers/experiments.md.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::Experiment;
use crate::output::text;
use crate::record::{Record, Statement, Verdict};

/// Prints the verdicts on the statements of a record's experiment, by the rules of this program.
pub fn markdown(experiment: &Experiment, record: &Record) -> String {
    let statements = experiment.statements(record);
    let count = |verdict| statements.iter().filter(|statement| statement.verdict == verdict).count();
    let [holds, given, missed] = [Verdict::Holds, Verdict::ByConstruction, Verdict::DoesNotHold].map(count);
    let mut text = format!("### {}\n\n{}; ", experiment.name, conditions(record));
    let _ = writeln!(text, "{holds} of {} statements hold, and {given} by construction.\n", holds + missed);
    text.push_str("| | published | found | verdict | rule |\n|---|---|---|---|---|\n");
    for Statement { id, text: published, verdict, why, values } in &statements {
        if *verdict == Verdict::CannotBeTested {
            continue;
        }
        let found: Vec<String> = values.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let _ = writeln!(text, "| {id} | {published} | {} | {} | {why} |", found.join("; "), verdict.words());
    }
    let untested: Vec<String> = statements
        .iter()
        .filter(|statement| statement.verdict == Verdict::CannotBeTested)
        .map(|statement| format!("{} ({})", statement.id, statement.why))
        .collect();
    if !untested.is_empty() {
        let _ = writeln!(text, "\nCannot be tested: {}.", untested.join("; "));
    }
    text
}

/// When, where, and how often was measured.
fn conditions(record: &Record) -> String {
    let manifest = &record.manifest;
    let machine = &manifest.machine;
    let date = manifest.started.split('T').next().unwrap_or_default();
    let kernel = machine.kernel.split('-').next().unwrap_or_default();
    let rounds: BTreeSet<u32> = record.samples.iter().map(|sample| sample.round).collect();
    let rounds = text::plural(rounds.len() as u64, "round");
    format!("Measured on {date} on {} cores ({}, {kernel}), {rounds}", machine.cores, machine.cpu)
}
