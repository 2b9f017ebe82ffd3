//! Reductions to position 0. Summing is not charged: it costs little beside the network's share of a message.

use super::Group;
use crate::mpi::program::Mpi;

/// Up a binomial tree.
pub async fn reduce(mpi: &Mpi, group: &Group, bytes: u64, tag: u32) {
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
