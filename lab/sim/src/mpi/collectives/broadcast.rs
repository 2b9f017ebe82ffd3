//! Broadcasts from position 0 of a group.

use super::{Group, part, recursive_doubling, ring};
use crate::mpi::program::{Mpi, Tag};

/// Shorter ones go down a binomial tree (MPICH's limits).
const SHORT: u64 = 12 << 10;
/// Up to this length, and with a power of two of ranks, parts are gathered by recursive doubling, otherwise by a ring.
const MEDIUM: u64 = 512 << 10;
/// With fewer ranks than these, the tree is taken for every length.
const MIN_SCATTER_RANKS: u32 = 8;

/// How to broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broadcast {
    /// By length and number of ranks, as MPICH does.
    Mpich,
    /// A binomial tree.
    Binomial,
    /// Scatter, then allgather.
    ScatterAllgather,
}

/// One broadcast of `bytes`.
pub async fn broadcast(mpi: &Mpi, group: &Group, how: Broadcast, bytes: u64, tag: Tag) {
    match how {
        Broadcast::Binomial => binomial(mpi, group, bytes, tag).await,
        Broadcast::ScatterAllgather => scatter_allgather(mpi, group, bytes, tag).await,
        Broadcast::Mpich if bytes < SHORT || group.len() < MIN_SCATTER_RANKS => binomial(mpi, group, bytes, tag).await,
        Broadcast::Mpich => scatter_allgather(mpi, group, bytes, tag).await,
    }
}

async fn binomial(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    down(mpi, group, |_, _| Some(bytes), tag).await;
}

/// Each child gets what its own subtree needs, if that is anything.
async fn scatter(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    let len = group.len();
    let of = |from: u32, to: u32| Some(part(bytes, len, from, to.min(len))).filter(|part| *part > 0);
    down(mpi, group, of, tag).await;
}

/// Down a binomial tree: `of` is the length of the message to a child, by the positions of its subtree.
async fn down(mpi: &Mpi, group: &Group, of: impl Fn(u32, u32) -> Option<u64>, tag: Tag) {
    let (me, len) = (group.me(mpi), group.len());
    let mut mask = 1;
    while mask < len {
        if me & mask != 0 {
            if let Some(mine) = of(me, me + mask) {
                mpi.recv(group.rank(me - mask), tag, mine).await;
            }
            break;
        }
        mask <<= 1;
    }
    mask >>= 1;
    while mask > 0 {
        if me + mask < len
            && let Some(theirs) = of(me + mask, me + 2 * mask)
        {
            mpi.send(group.rank(me + mask), tag, theirs).await;
        }
        mask >>= 1;
    }
}

async fn scatter_allgather(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    scatter(mpi, group, bytes, tag).await;
    if bytes < MEDIUM && group.len().is_power_of_two() {
        recursive_doubling(mpi, group, bytes, tag).await;
    } else {
        ring(mpi, group, bytes, tag).await;
    }
}
