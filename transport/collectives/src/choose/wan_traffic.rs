//! How much a schedule sends over the WAN, and how often one crossing waits for another.

use crate::algorithm::{Algorithm, UNLIMITED_WINDOW};
use crate::map::{ClusterMap, Rank};
use crate::operation::Operation;

/// Elements that cross between all clusters, both directions together; equal for all algorithms.
pub fn wan_elements(operation: &Operation, map: &ClusterMap) -> usize {
    let others = map.cluster_count() - 1;
    let ranks = || (0..map.ranks()).map(Rank);
    match operation {
        Operation::Barrier => 0,
        // Once to each other cluster, or once from each.
        Operation::Broadcast { len, .. } | Operation::Reduce { len, .. } => len * others,
        // From each cluster to each other one.
        Operation::Allreduce { len, .. } => len * map.cluster_count() * others,
        // Each block once to each other cluster, or once from each.
        Operation::ReduceScatter { blocks, .. } | Operation::Allgather { blocks } => blocks.total() * others,
        // The blocks of other clusters, once.
        Operation::Gather { root, blocks } | Operation::Scatter { root, blocks } => {
            let is_far = |rank: &Rank| map.cluster_of(*rank) != map.cluster_of(*root);
            ranks().filter(is_far).map(|rank| blocks.len(rank)).sum()
        }
        Operation::Alltoall { exchange } => {
            let far = |from| ranks().filter(move |to| map.cluster_of(*to) != map.cluster_of(from));
            ranks().flat_map(|from| far(from).map(move |to| exchange.len(from, to))).sum()
        }
    }
}

/// Most crossings that follow each other.
pub fn wan_crossings(algorithm: Algorithm, map: &ClusterMap) -> u32 {
    match algorithm {
        Algorithm::Direct { window } if window < UNLIMITED_WINDOW => crossings_of_rounds(map, usize::from(window)),
        _ => 1,
    }
}

/// Crossings of an exchange in rounds, where a rank's sends are ahead of its receives by this window.
fn crossings_of_rounds(map: &ClusterMap, window: usize) -> u32 {
    let ranks = map.ranks();
    let mut received: Vec<Vec<u32>> = vec![Vec::new(); ranks];
    for round in 1..ranks {
        let waited = |so_far: &Vec<u32>| so_far[..so_far.len().saturating_sub(window)].last().copied().unwrap_or(0);
        let before: Vec<u32> = received.iter().map(waited).collect();
        for (from, crossings) in before.into_iter().enumerate() {
            let to = (from + round) % ranks;
            if map.cluster_of(Rank(from)) != map.cluster_of(Rank(to)) {
                received[to].push(crossings + 1);
            }
        }
    }
    received.into_iter().flatten().max().unwrap_or(0)
}
