//! The patterns: with whom a rank exchanges messages in a turn.

use crate::mpi::program::{Mpi, Tag};
use crate::named::named;
use crate::suite::Neighbourhood;

/// Ranks that a rank sends to at most in an alltoall: among 4096, connections of all with all would not fit into memory.
const PEERS: u32 = 16;
/// Up to this length all messages of an alltoall go at once, beyond it one after the other (as MPICH does it).
const AT_ONCE: u64 = 32 << 10;
/// Dimensions of the grid of a halo exchange.
const DIMENSIONS: u32 = 3;

named! {
    /// Who sends to whom.
    Pattern {
        /// Blocks to 16 ranks of other hosts, and as many from others.
        Alltoall = "alltoall",
        /// Faces to the neighbours in a periodic grid of three dimensions, on the own host too.
        Halo = "halo",
        /// A message each way with the rank of equal number on the neighbouring host.
        Pairs = "pairs",
        /// A message from each rank of all other hosts to the first host, whose receipt the sender awaits.
        Incast = "incast",
    }
}

use Pattern::*;

/// A message that a rank sends, and one that it receives: each with the peer and the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub to: Option<(u32, Tag)>,
    pub from: Option<(u32, Tag)>,
}

impl Pattern {
    /// The steps of a turn of one of the ranks of `hosts` hosts, with `per_host` on each.
    pub(super) fn steps(self, (hosts, per_host): (u32, u32), rank: u32) -> Vec<Step> {
        let (host, place) = (rank / per_host, rank % per_host);
        let at = |host: u32, place: u32| host % hosts * per_host + place % per_host;
        match self {
            Alltoall => {
                let others = hosts - 1;
                let step = |number: u32| {
                    let (by, shift) = (1 + number % others, number / others + 1 + number % others);
                    let from = at(host + hosts - by, place + per_host * hosts - shift % per_host);
                    let tag = Tag::from(number);
                    Step { to: Some((at(host + by, place + shift), tag)), from: Some((from, tag)) }
                };
                (0..PEERS.min(others * per_host)).map(step).collect()
            }
            Halo => {
                let step = |neighbour: crate::suite::Neighbour| Step {
                    to: Some((neighbour.rank, neighbour.sends.into())),
                    from: Some((neighbour.rank, neighbour.receives.into())),
                };
                Neighbourhood::Grid(DIMENSIONS).of(rank, hosts * per_host).into_iter().map(step).collect()
            }
            Pairs => {
                let other = Some((at(host ^ 1, place), 0));
                vec![Step { to: other, from: other }]
            }
            Incast if host == 0 => (1..hosts).map(|host| Step { to: None, from: Some((at(host, place), 0)) }).collect(),
            Incast => vec![Step { to: Some((at(0, place), 0)), from: None }],
        }
    }

    /// Whether the steps of a turn are under way together.
    fn is_at_once(self, size: u64) -> bool {
        self != Alltoall || size <= AT_ONCE
    }

    /// A turn of one of the ranks. `received` hears of each message, in the order of steps.
    pub(super) async fn turn(self, mpi: &Mpi, steps: &[Step], size: u64, received: &mut dyn FnMut(u32)) {
        let together = if self.is_at_once(size) { steps.len().max(1) } else { 1 };
        for steps in steps.chunks(together) {
            let (mut receives, mut sends) = (Vec::new(), Vec::new());
            for (from, tag) in steps.iter().filter_map(|step| step.from) {
                receives.push((from, mpi.irecv(from, tag, size).await));
            }
            for (to, tag) in steps.iter().filter_map(|step| step.to) {
                match self {
                    // Senders of short messages would run ahead for ever.
                    Incast => sends.extend(mpi.isend_synchronous(to, tag, size).await),
                    _ => sends.push(mpi.isend(to, tag, size).await),
                }
            }
            for (from, receive) in receives {
                mpi.wait(receive).await;
                received(from);
            }
            mpi.wait_all(&sends).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_sends_another_receives() {
        for (hosts, per_host) in [(2, 4), (2, 16), (4, 8), (8, 3), (64, 64)] {
            for (name, pattern) in Pattern::ALL {
                let mut sent = Vec::new();
                let mut received = Vec::new();
                for rank in 0..hosts * per_host {
                    let steps = pattern.steps((hosts, per_host), rank);
                    sent.extend(steps.iter().filter_map(|step| step.to).map(|(to, tag)| (rank, to, tag)));
                    received.extend(steps.iter().filter_map(|step| step.from).map(|(from, tag)| (from, rank, tag)));
                }
                sent.sort_unstable();
                received.sort_unstable();
                assert!(sent == received && !sent.is_empty(), "{name}, {hosts} hosts of {per_host}");
                sent.dedup();
                assert_eq!(sent.len(), received.len(), "{name}, {hosts} hosts of {per_host}: no message twice");
            }
        }
    }
}
