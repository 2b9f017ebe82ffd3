//! Broadcast.

use super::Frame;
use super::shares::{counterparts, segments_of, shares};
use crate::buffer::{Buffer, Slice};
use crate::map::Rank;
use crate::schedule::Schedule;
use crate::step::{Local, StepId, Tag};

/// The root sends to the coordinators of all other clusters at once, and each broadcasts inside, segment by segment as
/// they come.
pub fn coordinators(frame: &Frame, root: Rank, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    let data = Slice::new(Buffer::Receive, 0, len);
    let pieces = segments_of(data, segments);
    let speaker = frame.speaker(frame.cluster(), root);
    let local_root = frame.map.local(speaker);
    if frame.cluster() == frame.map.cluster_of(root) {
        // Starting this takes no time, sending does; the ranks of this cluster need not wait for it.
        schedule.local(Local::Broadcast { root: local_root, data }, &[]);
        if frame.rank == root {
            for (tag, piece) in pieces {
                for cluster in frame.others() {
                    schedule.send(frame.map.coordinator(cluster), piece, tag, &[]);
                }
            }
        }
        return schedule;
    }
    for (tag, data) in pieces {
        let here: Vec<StepId> = match frame.rank == speaker {
            true => vec![schedule.receive(root, data, tag, &[])],
            false => Vec::new(),
        };
        schedule.local(Local::Broadcast { root: local_root, data }, &here);
    }
    schedule
}

/// The root scatters over the hosts of its cluster, each sends its share on to the other clusters, and each cluster
/// gathers the shares at all its ranks; segment by segment.
pub fn shared(frame: &Frame, root: Rank, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    for (tag, segment) in segments_of(Slice::new(Buffer::Receive, 0, len), segments) {
        match frame.cluster() == frame.map.cluster_of(root) {
            true => spread(frame, &mut schedule, root, segment, tag),
            false => take_over(frame, &mut schedule, root, segment, tag),
        }
    }
    schedule
}

/// One segment, in the root's cluster.
fn spread(frame: &Frame, schedule: &mut Schedule, root: Rank, segment: Slice, tag: Tag) {
    let blocks = shares(frame.map, frame.cluster(), segment);
    let into = blocks[frame.local().0];
    let from = (frame.rank == root).then(|| blocks.clone());
    let scattered = schedule.local(Local::Scatter { root: frame.map.local(root), blocks: from, into }, &[]);
    for cluster in frame.others() {
        for (peer, part) in counterparts(frame, cluster, segment) {
            schedule.send(peer, part, tag, &[scattered]);
        }
    }
    schedule.local(Local::Allgather { blocks }, &[scattered]);
}

/// One segment, in another cluster.
fn take_over(frame: &Frame, schedule: &mut Schedule, root: Rank, segment: Slice, tag: Tag) {
    let source = frame.map.cluster_of(root);
    let parts = counterparts(frame, source, segment);
    let here: Vec<StepId> = parts.into_iter().map(|(peer, part)| schedule.receive(peer, part, tag, &[])).collect();
    let blocks = shares(frame.map, frame.cluster(), segment);
    schedule.local(Local::Allgather { blocks }, &here);
}
