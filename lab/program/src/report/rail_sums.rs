//! Bytes that stacks sent over each rail, summed over all rounds.

use std::collections::BTreeMap;

use super::Report;

/// Bytes that one stack sent over one rail.
#[derive(Default)]
pub struct Sum {
    pub bytes: u64,
    /// TCP segments sent again.
    pub retransmitted: u64,
}

/// Sums by the rail's name.
pub type Sums = BTreeMap<String, Sum>;

/// Over all rounds, by benchmark and link, and by stack.
pub fn sums(report: &Report) -> BTreeMap<(usize, usize), BTreeMap<usize, Sums>> {
    let mut sums: BTreeMap<(usize, usize), BTreeMap<usize, Sums>> = BTreeMap::new();
    for line in report.records.iter().flat_map(|record| &record.rails) {
        let Some((place, stack)) = report.model.find(&line.cell) else { continue };
        let rails = sums.entry(place).or_default().entry(stack).or_default();
        for rail in &line.rails {
            let sum = rails.entry(rail.name.clone()).or_default();
            sum.bytes = sum.bytes.saturating_add(rail.bytes);
            sum.retransmitted = sum.retransmitted.saturating_add(rail.retransmitted);
        }
    }
    sums
}
