//! Allreduce.

use super::Context;
use super::combination::Combination;
use super::partition::{counterparts, segments_of, shares};
use crate::buffer::{Buffer, Slice};
use crate::map::{Cluster, LocalRank, Rank};
use crate::schedule::Schedule;
use crate::step::{Local, StepId};

/// Each cluster reduces to its coordinator; the coordinators exchange, each with all, and broadcast inside; segment by
/// segment.
pub fn coordinators(context: &Context, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    let is_coordinator = context.rank == context.map.coordinator(context.cluster());
    let pieces = segments_of(Slice::new(Buffer::Receive, 0, len), segments);
    let mut inside = Vec::new();
    for (_, piece) in &pieces {
        let into = is_coordinator.then(|| schedule.temporary(piece.len));
        let reduce = Local::Reduce { root: LocalRank(0), from: context.operand(*piece), into };
        inside.push((into, schedule.local(reduce, &[])));
    }
    for ((tag, piece), (own, ready)) in pieces.into_iter().zip(inside) {
        let mut done = vec![ready];
        if let Some(own) = own {
            let whole = |cluster| vec![(context.map.coordinator(cluster), Slice { start: 0, ..piece })];
            let combination = Combination { own, ready, target: piece, free: context.until_read(ready), tag };
            done.extend(exchange(&combination, context, &mut schedule, &whole));
        }
        schedule.local(Local::Broadcast { root: LocalRank(0), data: piece }, &done);
    }
    schedule
}

/// Each cluster reduces so that each of its hosts has a share of the result; the hosts exchange shares with those of the
/// other clusters, and each cluster gathers them at all its ranks; segment by segment.
pub fn shared(context: &Context, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    let pieces = segments_of(Slice::new(Buffer::Receive, 0, len), segments);
    let mut inside = Vec::new();
    for (_, piece) in &pieces {
        inside.push(reduce_scatter(context, &mut schedule, *piece));
    }
    for ((tag, piece), (own, ready)) in pieces.into_iter().zip(inside) {
        let blocks = shares(context.map, context.cluster(), piece);
        let target = blocks[context.local().0];
        let combination = Combination { own, ready, target, free: context.until_read(ready), tag };
        let mut done = vec![ready];
        if own.len > 0 {
            done.extend(exchange(&combination, context, &mut schedule, &|cluster| relative(context, cluster, piece)));
        }
        schedule.local(Local::Allgather { blocks }, &done);
    }
    schedule
}

/// Reduces a segment inside; this rank's share of the result, and when it is there.
pub fn reduce_scatter(context: &Context, schedule: &mut Schedule, segment: Slice) -> (Slice, StepId) {
    let lens: Vec<usize> = shares(context.map, context.cluster(), segment).iter().map(|share| share.len).collect();
    let into = schedule.temporary(lens[context.local().0]);
    (into, schedule.local(Local::ReduceScatter { from: context.operand(segment), lens, into }, &[]))
}

/// The parts of this rank's share that ranks of a cluster have, counted from the share's start.
pub fn relative(context: &Context, cluster: Cluster, segment: Slice) -> Vec<(Rank, Slice)> {
    let own = shares(context.map, context.cluster(), segment)[context.local().0];
    let parts = counterparts(context, cluster, segment).into_iter();
    parts.map(|(peer, part)| (peer, Slice { start: part.start - own.start, ..part })).collect()
}

fn exchange(
    combination: &Combination,
    context: &Context,
    schedule: &mut Schedule,
    peers: &dyn Fn(Cluster) -> Vec<(Rank, Slice)>,
) -> Vec<StepId> {
    for cluster in context.others() {
        combination.send(schedule, &peers(cluster));
    }
    combination.combine(context, schedule, peers)
}
