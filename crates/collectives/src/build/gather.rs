//! Gather and scatter, which is a gather backwards.

use super::Frame;
use super::packing::Packing;
use crate::buffer::{Buffer, Slice};
use crate::map::{Cluster, Rank};
use crate::operation::Blocks;
use crate::schedule::Schedule;
use crate::step::{Local, StepId, Tag};

/// Each cluster gathers at its coordinator, who sends to the root.
pub fn gather_coordinators(frame: &Frame, root: Rank, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    gather_inside(frame, &mut schedule, root, blocks);
    if frame.rank == root {
        for cluster in frame.others() {
            let theirs = Packing::of(&mut schedule, places(frame, Buffer::Receive, cluster, blocks));
            let here = schedule.receive(frame.map.coordinator(cluster), theirs.whole, Tag(0), &[]);
            theirs.unpack(&mut schedule, &[here]);
        }
    }
    schedule
}

/// Each rank of another cluster sends to the root.
pub fn gather_direct(frame: &Frame, root: Rank, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    if frame.cluster() != frame.map.cluster_of(root) {
        let own = Slice::new(Buffer::Send, 0, blocks.len(frame.rank));
        schedule.send(root, own, Tag(0), &[]);
        return schedule;
    }
    gather_inside(frame, &mut schedule, root, blocks);
    if frame.rank == root {
        for cluster in frame.others() {
            for peer in frame.map.members(cluster) {
                schedule.receive(*peer, place(Buffer::Receive, *peer, blocks), Tag(0), &[]);
            }
        }
    }
    schedule
}

fn gather_inside(frame: &Frame, schedule: &mut Schedule, root: Rank, blocks: &Blocks) {
    let speaker = frame.speaker(frame.cluster(), root);
    let own = Slice::new(Buffer::Send, 0, blocks.len(frame.rank));
    let to = frame.map.local(speaker);
    if frame.rank != speaker {
        schedule.local(Local::Gather { root: to, from: own, blocks: None }, &[]);
        return;
    }
    let places = places(frame, Buffer::Receive, frame.cluster(), blocks);
    if frame.rank == root {
        let from = if frame.in_place { places[to.0] } else { own };
        schedule.local(Local::Gather { root: to, from, blocks: Some(places) }, &[]);
        return;
    }
    let all = Packing::temporary(schedule, places);
    let gathered = schedule.local(Local::Gather { root: to, from: own, blocks: Some(all.blocks) }, &[]);
    schedule.send(root, all.whole, Tag(0), &[gathered]);
}

/// The root sends to the coordinators, who scatter inside.
pub fn scatter_coordinators(frame: &Frame, root: Rank, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    if frame.rank == root {
        for cluster in frame.others() {
            let theirs = Packing::of(&mut schedule, places(frame, Buffer::Send, cluster, blocks));
            let packed = theirs.pack(&mut schedule, &[]);
            schedule.send(frame.map.coordinator(cluster), theirs.whole, Tag(0), &packed);
        }
    }
    scatter_inside(frame, &mut schedule, root, blocks);
    schedule
}

/// The root sends to each rank of the other clusters.
pub fn scatter_direct(frame: &Frame, root: Rank, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    if frame.rank == root {
        for cluster in frame.others() {
            for peer in frame.map.members(cluster) {
                schedule.send(*peer, place(Buffer::Send, *peer, blocks), Tag(0), &[]);
            }
        }
    }
    match frame.cluster() == frame.map.cluster_of(root) {
        true => scatter_inside(frame, &mut schedule, root, blocks),
        false => {
            let own = Slice::new(Buffer::Receive, 0, blocks.len(frame.rank));
            schedule.receive(root, own, Tag(0), &[]);
        }
    }
    schedule
}

fn scatter_inside(frame: &Frame, schedule: &mut Schedule, root: Rank, blocks: &Blocks) {
    let speaker = frame.speaker(frame.cluster(), root);
    let own = Slice::new(Buffer::Receive, 0, blocks.len(frame.rank));
    let from = frame.map.local(speaker);
    if frame.rank != speaker {
        schedule.local(Local::Scatter { root: from, blocks: None, into: own }, &[]);
        return;
    }
    let places = places(frame, Buffer::Send, frame.cluster(), blocks);
    if frame.rank == root {
        let into = if frame.in_place { places[from.0] } else { own };
        schedule.local(Local::Scatter { root: from, blocks: Some(places), into }, &[]);
        return;
    }
    let all = Packing::temporary(schedule, places);
    let here: StepId = schedule.receive(root, all.whole, Tag(0), &[]);
    schedule.local(Local::Scatter { root: from, blocks: Some(all.blocks), into: own }, &[here]);
}

/// Where the root has the blocks of a cluster.
fn places(frame: &Frame, buffer: Buffer, cluster: Cluster, blocks: &Blocks) -> Vec<Slice> {
    frame.map.members(cluster).iter().map(|rank| place(buffer, *rank, blocks)).collect()
}

fn place(buffer: Buffer, rank: Rank, blocks: &Blocks) -> Slice {
    Slice::new(buffer, blocks.start(rank), blocks.len(rank))
}
