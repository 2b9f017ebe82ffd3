//! Schedules: one file an operation, with the algorithms that it has.
//!
//! [`partition`] cuts messages, [`packing`] joins blocks that cross together, [`combination`] reduces what clusters send
//! each other. Other modules of this crate use [`schedule`] and [`keeps_order`], and [`partition`] for costs.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod broadcast;
mod combination;
mod gather;
mod packing;
pub mod partition;
mod reduce;
mod reduce_scatter;

use crate::algorithm::Algorithm;
use crate::buffer::{Buffer, Slice};
use crate::map::{Cluster, ClusterMap, LocalRank, Rank};
use crate::operation::Operation;
use crate::schedule::Schedule;
use crate::step::StepId;

/// The rank that a schedule is for.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Places of all ranks.
    pub map: &'a ClusterMap,
    /// The schedule's rank.
    pub rank: Rank,
    /// Whether this rank's contribution is in `Receive` already.
    pub in_place: bool,
}

impl<'a> Context<'a> {
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

    /// The rank that represents a cluster in an operation with a root: the root in its own.
    fn representative(&self, cluster: Cluster, root: Rank) -> Rank {
        if self.map.cluster_of(root) == cluster { root } else { self.map.coordinator(cluster) }
    }

    /// This rank's operand of a reduction, for a part of the result.
    fn operand(&self, result: Slice) -> Slice {
        if self.in_place { result } else { Slice { buffer: Buffer::Send, ..result } }
    }

    /// Steps that must be complete before `Receive` may be written, when `read` reads the operand.
    fn until_read(&self, read: StepId) -> Vec<StepId> {
        if self.in_place { vec![read] } else { Vec::new() }
    }
}

/// The schedule of `rank` for `operation` by `algorithm`. `None` when there is no such schedule: the MPI does it.
///
/// `in_place`: what this rank contributes is in `Receive` already, in the way of `MPI_IN_PLACE` for that operation; other
/// ranks need not do the same. At the root of a scatter: its own block stays where it is, in `Send`.
pub fn schedule(
    operation: &Operation,
    map: &ClusterMap,
    algorithm: Algorithm,
    rank: Rank,
    in_place: bool,
) -> Option<Schedule> {
    build(&Context { map, rank, in_place }, operation, algorithm)
}

/// The schedule of an operation by an algorithm, if there is one.
fn build(context: &Context, operation: &Operation, algorithm: Algorithm) -> Option<Schedule> {
    use Algorithm::{Coordinators, Direct, Shared};
    if !keeps_order(context.map, operation) {
        return None;
    }
    match (operation, algorithm) {
        (Operation::Barrier, Direct { .. }) => Some(barrier::direct(context)),
        (Operation::Broadcast { root, len }, Coordinators { segments }) => {
            Some(broadcast::coordinators(context, *root, *len, segments))
        }
        (Operation::Broadcast { root, len }, Shared { segments }) => {
            Some(broadcast::shared(context, *root, *len, segments))
        }
        (Operation::Reduce { root, len, .. }, Coordinators { segments }) => {
            Some(reduce::coordinators(context, *root, *len, segments))
        }
        (Operation::Reduce { root, len, .. }, Shared { segments }) => {
            Some(reduce::shared(context, *root, *len, segments))
        }
        (Operation::Allreduce { len, .. }, Coordinators { segments }) => {
            Some(allreduce::coordinators(context, *len, segments))
        }
        (Operation::Allreduce { len, .. }, Shared { segments }) => Some(allreduce::shared(context, *len, segments)),
        (Operation::ReduceScatter { blocks, .. }, Shared { .. }) => Some(reduce_scatter::shared(context, blocks)),
        (Operation::Allgather { blocks }, Coordinators { .. }) => Some(allgather::coordinators(context, blocks)),
        (Operation::Allgather { blocks }, Shared { .. }) => Some(allgather::shared(context, blocks)),
        (Operation::Gather { root, blocks }, Coordinators { .. }) => {
            Some(gather::gather_coordinators(context, *root, blocks))
        }
        (Operation::Gather { root, blocks }, Direct { .. }) => Some(gather::gather_direct(context, *root, blocks)),
        (Operation::Scatter { root, blocks }, Coordinators { .. }) => {
            Some(gather::scatter_coordinators(context, *root, blocks))
        }
        (Operation::Scatter { root, blocks }, Direct { .. }) => Some(gather::scatter_direct(context, *root, blocks)),
        (Operation::Alltoall { exchange }, Coordinators { .. }) => Some(alltoall::coordinators(context, exchange)),
        (Operation::Alltoall { exchange }, Direct { window }) => Some(alltoall::direct(context, exchange, window)),
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
