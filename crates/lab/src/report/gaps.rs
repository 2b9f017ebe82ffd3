//! What of the matrix is not there: skipped with a reason, or not complete.

use std::collections::{BTreeMap, BTreeSet};

use super::Report;

/// A stack on a link with a benchmark that lacks values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// Stack.
    pub stack: String,
    /// Link.
    pub link: String,
    /// Benchmark.
    pub benchmark: String,
    /// Why.
    pub reason: String,
}

/// All gaps, in the order of the matrix.
pub fn gaps(report: &Report) -> Vec<Gap> {
    let mut found = Vec::new();
    for record in &report.records {
        let mut reasons: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
        for skipped in &record.skipped {
            let cell = (skipped.stack.as_str(), skipped.link.as_str(), skipped.benchmark.as_str());
            reasons.entry(cell).or_default().insert(&skipped.reason);
        }
        let complete = |cell: (&str, &str, &str)| {
            let same =
                record.cells.iter().filter(|c| (c.stack.as_str(), c.link.as_str(), c.benchmark.as_str()) == cell);
            same.map(|cell| cell.round).collect::<BTreeSet<_>>().len()
        };
        let manifest = &record.manifest;
        for benchmark in manifest.benchmarks.iter().map(|benchmark| benchmark.name.as_str()) {
            for link in manifest.links.iter().map(String::as_str) {
                for stack in manifest.stacks.iter().map(|stack| stack.name.as_str()) {
                    let cell = (stack, link, benchmark);
                    let done = complete(cell);
                    // What failed once and was measured later is no gap.
                    if done >= manifest.rounds as usize {
                        continue;
                    }
                    let reason = match reasons.get(&cell) {
                        Some(reasons) => reasons.iter().copied().collect::<Vec<_>>().join("; "),
                        None => format!("not complete: {done} of {} rounds", manifest.rounds),
                    };
                    let (stack, link, benchmark) = (stack.into(), link.into(), benchmark.into());
                    found.push(Gap { stack, link, benchmark, reason });
                }
            }
        }
    }
    found
}
