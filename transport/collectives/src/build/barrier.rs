//! Barrier.

use super::Context;
use crate::buffer::Slice;
use crate::map::{Cluster, Rank};
use crate::schedule::Schedule;
use crate::step::{Local, Tag};

/// A barrier inside, then one rank of each other cluster notifies every rank that its cluster has entered. The ranks of
/// a cluster share this work, and no rank forwards a notification: one crossing, and one phase inside.
pub fn direct(context: &Context) -> Schedule {
    let mut schedule = Schedule::default();
    let inside = schedule.local(Local::Barrier, &[]);
    for cluster in context.others() {
        for peer in context.map.members(cluster) {
            if teller(context, context.cluster(), *peer) == context.rank {
                schedule.send(*peer, Slice::empty(), Tag(0), &[inside]);
            }
        }
        schedule.receive(teller(context, cluster, context.rank), Slice::empty(), Tag(0), &[]);
    }
    schedule
}

/// The rank of a cluster that notifies a rank elsewhere.
fn teller(context: &Context, cluster: Cluster, listener: Rank) -> Rank {
    let members = context.map.members(cluster);
    members[context.map.local(listener).0 % members.len()]
}
