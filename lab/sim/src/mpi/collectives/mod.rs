//! Collective operations as the MPI libraries of the papers did them within one cluster, and the schedules of
//! `fishplate_collectives` over several.

mod allgather;
mod alltoall;
mod barrier;
mod broadcast;
pub mod irregular;
mod reduce;
mod scheduled;

use allgather::around;
pub use allgather::{recursive_doubling, ring};
pub use alltoall::{alltoall, bruck, pairwise};
pub use barrier::{barrier, barrier_by_host};
pub use broadcast::{Broadcast, broadcast};
pub use reduce::{allreduce, rabenseifner, reduce, scan};
pub use scheduled::scheduled;

use std::collections::BTreeMap;
use std::rc::Rc;

use super::program::Mpi;

/// Some of the ranks, in the order that an algorithm counts them in.
#[derive(Clone, Debug)]
pub struct Group {
    members: Members,
    /// Which of them has position 0.
    root: u32,
}

#[derive(Clone, Debug)]
enum Members {
    /// Ranks that follow each other: the lowest, and how many.
    Range(u32, u32),
    /// Any ranks, and their places.
    List(Rc<(Vec<u32>, BTreeMap<u32, u32>)>),
}

impl Group {
    /// All ranks.
    pub fn all(mpi: &Mpi) -> Group {
        Group::of(0, mpi.ranks())
    }

    /// `len` ranks from `first` on.
    pub fn of(first: u32, len: u32) -> Group {
        Group { members: Members::Range(first, len), root: 0 }
    }

    /// These ranks.
    pub fn list(ranks: Vec<u32>) -> Group {
        if ranks.windows(2).all(|pair| pair[0] + 1 == pair[1]) {
            return Group::of(ranks.first().copied().unwrap_or(0), ranks.len() as u32);
        }
        let places = ranks.iter().zip(0..).map(|(rank, place)| (*rank, place)).collect();
        Group { members: Members::List(Rc::new((ranks, places))), root: 0 }
    }

    /// The ranks, rotated so that the one at this position is first.
    pub fn rooted(&self, root: u32) -> Group {
        Group { root, ..self.clone() }
    }

    /// How many.
    pub fn len(&self) -> u32 {
        match &self.members {
            Members::Range(_, len) => *len,
            Members::List(list) => list.0.len() as u32,
        }
    }

    /// Whether it has no ranks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Place of a rank, counted from the first one, if it is in it.
    fn place(&self, rank: u32) -> Option<u32> {
        match &self.members {
            Members::Range(first, len) => rank.checked_sub(*first).filter(|place| place < len),
            Members::List(list) => list.1.get(&rank).copied(),
        }
    }

    /// Whether a rank is in it.
    pub fn contains(&self, rank: u32) -> bool {
        self.place(rank).is_some()
    }

    /// Position of this rank, which is in it.
    pub fn me(&self, mpi: &Mpi) -> u32 {
        let len = self.len();
        (self.place(mpi.rank()).unwrap_or(0) + len - self.root) % len
    }

    /// All other positions, from the one behind `me` on.
    fn after(&self, me: u32) -> impl Iterator<Item = u32> + Clone {
        let len = self.len();
        (1..len).map(move |step| (me + step) % len)
    }

    /// The rank at a position.
    pub fn rank(&self, position: u32) -> u32 {
        let place = (position + self.root) % self.len();
        match &self.members {
            Members::Range(first, _) => first + place,
            Members::List(list) => list.0[place as usize],
        }
    }
}

/// Bytes of the parts `from` to `to` of `bytes` in `parts` equal parts, the last being shorter.
fn part(bytes: u64, parts: u32, from: u32, to: u32) -> u64 {
    let each = bytes.div_ceil(u64::from(parts));
    let end = |part: u32| (each * u64::from(part)).min(bytes);
    end(to.min(parts)) - end(from.min(parts))
}
