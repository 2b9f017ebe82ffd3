//! Broadcast.

use super::Frame;
use super::lanes::{catcher, lane, segments_of};
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
    if frame.rank == root {
        for (tag, piece) in pieces.iter().copied() {
            for cluster in frame.others() {
                schedule.send(frame.map.coordinator(cluster), piece, tag, &[]);
            }
        }
    }
    let speaker = frame.speaker(frame.cluster(), root);
    let local_root = frame.map.local(speaker);
    if frame.cluster() == frame.map.cluster_of(root) {
        schedule.local(Local::Broadcast { root: local_root, data }, &[]);
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

/// The root scatters over the hosts of its cluster, each sends its part on to a host of every other cluster, and each
/// cluster gathers the parts at all its ranks; segment by segment.
pub fn shared(frame: &Frame, root: Rank, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    for (tag, segment) in segments_of(Slice::new(Buffer::Receive, 0, len), segments) {
        match frame.cluster() == frame.map.cluster_of(root) {
            true => spread_from_root(frame, &mut schedule, root, segment, tag),
            false => take_over(frame, &mut schedule, root, segment, tag),
        }
    }
    schedule
}

/// One segment, in the root's cluster.
fn spread_from_root(frame: &Frame, schedule: &mut Schedule, root: Rank, segment: Slice, tag: Tag) {
    let carriers = frame.map.carriers(frame.cluster());
    let mut blocks = vec![segment.part(0, 0); frame.members().len()];
    for (index, carrier) in carriers.iter().enumerate() {
        blocks[carrier.0] = lane(segment, carriers.len(), index);
    }
    let own = blocks[frame.local().0];
    let is_root = frame.rank == root;
    let scatter = Local::Scatter { root: frame.map.local(root), blocks: is_root.then(|| blocks.clone()), into: own };
    let scattered = schedule.local(scatter, &[]);
    if let Some(index) = carriers.iter().position(|carrier| *carrier == frame.local()) {
        for cluster in frame.others() {
            let catcher = catcher(frame.map.carriers(cluster), carriers.len(), index);
            schedule.send(frame.map.global(cluster, catcher), own, tag, &[scattered]);
        }
    }
    schedule.local(Local::Allgather { blocks }, &[scattered]);
}

/// One segment, in another cluster.
fn take_over(frame: &Frame, schedule: &mut Schedule, root: Rank, segment: Slice, tag: Tag) {
    let source = frame.map.cluster_of(root);
    let senders = frame.map.carriers(source);
    let mut blocks = vec![segment.part(0, 0); frame.members().len()];
    let mut here = Vec::new();
    for (index, sender) in senders.iter().enumerate() {
        let catcher = catcher(frame.map.carriers(frame.cluster()), senders.len(), index);
        let part = lane(segment, senders.len(), index);
        let block = &mut blocks[catcher.0];
        *block = if block.len == 0 { part } else { Slice { len: block.len + part.len, ..*block } };
        if catcher == frame.local() {
            here.push(schedule.receive(frame.map.global(source, *sender), part, tag, &[]));
        }
    }
    schedule.local(Local::Allgather { blocks }, &here);
}
