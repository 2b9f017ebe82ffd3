//! Allgather.

use super::Frame;
use super::packing::Packing;
use crate::buffer::{Buffer, Slice};
use crate::map::{Cluster, LocalRank, Rank};
use crate::operation::Blocks;
use crate::schedule::Schedule;
use crate::step::{Local, StepId, Tag};

/// Each cluster gathers at all its ranks; the coordinators exchange what their clusters have, each with all, and
/// broadcast it inside.
pub fn coordinators(frame: &Frame, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    let gathered = gather_inside(frame, &mut schedule, blocks);
    let is_coordinator = frame.rank == frame.map.coordinator(frame.cluster());
    if is_coordinator {
        let own = Packing::of(&mut schedule, places(frame, frame.cluster(), blocks));
        let mut packed = own.pack(&mut schedule, &[gathered]);
        packed.push(gathered);
        for cluster in frame.others() {
            schedule.send(frame.map.coordinator(cluster), own.whole, Tag(0), &packed);
        }
    }
    for cluster in frame.others() {
        let theirs = Packing::of(&mut schedule, places(frame, cluster, blocks));
        let here: Vec<StepId> = match is_coordinator {
            true => vec![schedule.receive(frame.map.coordinator(cluster), theirs.whole, Tag(0), &[])],
            false => Vec::new(),
        };
        let spread = schedule.local(Local::Broadcast { root: LocalRank(0), data: theirs.whole }, &here);
        theirs.unpack(&mut schedule, &[spread]);
    }
    schedule
}

/// Each rank sends its block to one rank of every other cluster; each cluster gathers its own blocks and those that came
/// at all its ranks.
pub fn shared(frame: &Frame, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    let own = Slice::new(Buffer::Receive, blocks.start(frame.rank), blocks.len(frame.rank));
    let from = if frame.in_place { own } else { Slice { buffer: Buffer::Send, start: 0, ..own } };
    for cluster in frame.others() {
        schedule.send(catcher(frame, cluster, frame.rank), from, Tag(0), &[]);
    }
    gather_inside(frame, &mut schedule, blocks);
    for cluster in frame.others() {
        let theirs = Packing::of(&mut schedule, places(frame, cluster, blocks));
        let mut held = vec![theirs.whole.part(0, 0); frame.members().len()];
        let mut here = Vec::new();
        for (peer, block) in frame.map.members(cluster).iter().zip(&theirs.blocks) {
            let catcher = catcher(frame, frame.cluster(), *peer);
            let held = &mut held[frame.map.local(catcher).0];
            // Blocks of peers that follow each other go to the same rank or to the next.
            *held = if held.len == 0 { *block } else { Slice { len: held.len + block.len, ..*held } };
            if catcher == frame.rank {
                here.push(schedule.receive(*peer, *block, Tag(0), &[]));
            }
        }
        let spread = schedule.local(Local::Allgather { blocks: held }, &here);
        theirs.unpack(&mut schedule, &[spread]);
    }
    schedule
}

/// The blocks of this rank's own cluster, in place at all its ranks.
fn gather_inside(frame: &Frame, schedule: &mut Schedule, blocks: &Blocks) -> StepId {
    let places = places(frame, frame.cluster(), blocks);
    let own = places[frame.local().0];
    let copied = match frame.in_place {
        true => None,
        false => schedule.copy(Slice { buffer: Buffer::Send, start: 0, ..own }, own, &[]),
    };
    schedule.local(Local::Allgather { blocks: places }, copied.as_slice())
}

/// Where the user wants the blocks of a cluster.
fn places(frame: &Frame, cluster: Cluster, blocks: &Blocks) -> Vec<Slice> {
    let place = |rank: &Rank| Slice::new(Buffer::Receive, blocks.start(*rank), blocks.len(*rank));
    frame.map.members(cluster).iter().map(place).collect()
}

/// Who of a cluster gets the block of a rank elsewhere.
pub fn catcher(frame: &Frame, cluster: Cluster, owner: Rank) -> Rank {
    let (catchers, owners) = (frame.map.members(cluster), frame.map.members(frame.map.cluster_of(owner)));
    catchers[frame.map.local(owner).0 * catchers.len() / owners.len()]
}
