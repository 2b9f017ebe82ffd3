//! Allgathers: each position has one part and receives those of all others.

use super::{Group, part};
use crate::mpi::program::{Mpi, Tag};

/// Twice as many parts each step; the number of ranks is a power of two.
pub async fn recursive_doubling(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    let (me, len) = (group.me(mpi), group.len());
    let mut mask = 1;
    while mask < len {
        let peer = me ^ mask;
        let of = |position: u32| part(bytes, len, position & !(mask - 1), (position & !(mask - 1)) + mask);
        mpi.sendrecv(group.rank(peer), of(me), group.rank(peer), of(peer), tag).await;
        mask <<= 1;
    }
}

/// Each part goes around.
pub async fn ring(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    around(mpi, group, |position| part(bytes, group.len(), position, position + 1), tag).await;
}

/// The part of each position, of this length, goes around.
pub(super) async fn around(mpi: &Mpi, group: &Group, of: impl Fn(u32) -> u64, tag: Tag) {
    let (me, len) = (group.me(mpi), group.len());
    for step in 0..len - 1 {
        let (sent, received) = (of((me + len - step) % len), of((me + 2 * len - step - 1) % len));
        mpi.sendrecv(group.rank(me + 1), sent, group.rank(me + len - 1), received, tag).await;
    }
}
