//! Schedules, one file an operation.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod broadcast;
mod gather;
mod meeting;
mod packing;
mod reduce;
mod reduce_scatter;
pub mod shares;

use crate::algorithm::Algorithm;
use crate::buffer::{Buffer, Slice};
use crate::map::{Cluster, ClusterMap, LocalRank, Rank};
use crate::operation::Operation;
use crate::schedule::Schedule;
use crate::step::StepId;

/// Who a schedule is for.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// Who is where.
    pub map: &'a ClusterMap,
    /// Whose schedule it is.
    pub rank: Rank,
    /// Whether this rank's contribution is in `Receive` already.
    pub in_place: bool,
}

impl<'a> Frame<'a> {
    fn cluster(&self) -> Cluster {
        self.map.cluster_of(self.rank)
    }

    fn members(&self) -> &'a [Rank] {
        self.map.members(self.cluster())
    }

    fn local(&self) -> LocalRank {
        self.map.local(self.rank)
    }

    /// The clusters other than this rank's own.
    fn others(&self) -> impl Iterator<Item = Cluster> + use<> {
        self.map.others(self.cluster())
    }

    /// Who speaks for a cluster in an operation with a root: the root for its own.
    fn speaker(&self, cluster: Cluster, root: Rank) -> Rank {
        if self.map.cluster_of(root) == cluster { root } else { self.map.coordinator(cluster) }
    }

    /// This rank's operand of a reduction, for a part of the result.
    fn operand(&self, result: Slice) -> Slice {
        if self.in_place { result } else { Slice { buffer: Buffer::Send, ..result } }
    }

    /// What must be complete before `Receive` may be written, when `read` reads the operand.
    fn until_read(&self, read: StepId) -> Vec<StepId> {
        if self.in_place { vec![read] } else { Vec::new() }
    }
}

/// The schedule of an operation by an algorithm, if there is one.
pub fn schedule(frame: &Frame, operation: &Operation, algorithm: Algorithm) -> Option<Schedule> {
    use Algorithm::{Coordinators, Direct, Shared};
    if !keeps_order(frame.map, operation) {
        return None;
    }
    match (operation, algorithm) {
        (Operation::Barrier, Direct { .. }) => Some(barrier::direct(frame)),
        (Operation::Broadcast { root, len }, Coordinators { segments }) => {
            Some(broadcast::coordinators(frame, *root, *len, segments))
        }
        (Operation::Broadcast { root, len }, Shared { segments }) => {
            Some(broadcast::shared(frame, *root, *len, segments))
        }
        (Operation::Reduce { root, len, .. }, Coordinators { segments }) => {
            Some(reduce::coordinators(frame, *root, *len, segments))
        }
        (Operation::Reduce { root, len, .. }, Shared { segments }) => {
            Some(reduce::shared(frame, *root, *len, segments))
        }
        (Operation::Allreduce { len, .. }, Coordinators { segments }) => {
            Some(allreduce::coordinators(frame, *len, segments))
        }
        (Operation::Allreduce { len, .. }, Shared { segments }) => Some(allreduce::shared(frame, *len, segments)),
        (Operation::ReduceScatter { blocks, .. }, Shared { .. }) => Some(reduce_scatter::shared(frame, blocks)),
        (Operation::Allgather { blocks }, Coordinators { .. }) => Some(allgather::coordinators(frame, blocks)),
        (Operation::Allgather { blocks }, Shared { .. }) => Some(allgather::shared(frame, blocks)),
        (Operation::Gather { root, blocks }, Coordinators { .. }) => {
            Some(gather::gather_coordinators(frame, *root, blocks))
        }
        (Operation::Gather { root, blocks }, Direct { .. }) => Some(gather::gather_direct(frame, *root, blocks)),
        (Operation::Scatter { root, blocks }, Coordinators { .. }) => {
            Some(gather::scatter_coordinators(frame, *root, blocks))
        }
        (Operation::Scatter { root, blocks }, Direct { .. }) => Some(gather::scatter_direct(frame, *root, blocks)),
        (Operation::Alltoall { exchange }, Coordinators { .. }) => Some(alltoall::coordinators(frame, exchange)),
        (Operation::Alltoall { exchange }, Direct { ahead }) => Some(alltoall::direct(frame, exchange, ahead)),
        _ => None,
    }
}

/// Whether results of clusters can be combined at all: operands must stay in rank order unless they commute.
pub fn keeps_order(map: &ClusterMap, operation: &Operation) -> bool {
    match operation {
        Operation::Reduce { commutative, .. }
        | Operation::Allreduce { commutative, .. }
        | Operation::ReduceScatter { commutative, .. } => *commutative || map.is_contiguous(),
        _ => true,
    }
}
