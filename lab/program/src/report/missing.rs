//! Cells of the matrix without values: skipped with a reason, or not complete.

use std::collections::{BTreeMap, BTreeSet};

use super::Report;

/// A benchmark that lacks values of each of these stacks on each of these links, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Stacks, with commas.
    pub stack: String,
    /// Links, with commas.
    pub link: String,
    pub benchmark: String,
    /// Why.
    pub reason: String,
}

/// All gaps, in the order of the matrix.
pub fn gaps(report: &Report) -> Vec<Gap> {
    together(single(report))
}

/// One for each cell.
fn single(report: &Report) -> Vec<Gap> {
    let mut found = Vec::new();
    for record in &report.records {
        let mut reasons: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
        for skipped in &record.skipped {
            let cell = (skipped.stack.as_str(), skipped.link.as_str(), skipped.benchmark.as_str());
            reasons.entry(cell).or_default().insert(&skipped.reason);
        }
        let complete = |cell: (&str, &str, &str)| {
            let cells = record.cells.iter().map(|completed| &completed.cell);
            let same = cells.filter(|c| (c.stack.as_str(), c.link.as_str(), c.benchmark.as_str()) == cell);
            same.map(|cell| cell.round).collect::<BTreeSet<_>>().len()
        };
        let manifest = &record.manifest;
        for benchmark in manifest.benchmarks.iter().map(|benchmark| benchmark.name.as_str()) {
            for link in manifest.links.iter().map(String::as_str) {
                for stack in manifest.stacks.iter().map(|stack| stack.name.as_str()) {
                    let cell = (stack, link, benchmark);
                    let done = complete(cell);
                    // A failed measurement that succeeded later is not a gap.
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

/// Joins the gaps of one benchmark with one reason.
fn together(gaps: Vec<Gap>) -> Vec<Gap> {
    let gaps = joined(gaps, |gap| (&gap.link, &gap.benchmark, &gap.reason), |gap| &mut gap.stack);
    joined(gaps, |gap| (&gap.stack, &gap.benchmark, &gap.reason), |gap| &mut gap.link)
}

/// Makes one of gaps that are alike in `key`, with what differs between them joined: a plan that asks for a part of its
/// matrix has hundreds of a few kinds.
fn joined(
    gaps: Vec<Gap>,
    key: impl Fn(&Gap) -> (&String, &String, &String),
    differs: impl Fn(&mut Gap) -> &mut String,
) -> Vec<Gap> {
    let mut found: Vec<Gap> = Vec::new();
    for mut gap in gaps {
        match found.iter_mut().find(|other| key(other) == key(&gap)) {
            Some(other) => {
                let both = format!("{}, {}", differs(other), differs(&mut gap));
                *differs(other) = both;
            }
            None => found.push(gap),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_and_links_that_lack_something_for_one_reason_are_reported_together() {
        let gap = |stack: &str, link: &str, reason: &str| Gap {
            stack: stack.into(),
            link: link.into(),
            benchmark: "bcast".into(),
            reason: reason.into(),
        };
        let all = vec![gap("a", "x", "old"), gap("b", "x", "old"), gap("a", "y", "old"), gap("b", "y", "old")];
        let all = [all, vec![gap("b", "z", "failed")]].concat();
        assert_eq!(together(all), [gap("a, b", "x, y", "old"), gap("b", "z", "failed")]);
    }
}
