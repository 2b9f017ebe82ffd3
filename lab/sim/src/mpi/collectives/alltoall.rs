//! All-to-all exchanges: each rank has a block for each.

use super::Group;
use crate::mpi::program::{Mpi, Tag};

/// Up to this block length, with enough ranks, Bruck's algorithm (MPICH's limits).
const SHORT: u64 = 256;
const MIN_BRUCK_RANKS: u32 = 8;
/// Up to this length all messages go at once, beyond it pair by pair.
const MEDIUM: u64 = 32 << 10;

/// One exchange of blocks of `bytes`, as MPICH does it: first a rank's own block.
pub async fn alltoall(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    mpi.copy_own_part(bytes).await;
    if bytes <= SHORT && group.len() >= MIN_BRUCK_RANKS {
        bruck(mpi, group, bytes, tag).await;
    } else if bytes <= MEDIUM {
        at_once(mpi, group, bytes, tag).await;
    } else {
        pairwise(mpi, group, bytes, tag).await;
    }
}

/// Few, longer messages: log2(n) steps of half of all blocks.
pub async fn bruck(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    let (me, len) = (group.me(mpi), group.len());
    let mut distance = 1;
    while distance < len {
        let blocks = (0..len).filter(|block| block & distance != 0).count() as u64;
        let (to, from) = (group.rank(me + distance), group.rank(me + len - distance));
        mpi.sendrecv(to, blocks * bytes, from, blocks * bytes, tag).await;
        distance <<= 1;
    }
}

async fn at_once(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    let others = group.after(group.me(mpi)).map(|peer| (group.rank(peer), tag, bytes));
    mpi.exchange(others.clone(), others).await;
}

/// One partner each step.
pub async fn pairwise(mpi: &Mpi, group: &Group, bytes: u64, tag: Tag) {
    let (me, len) = (group.me(mpi), group.len());
    for step in 1..len {
        let (to, from) = if len.is_power_of_two() { (me ^ step, me ^ step) } else { (me + step, me + len - step) };
        mpi.sendrecv(group.rank(to), bytes, group.rank(from), bytes, tag).await;
    }
}
