//! Reduce.

use super::Context;
use super::allreduce::{reduce_scatter, relative};
use super::combination::Combination;
use super::partition::{segments_of, shares};
use crate::buffer::{Buffer, Slice};
use crate::map::Rank;
use crate::schedule::Schedule;
use crate::step::Local;

/// Each cluster reduces to its coordinator, who sends to the root, segment by segment.
pub fn coordinators(context: &Context, root: Rank, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    let representative = context.representative(context.cluster(), root);
    for (tag, piece) in segments_of(Slice::new(Buffer::Receive, 0, len), segments) {
        let own = (context.rank == representative).then(|| schedule.temporary(piece.len));
        let reduce = Local::Reduce { root: context.map.local(representative), from: context.operand(piece), into: own };
        let ready = schedule.local(reduce, &[]);
        let Some(own) = own else { continue };
        let whole = Slice { start: 0, ..piece };
        let combination = Combination { own, ready, target: piece, free: context.until_read(ready), tag };
        match context.rank == root {
            true => {
                combination.combine(context, &mut schedule, &|cluster| vec![(context.map.coordinator(cluster), whole)]);
            }
            false => combination.send(&mut schedule, &[(root, whole)]),
        }
    }
    schedule
}

/// Each cluster reduces so that each of its hosts has a share of the result; the hosts send their shares to those of the
/// root's cluster, who combine them, and the root gathers; segment by segment.
pub fn shared(context: &Context, root: Rank, len: usize, segments: u16) -> Schedule {
    let mut schedule = Schedule::default();
    let pieces = segments_of(Slice::new(Buffer::Receive, 0, len), segments);
    let mut inside = Vec::new();
    for (_, piece) in &pieces {
        inside.push(reduce_scatter(context, &mut schedule, *piece));
    }
    let home = context.map.cluster_of(root);
    for ((tag, piece), (own, ready)) in pieces.into_iter().zip(inside) {
        let blocks = shares(context.map, context.cluster(), piece);
        let target = match context.rank == root {
            true => blocks[context.local().0],
            false => schedule.temporary(own.len),
        };
        let combination = Combination { own, ready, target, free: context.until_read(ready), tag };
        if context.cluster() != home {
            combination.send(&mut schedule, &relative(context, home, piece));
            continue;
        }
        let mut done = vec![ready];
        if own.len > 0 {
            done.extend(combination.combine(context, &mut schedule, &|cluster| relative(context, cluster, piece)));
        }
        let blocks = (context.rank == root).then_some(blocks);
        schedule.local(Local::Gather { root: context.map.local(root), from: target, blocks }, &done);
    }
    schedule
}
