//! Reduce-scatter.

use super::Frame;
use super::allgather::catcher;
use super::meeting::Meeting;
use super::packing::Packing;
use crate::buffer::{Buffer, Slice};
use crate::map::{Cluster, Rank};
use crate::operation::Blocks;
use crate::schedule::Schedule;
use crate::step::{Local, StepId, Tag};

/// Each cluster reduces the blocks of every other one, spread over its ranks, who send them to their owners; then its own,
/// which the owners combine with what comes.
pub fn shared(frame: &Frame, blocks: &Blocks) -> Schedule {
    let mut schedule = Schedule::default();
    let mut read = Vec::new();
    for cluster in frame.others() {
        let peers = frame.map.members(cluster);
        let catchers: Vec<Rank> = peers.iter().map(|owner| catcher(frame, frame.cluster(), *owner)).collect();
        let (mine, reduced) = reduce_inside(frame, &mut schedule, blocks, cluster, &catchers);
        read.push(reduced);
        let mut sent = 0;
        for (owner, _) in peers.iter().zip(&catchers).filter(|(_, catcher)| **catcher == frame.rank) {
            let len = blocks.len(*owner);
            if len > 0 {
                schedule.send(*owner, mine.part(sent, len), Tag(0), &[reduced]);
            }
            sent += len;
        }
    }
    let (own, ready) = reduce_inside(frame, &mut schedule, blocks, frame.cluster(), frame.members());
    if own.len > 0 {
        // In place, the operand is where the result goes.
        read.push(ready);
        let free = if frame.in_place { read } else { Vec::new() };
        let target = Slice::new(Buffer::Receive, 0, own.len);
        let whole = Slice { start: 0, ..own };
        let meeting = Meeting { own, ready, target, free, tag: Tag(0) };
        meeting.combine(frame, &mut schedule, &|cluster| vec![(catcher(frame, cluster, frame.rank), whole)]);
    }
    schedule
}

/// Reduces the blocks of a cluster's ranks among those of this one; `holders` says who of these gets which. They are in
/// order, so that what each gets is in one piece: this rank's, and when it is there.
fn reduce_inside(
    frame: &Frame,
    schedule: &mut Schedule,
    blocks: &Blocks,
    cluster: Cluster,
    holders: &[Rank],
) -> (Slice, StepId) {
    let owners = frame.map.members(cluster);
    let buffer = if frame.in_place { Buffer::Receive } else { Buffer::Send };
    let place = |rank: &Rank| Slice::new(buffer, blocks.start(*rank), blocks.len(*rank));
    let operand = Packing::of(schedule, owners.iter().map(place).collect());
    let packed = operand.pack(schedule, &[]);
    let mut lens = vec![0; frame.members().len()];
    owners.iter().zip(holders).for_each(|(owner, holder)| lens[frame.map.local(*holder).0] += blocks.len(*owner));
    let into = schedule.temporary(lens[frame.local().0]);
    (into, schedule.local(Local::ReduceScatter { from: operand.whole, lens, into }, &packed))
}
