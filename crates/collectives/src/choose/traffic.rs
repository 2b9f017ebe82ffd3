//! What crosses between clusters in every schedule, whatever the algorithm.

use crate::map::{ClusterMap, Rank};
use crate::operation::Operation;

/// Elements that cross, all clusters and both ways together.
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
