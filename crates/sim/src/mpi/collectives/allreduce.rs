//! Reductions whose result all ranks get.

use super::{Broadcast, Group, broadcast, reduce};
use crate::mpi::program::Mpi;

/// Recursive doubling where the number of ranks is a power of two, otherwise a reduction and a broadcast.
pub async fn allreduce(mpi: &Mpi, group: &Group, bytes: u64, tag: u32) {
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
