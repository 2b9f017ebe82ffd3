//! Allgather.

use super::Context;
use super::packing::Packing;
use crate::buffer::{Buffer, Slice};
use crate::map::{Cluster, LocalRank, Rank};
use crate::operation::Blocks;
use crate::schedule::Schedule;
use crate::step::{Local, StepId, Tag};

/// Each cluster gathers at all its ranks; the coordinators exchange what their clusters have, each with all, and
/// broadcast it inside.
pub fn coordinators(context: &Context, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    let gathered = gather_inside(context, &mut schedule, blocks);
    let is_coordinator = context.rank == context.map.coordinator(context.cluster());
    if is_coordinator {
        let own = Packing::of(&mut schedule, places(context, context.cluster(), blocks));
        let mut packed = own.pack(&mut schedule, &[gathered]);
        packed.push(gathered);
        for cluster in context.others() {
            schedule.send(context.map.coordinator(cluster), own.whole, Tag(0), &packed);
        }
    }
    for cluster in context.others() {
        let theirs = Packing::of(&mut schedule, places(context, cluster, blocks));
        let here: Vec<StepId> = match is_coordinator {
            true => vec![schedule.receive(context.map.coordinator(cluster), theirs.whole, Tag(0), &[])],
            false => Vec::new(),
        };
        let spread = schedule.local(Local::Broadcast { root: LocalRank(0), data: theirs.whole }, &here);
        theirs.unpack(&mut schedule, &[spread]);
    }
    schedule
}

/// Each rank sends its block to one rank of every other cluster; each cluster gathers its own blocks and those that came
/// at all its ranks.
pub fn shared(context: &Context, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    let own = Slice::new(Buffer::Receive, blocks.start(context.rank), blocks.len(context.rank));
    let from = if context.in_place { own } else { Slice { buffer: Buffer::Send, start: 0, ..own } };
    for cluster in context.others() {
        schedule.send(receiver(context, cluster, context.rank), from, Tag(0), &[]);
    }
    gather_inside(context, &mut schedule, blocks);
    for cluster in context.others() {
        let theirs = Packing::of(&mut schedule, places(context, cluster, blocks));
        let mut held = vec![theirs.whole.part(0, 0); context.members().len()];
        let mut here = Vec::new();
        for (peer, block) in context.map.members(cluster).iter().zip(&theirs.blocks) {
            let receiver = receiver(context, context.cluster(), *peer);
            let held = &mut held[context.map.local(receiver).0];
            // Blocks of peers that follow each other go to the same rank or to the next.
            *held = if held.len == 0 { *block } else { Slice { len: held.len + block.len, ..*held } };
            if receiver == context.rank {
                here.push(schedule.receive(*peer, *block, Tag(0), &[]));
            }
        }
        let spread = schedule.local(Local::Allgather { blocks: held }, &here);
        theirs.unpack(&mut schedule, &[spread]);
    }
    schedule
}

/// The blocks of this rank's own cluster, in place at all its ranks.
fn gather_inside(context: &Context, schedule: &mut Schedule, blocks: &Blocks) -> StepId {
    let places = places(context, context.cluster(), blocks);
    let own = places[context.local().0];
    let copied = match context.in_place {
        true => None,
        false => schedule.copy(Slice { buffer: Buffer::Send, start: 0, ..own }, own, &[]),
    };
    schedule.local(Local::Allgather { blocks: places }, copied.as_slice())
}

/// Where the user wants the blocks of a cluster.
fn places(context: &Context, cluster: Cluster, blocks: &Blocks) -> Vec<Slice> {
    let place = |rank: &Rank| Slice::new(Buffer::Receive, blocks.start(*rank), blocks.len(*rank));
    context.map.members(cluster).iter().map(place).collect()
}

/// The rank of a cluster that gets the block of a rank elsewhere.
pub fn receiver(context: &Context, cluster: Cluster, owner: Rank) -> Rank {
    let (receivers, owners) = (context.map.members(cluster), context.map.members(context.map.cluster_of(owner)));
    receivers[context.map.local(owner).0 * receivers.len() / owners.len()]
}
