//! Barrier.

use super::Frame;
use crate::buffer::Slice;
use crate::map::{Cluster, Rank};
use crate::schedule::Schedule;
use crate::step::{Local, Tag};

/// A barrier inside, then every rank hears from one rank of each other cluster that all are there. The ranks of a cluster
/// share that work, and nobody has to pass on what it heard: one crossing, and one phase inside.
pub fn direct(frame: &Frame) -> Schedule {
    let mut schedule = Schedule::default();
    let inside = schedule.local(Local::Barrier, &[]);
    for cluster in frame.others() {
        for peer in frame.map.members(cluster) {
            if teller(frame, frame.cluster(), *peer) == frame.rank {
                schedule.send(*peer, Slice::empty(), Tag(0), &[inside]);
            }
        }
        schedule.receive(teller(frame, cluster, frame.rank), Slice::empty(), Tag(0), &[]);
    }
    schedule
}

/// Who of a cluster tells a rank elsewhere.
fn teller(frame: &Frame, cluster: Cluster, listener: Rank) -> Rank {
    let members = frame.map.members(cluster);
    members[frame.map.local(listener).0 % members.len()]
}
