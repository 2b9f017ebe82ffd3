//! Schedules, one file an operation.

mod barrier;
mod broadcast;
mod lanes;

use crate::algorithm::Algorithm;
use crate::map::{Cluster, ClusterMap, LocalRank, Rank};
use crate::operation::Operation;
use crate::schedule::Schedule;

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
}

/// The schedule of an operation by an algorithm, if there is one.
pub fn schedule(frame: &Frame, operation: &Operation, algorithm: Algorithm) -> Option<Schedule> {
    match (operation, algorithm) {
        (Operation::Barrier, Algorithm::Direct) => Some(barrier::direct(frame)),
        (Operation::Broadcast { root, len }, Algorithm::Coordinators { segments }) => {
            Some(broadcast::coordinators(frame, *root, *len, segments))
        }
        (Operation::Broadcast { root, len }, Algorithm::Shared { segments }) => {
            Some(broadcast::shared(frame, *root, *len, segments))
        }
        _ => None,
    }
}
