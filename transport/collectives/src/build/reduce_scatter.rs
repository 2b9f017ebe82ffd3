//! Reduce-scatter.

use super::Context;
use super::allgather::receiver;
use super::combination::Combination;
use super::packing::Packing;
use crate::buffer::{Buffer, Slice};
use crate::map::{Cluster, Rank};
use crate::operation::Blocks;
use crate::schedule::Schedule;
use crate::step::{Local, StepId, Tag};

/// Each cluster reduces the blocks of every other one, spread over its ranks, who send them to their owners; then its
/// own, which the owners combine with what comes.
pub fn shared(context: &Context, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    let mut read = Vec::new();
    for cluster in context.others() {
        let peers = context.map.members(cluster);
        let receivers: Vec<Rank> = peers.iter().map(|owner| receiver(context, context.cluster(), *owner)).collect();
        let (mine, reduced) = reduce_inside(context, &mut schedule, blocks, cluster, &receivers);
        read.push(reduced);
        let mut sent = 0;
        for (owner, _) in peers.iter().zip(&receivers).filter(|(_, receiver)| **receiver == context.rank) {
            let len = blocks.len(*owner);
            if len > 0 {
                schedule.send(*owner, mine.part(sent, len), Tag(0), &[reduced]);
            }
            sent += len;
        }
    }
    let (own, ready) = reduce_inside(context, &mut schedule, blocks, context.cluster(), context.members());
    if own.len > 0 {
        // In place, the operand is where the result goes.
        read.push(ready);
        let free = if context.in_place { read } else { Vec::new() };
        let target = Slice::new(Buffer::Receive, 0, own.len);
        let whole = Slice { start: 0, ..own };
        let combination = Combination { own, ready, target, free, tag: Tag(0) };
        combination.combine(context, &mut schedule, &|cluster| vec![(receiver(context, cluster, context.rank), whole)]);
    }
    schedule
}

/// Reduces the blocks of a cluster's ranks among those of this one; `holders` says who of these gets which. They are in
/// order, so that what each gets is in one piece: this rank's, and when it is there.
fn reduce_inside(
    context: &Context,
    schedule: &mut Schedule,
    blocks: &Blocks,
    cluster: Cluster,
    holders: &[Rank],
) -> (Slice, StepId) {
    let owners = context.map.members(cluster);
    let buffer = if context.in_place { Buffer::Receive } else { Buffer::Send };
    let place = |rank: &Rank| Slice::new(buffer, blocks.start(*rank), blocks.len(*rank));
    let operand = Packing::of(schedule, owners.iter().map(place).collect());
    let packed = operand.pack(schedule, &[]);
    let mut lens = vec![0; context.members().len()];
    owners.iter().zip(holders).for_each(|(owner, holder)| lens[context.map.local(*holder).0] += blocks.len(*owner));
    let into = schedule.temporary(lens[context.local().0]);
    (into, schedule.local(Local::ReduceScatter { from: operand.whole, lens, into }, &packed))
}
