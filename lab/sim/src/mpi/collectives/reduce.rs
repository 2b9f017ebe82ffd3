//! Reductions to position 0, to all, and those of all lower positions. Summing is not charged: it costs little beside the network's share of a message.

use super::{Broadcast, Group, broadcast, part, recursive_doubling};
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

/// Recursive doubling where the number of ranks is a power of two, otherwise a reduction and a broadcast.
pub async fn allreduce(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    let (me, len) = (group.me(mpi), group.len());
    if !len.is_power_of_two() {
        reduce(mpi, group, bytes, tag).await;
        return broadcast(mpi, group, Broadcast::Binomial, bytes, tag).await;
    }
    let mut mask = 1;
    while mask < len {
        let peer = group.rank(me ^ mask);
        mpi.sendrecv(peer, bytes, peer, bytes, tag).await;
        mask <<= 1;
    }
}

/// For long vectors: reduction in parts by recursive halving, then an allgather by recursive doubling. The number of ranks
/// is a power of two.
pub async fn rabenseifner(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    let (me, len) = (group.me(mpi), group.len());
    let mut mask = len / 2;
    while mask > 0 {
        let peer = me ^ mask;
        // Each keeps the half of its parts that it is in.
        let of = |position: u32| part(bytes, len, position & !(mask - 1), (position & !(mask - 1)) + mask);
        mpi.sendrecv(group.rank(peer), of(peer), group.rank(peer), of(me), tag).await;
        mask /= 2;
    }
    recursive_doubling(mpi, group, bytes, tag).await;
}
