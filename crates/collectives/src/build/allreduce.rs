//! Allreduce.

use super::Frame;
use super::meeting::Meeting;
use super::shares::{counterparts, segments_of, shares};
use crate::buffer::{Buffer, Slice};
use crate::map::{Cluster, LocalRank, Rank};
use crate::schedule::Schedule;
use crate::step::{Local, StepId};

/// Each cluster reduces to its coordinator; the coordinators exchange, each with all, and broadcast inside; segment by
/// segment.
pub fn coordinators(frame: &Frame, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    let is_coordinator = frame.rank == frame.map.coordinator(frame.cluster());
    let pieces = segments_of(Slice::new(Buffer::Receive, 0, len), segments);
    let mut inside = Vec::new();
    for (_, piece) in &pieces {
        let into = is_coordinator.then(|| schedule.temporary(piece.len));
        let reduce = Local::Reduce { root: LocalRank(0), from: frame.operand(*piece), into };
        inside.push((into, schedule.local(reduce, &[])));
    }
    for ((tag, piece), (own, ready)) in pieces.into_iter().zip(inside) {
        let mut done = vec![ready];
        if let Some(own) = own {
            let whole = |cluster| vec![(frame.map.coordinator(cluster), Slice { start: 0, ..piece })];
            let meeting = Meeting { own, ready, target: piece, free: frame.until_read(ready), tag };
            done.extend(exchange(&meeting, frame, &mut schedule, &whole));
        }
        schedule.local(Local::Broadcast { root: LocalRank(0), data: piece }, &done);
    }
    schedule
}

/// Each cluster reduces so that each of its hosts has a share of the result; the hosts exchange shares with those of the
/// other clusters, and each cluster gathers them at all its ranks; segment by segment.
pub fn shared(frame: &Frame, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    let pieces = segments_of(Slice::new(Buffer::Receive, 0, len), segments);
    let mut inside = Vec::new();
    for (_, piece) in &pieces {
        inside.push(reduce_scatter(frame, &mut schedule, *piece));
    }
    for ((tag, piece), (own, ready)) in pieces.into_iter().zip(inside) {
        let blocks = shares(frame.map, frame.cluster(), piece);
        let target = blocks[frame.local().0];
        let meeting = Meeting { own, ready, target, free: frame.until_read(ready), tag };
        let mut done = vec![ready];
        if own.len > 0 {
            done.extend(exchange(&meeting, frame, &mut schedule, &|cluster| relative(frame, cluster, piece)));
        }
        schedule.local(Local::Allgather { blocks }, &done);
    }
    schedule
}

/// Reduces a segment inside; this rank's share of the result, and when it is there.
pub fn reduce_scatter(frame: &Frame, schedule: &mut Schedule, segment: Slice) -> (Slice, StepId) {
    let lens: Vec<usize> = shares(frame.map, frame.cluster(), segment).iter().map(|share| share.len).collect();
    let into = schedule.temporary(lens[frame.local().0]);
    (into, schedule.local(Local::ReduceScatter { from: frame.operand(segment), lens, into }, &[]))
}

/// Who of a cluster has which part of this rank's share, counted from the share's start.
pub fn relative(frame: &Frame, cluster: Cluster, segment: Slice) -> Vec<(Rank, Slice)> {
    let own = shares(frame.map, frame.cluster(), segment)[frame.local().0];
    let parts = counterparts(frame, cluster, segment).into_iter();
    parts.map(|(peer, part)| (peer, Slice { start: part.start - own.start, ..part })).collect()
}

fn exchange(
    meeting: &Meeting,
    frame: &Frame,
    schedule: &mut Schedule,
    peers: &dyn Fn(Cluster) -> Vec<(Rank, Slice)>,
) -> Vec<StepId> {
    for cluster in frame.others() {
        meeting.send(schedule, &peers(cluster));
    }
    meeting.combine(frame, schedule, peers)
}
