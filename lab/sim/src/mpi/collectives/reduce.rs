//! Reductions to position 0, and those of all lower positions. Summing is not charged: it costs little beside the network's share of a message.

use super::Group;
use crate::mpi::program::{Mpi, Tag};

/// Up a binomial tree.
pub async fn reduce(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    let (me, len) = (group.me(mpi), group.len());
    let mut mask = 1;
    while mask < len {
        if me & mask != 0 {
            mpi.send(group.rank(me - mask), tag, bytes).await;
            return;
        }
        if me + mask < len {
            mpi.recv(group.rank(me + mask), tag, bytes).await;
        }
        mask <<= 1;
    }
}

/// Each gets what all lower positions have, by recursive doubling.
pub async fn scan(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    let (me, len) = (group.me(mpi), group.len());
    let mut mask = 1;
    while mask < len {
        let peer = me ^ mask;
        if peer < len {
            mpi.sendrecv(group.rank(peer), bytes, group.rank(peer), bytes, tag).await;
        }
        mask <<= 1;
    }
}
