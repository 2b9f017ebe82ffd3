//! Combining the partial results of clusters, in the order of the clusters.

use super::Context;
use crate::buffer::Slice;
use crate::map::{Cluster, Rank};
use crate::schedule::Schedule;
use crate::step::{StepId, Tag};

/// A part of a vector that a rank combines for its cluster. Its slices are of equal length.
pub struct Combination {
    /// The cluster's value, in temporary memory.
    pub own: Slice,
    /// When it is there.
    pub ready: StepId,
    /// Where the result goes.
    pub target: Slice,
    /// Steps that must be complete before the target may be written.
    pub free: Vec<StepId>,
    /// Which of the messages it is.
    pub tag: Tag,
}

impl Combination {
    /// Receives this part from the other clusters, and combines all. `peers`: for each cluster, the senders and their
    /// parts, counted from the start of this part. Returns when the result is in the target.
    ///
    /// The operand on the right is the accumulator, so the last cluster's part comes first. All ranks that combine one
    /// part get equal results to the last bit.
    pub fn combine(
        &self,
        context: &Context,
        schedule: &mut Schedule,
        peers: &dyn Fn(Cluster) -> Vec<(Rank, Slice)>,
    ) -> Vec<StepId> {
        let mut done = Vec::new();
        let last = Cluster(context.map.cluster_count() - 1);
        for cluster in context.map.clusters().collect::<Vec<_>>().into_iter().rev() {
            let is_first = cluster == last;
            if cluster == context.cluster() {
                let mut after = if is_first { self.free.clone() } else { done };
                after.push(self.ready);
                done = match is_first {
                    true => schedule.copy(self.own, self.target, &after).into_iter().collect(),
                    false => vec![schedule.reduce(self.own, self.target, &after)],
                };
                continue;
            }
            let mut parts = Vec::new();
            for (peer, part) in peers(cluster) {
                let target = self.target.part(part.start, part.len);
                if is_first {
                    parts.push(schedule.receive(peer, target, self.tag, &self.free));
                    continue;
                }
                let arrived = schedule.temporary(part.len);
                let received = schedule.receive(peer, arrived, self.tag, &[]);
                parts.push(schedule.reduce(arrived, target, &[done.as_slice(), &[received]].concat()));
            }
            done = parts;
        }
        done
    }

    /// Sends the cluster's part to where it is combined.
    pub fn send(&self, schedule: &mut Schedule, peers: &[(Rank, Slice)]) {
        for (peer, part) in peers {
            schedule.send(*peer, self.own.part(part.start, part.len), self.tag, &[self.ready]);
        }
    }
}
