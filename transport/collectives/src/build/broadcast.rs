//! Broadcast.

use super::Context;
use super::partition::{counterparts, segments_of, shares};
use crate::buffer::{Buffer, Slice};
use crate::map::Rank;
use crate::schedule::Schedule;
use crate::step::{Local, StepId, Tag};

/// The root sends to the coordinators of all other clusters at once, and each broadcasts inside, segment by segment as
/// they come.
pub fn coordinators(context: &Context, root: Rank, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    let data = Slice::new(Buffer::Receive, 0, len);
    let pieces = segments_of(data, segments);
    let representative = context.representative(context.cluster(), root);
    let local_root = context.map.local(representative);
    if context.cluster() == context.map.cluster_of(root) {
        // Starting this takes no time, sending does; the ranks of this cluster need not wait for it.
        schedule.local(Local::Broadcast { root: local_root, data }, &[]);
        if context.rank == root {
            for (tag, piece) in pieces {
                for cluster in context.others() {
                    schedule.send(context.map.coordinator(cluster), piece, tag, &[]);
                }
            }
        }
        return schedule;
    }
    for (tag, data) in pieces {
        let here: Vec<StepId> = match context.rank == representative {
            true => vec![schedule.receive(root, data, tag, &[])],
            false => Vec::new(),
        };
        schedule.local(Local::Broadcast { root: local_root, data }, &here);
    }
    schedule
}

/// The root scatters over the hosts of its cluster, each sends its share on to the other clusters, and each cluster
/// gathers the shares at all its ranks; segment by segment.
pub fn shared(context: &Context, root: Rank, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    for (tag, segment) in segments_of(Slice::new(Buffer::Receive, 0, len), segments) {
        match context.cluster() == context.map.cluster_of(root) {
            true => spread(context, &mut schedule, root, segment, tag),
            false => take_over(context, &mut schedule, root, segment, tag),
        }
    }
    schedule
}

/// One segment, in the root's cluster.
fn spread(context: &Context, schedule: &mut Schedule, root: Rank, segment: Slice, tag: Tag) {
    let blocks = shares(context.map, context.cluster(), segment);
    let into = blocks[context.local().0];
    let from = (context.rank == root).then(|| blocks.clone());
    let scattered = schedule.local(Local::Scatter { root: context.map.local(root), blocks: from, into }, &[]);
    for cluster in context.others() {
        for (peer, part) in counterparts(context, cluster, segment) {
            schedule.send(peer, part, tag, &[scattered]);
        }
    }
    schedule.local(Local::Allgather { blocks }, &[scattered]);
}

/// One segment, in another cluster.
fn take_over(context: &Context, schedule: &mut Schedule, root: Rank, segment: Slice, tag: Tag) {
    let source = context.map.cluster_of(root);
    let parts = counterparts(context, source, segment);
    let here: Vec<StepId> = parts.into_iter().map(|(peer, part)| schedule.receive(peer, part, tag, &[])).collect();
    let blocks = shares(context.map, context.cluster(), segment);
    schedule.local(Local::Allgather { blocks }, &here);
}
