//! Gather and scatter, which is a gather backwards.

use super::Context;
use super::packing::Packing;
use crate::buffer::{Buffer, Slice};
use crate::map::{Cluster, Rank};
use crate::operation::Blocks;
use crate::schedule::Schedule;
use crate::step::{Local, StepId, Tag};

/// Each cluster gathers at its coordinator, who sends to the root.
pub fn gather_coordinators(context: &Context, root: Rank, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    gather_inside(context, &mut schedule, root, blocks);
    if context.rank == root {
        for cluster in context.others() {
            let theirs = Packing::of(&mut schedule, places(context, Buffer::Receive, cluster, blocks));
            let here = schedule.receive(context.map.coordinator(cluster), theirs.whole, Tag(0), &[]);
            theirs.unpack(&mut schedule, &[here]);
        }
    }
    schedule
}

/// Each rank of another cluster sends to the root.
pub fn gather_direct(context: &Context, root: Rank, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    if context.cluster() != context.map.cluster_of(root) {
        let own = Slice::new(Buffer::Send, 0, blocks.len(context.rank));
        schedule.send(root, own, Tag(0), &[]);
        return schedule;
    }
    gather_inside(context, &mut schedule, root, blocks);
    if context.rank == root {
        for cluster in context.others() {
            for peer in context.map.members(cluster) {
                schedule.receive(*peer, place(Buffer::Receive, *peer, blocks), Tag(0), &[]);
            }
        }
    }
    schedule
}

fn gather_inside(context: &Context, schedule: &mut Schedule, root: Rank, blocks: &Blocks) {
    let representative = context.representative(context.cluster(), root);
    let own = Slice::new(Buffer::Send, 0, blocks.len(context.rank));
    let to = context.map.local(representative);
    if context.rank != representative {
        schedule.local(Local::Gather { root: to, from: own, blocks: None }, &[]);
        return;
    }
    let places = places(context, Buffer::Receive, context.cluster(), blocks);
    if context.rank == root {
        let from = if context.in_place { places[to.0] } else { own };
        schedule.local(Local::Gather { root: to, from, blocks: Some(places) }, &[]);
        return;
    }
    let all = Packing::temporary(schedule, places);
    let gathered = schedule.local(Local::Gather { root: to, from: own, blocks: Some(all.blocks) }, &[]);
    schedule.send(root, all.whole, Tag(0), &[gathered]);
}

/// The root sends to the coordinators, who scatter inside.
pub fn scatter_coordinators(context: &Context, root: Rank, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    if context.rank == root {
        for cluster in context.others() {
            let theirs = Packing::of(&mut schedule, places(context, Buffer::Send, cluster, blocks));
            let packed = theirs.pack(&mut schedule, &[]);
            schedule.send(context.map.coordinator(cluster), theirs.whole, Tag(0), &packed);
        }
    }
    scatter_inside(context, &mut schedule, root, blocks);
    schedule
}

/// The root sends to each rank of the other clusters.
pub fn scatter_direct(context: &Context, root: Rank, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    if context.rank == root {
        for cluster in context.others() {
            for peer in context.map.members(cluster) {
                schedule.send(*peer, place(Buffer::Send, *peer, blocks), Tag(0), &[]);
            }
        }
    }
    match context.cluster() == context.map.cluster_of(root) {
        true => scatter_inside(context, &mut schedule, root, blocks),
        false => {
            let own = Slice::new(Buffer::Receive, 0, blocks.len(context.rank));
            schedule.receive(root, own, Tag(0), &[]);
        }
    }
    schedule
}

fn scatter_inside(context: &Context, schedule: &mut Schedule, root: Rank, blocks: &Blocks) {
    let representative = context.representative(context.cluster(), root);
    let own = Slice::new(Buffer::Receive, 0, blocks.len(context.rank));
    let from = context.map.local(representative);
    if context.rank != representative {
        schedule.local(Local::Scatter { root: from, blocks: None, into: own }, &[]);
        return;
    }
    let places = places(context, Buffer::Send, context.cluster(), blocks);
    if context.rank == root {
        let into = if context.in_place { places[from.0] } else { own };
        schedule.local(Local::Scatter { root: from, blocks: Some(places), into }, &[]);
        return;
    }
    let all = Packing::temporary(schedule, places);
    let here: StepId = schedule.receive(root, all.whole, Tag(0), &[]);
    schedule.local(Local::Scatter { root: from, blocks: Some(all.blocks), into: own }, &[here]);
}

/// Where the root has the blocks of a cluster.
fn places(context: &Context, buffer: Buffer, cluster: Cluster, blocks: &Blocks) -> Vec<Slice> {
    context.map.members(cluster).iter().map(|rank| place(buffer, *rank, blocks)).collect()
}

fn place(buffer: Buffer, rank: Rank, blocks: &Blocks) -> Slice {
    Slice::new(buffer, blocks.start(rank), blocks.len(rank))
}
