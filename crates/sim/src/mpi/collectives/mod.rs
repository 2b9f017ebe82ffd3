//! Collective operations as the MPI libraries of the papers did them within one cluster, and the schedules of
//! `fishplate_collectives` over several.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod broadcast;
mod irregular;
mod reduce;
mod scheduled;

pub use allgather::{recursive_doubling, ring};
pub use allreduce::allreduce;
pub use alltoall::{alltoall, bruck, pairwise};
pub use barrier::{barrier, barrier_by_host};
pub use broadcast::{Broadcast, broadcast};
pub use reduce::reduce;
pub use scheduled::scheduled;

use super::program::Mpi;

/// Some of the ranks, in the order that an algorithm counts them in.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The lowest rank.
    first: u32,
    /// How many.
    len: u32,
    /// Which of them, from the lowest, has position 0.
    root: u32,
}

impl Group {
    /// All ranks.
    pub fn all(mpi: &Mpi) -> Group {
        Group::of(0, mpi.ranks())
    }

    /// `len` ranks from `first` on.
    pub fn of(first: u32, len: u32) -> Group {
        Group { first, len, root: 0 }
    }

    /// The same ranks, counted from another one.
    pub fn rooted(self, root: u32) -> Group {
        Group { root, ..self }
    }

    /// How many.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether nobody is in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Position of this rank.
    pub fn me(&self, mpi: &Mpi) -> u32 {
        (mpi.rank() - self.first + self.len - self.root) % self.len
    }

    /// The rank at a position.
    pub fn rank(&self, position: u32) -> u32 {
        self.first + (position + self.root) % self.len
    }
}

/// Bytes of the parts `from` to `to` of `bytes` in `parts` equal parts, the last being shorter.
fn part(bytes: u64, parts: u32, from: u32, to: u32) -> u64 {
    let each = bytes.div_ceil(u64::from(parts));
    let end = |part: u32| (each * u64::from(part)).min(bytes);
    end(to.min(parts)) - end(from.min(parts))
}
