//! Reduce.

use super::Frame;
use super::allreduce::{reduce_scatter, relative};
use super::meeting::Meeting;
use super::shares::{segments_of, shares};
use crate::buffer::{Buffer, Slice};
use crate::map::Rank;
use crate::schedule::Schedule;
use crate::step::Local;

/// Each cluster reduces to its coordinator, who sends to the root, segment by segment.
pub fn coordinators(frame: &Frame, root: Rank, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    let speaker = frame.speaker(frame.cluster(), root);
    for (tag, piece) in segments_of(Slice::new(Buffer::Receive, 0, len), segments) {
        let own = (frame.rank == speaker).then(|| schedule.temporary(piece.len));
        let reduce = Local::Reduce { root: frame.map.local(speaker), from: frame.operand(piece), into: own };
        let ready = schedule.local(reduce, &[]);
        let Some(own) = own else { continue };
        let whole = Slice { start: 0, ..piece };
        let meeting = Meeting { own, ready, target: piece, free: frame.until_read(ready), tag };
        match frame.rank == root {
            true => {
                meeting.combine(frame, &mut schedule, &|cluster| vec![(frame.map.coordinator(cluster), whole)]);
            }
            false => meeting.send(&mut schedule, &[(root, whole)]),
        }
    }
    schedule
}

/// Each cluster reduces so that each of its hosts has a share of the result; the hosts send their shares to those of the
/// root's cluster, who combine them, and the root gathers; segment by segment.
pub fn shared(frame: &Frame, root: Rank, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    let pieces = segments_of(Slice::new(Buffer::Receive, 0, len), segments);
    let mut inside = Vec::new();
    for (_, piece) in &pieces {
        inside.push(reduce_scatter(frame, &mut schedule, *piece));
    }
    let home = frame.map.cluster_of(root);
    for ((tag, piece), (own, ready)) in pieces.into_iter().zip(inside) {
        let blocks = shares(frame.map, frame.cluster(), piece);
        let target = match frame.rank == root {
            true => blocks[frame.local().0],
            false => schedule.temporary(own.len),
        };
        let meeting = Meeting { own, ready, target, free: frame.until_read(ready), tag };
        if frame.cluster() != home {
            meeting.send(&mut schedule, &relative(frame, home, piece));
            continue;
        }
        let mut done = vec![ready];
        if own.len > 0 {
            done.extend(meeting.combine(frame, &mut schedule, &|cluster| relative(frame, cluster, piece)));
        }
        let blocks = (frame.rank == root).then_some(blocks);
        schedule.local(Local::Gather { root: frame.map.local(root), from: target, blocks }, &done);
    }
    schedule
}
