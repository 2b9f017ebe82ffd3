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
    let model = &report.model;
    let find = |names: &[String], name: &str| names.iter().position(|known| known == name);
    let mut sums: BTreeMap<(usize, usize), BTreeMap<usize, Sums>> = BTreeMap::new();
    for line in report.records.iter().flat_map(|record| &record.rails) {
        let benchmark = model.benchmarks.iter().position(|benchmark| benchmark.name == line.benchmark);
        let place = (find(&model.links, &line.link), benchmark, find(&model.stacks, &line.stack));
        let (Some(link), Some(benchmark), Some(stack)) = place else { continue };
        let rails = sums.entry((benchmark, link)).or_default().entry(stack).or_default();
        for rail in &line.rails {
            let sum = rails.entry(rail.name.clone()).or_default();
            sum.bytes = sum.bytes.saturating_add(rail.bytes);
            sum.retransmitted = sum.retransmitted.saturating_add(rail.retransmitted);
        }
    }
    sums
}
