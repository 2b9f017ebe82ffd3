//! Collective operations over clusters, as schedules.
//!
//! A schedule is a list of steps for one rank: messages, copies, local reductions, and collective operations among the
//! ranks of its own cluster, for which the MPI has its own algorithms. It is a pure function of the operation, of who is
//! in which cluster, of the algorithm and of the rank; it knows nothing of MPI and does no I/O, so one schedule is run
//! over an MPI (`fishplate-interpose`) and in a simulator (`fishplate-sim`).
//!
//! [`choose()`] picks an algorithm from estimates of the network, [`schedule()`] makes the steps of a rank. [`Schedule`]
//! says how to carry them out.
//!
//! ```
//! use fishplate_collectives::{Action, Algorithm, ClusterMap, IntraCluster, Network, Operation, Rank, Wan, choose, schedule};
//!
//! // Two clusters of two ranks, 1 ms apart.
//! let map = ClusterMap::of_clusters(&[0, 0, 1, 1]);
//! let wan = Wan { round_trip_ns: 2_000_000, host_bytes_per_s: 125_000_000, shared_bytes_per_s: None };
//! let network = Network::uniform(2, IntraCluster::UNMEASURED, wan);
//!
//! // What the MPI does by itself comes first, then those that have schedules.
//! let operation = Operation::Allreduce { len: 1, commutative: true };
//! let choice = choose(&operation, 8, &map, &network);
//! assert_eq!(choice.candidates[0].algorithm, Algorithm::Native);
//!
//! // With coordinators, rank 0 speaks for its cluster, by one message.
//! let algorithm = Algorithm::Coordinators { segments: 1 };
//! let steps = schedule(&operation, &map, algorithm, Rank(0), false).unwrap();
//! let sends = steps.steps().iter().filter(|step| matches!(step.action, Action::Send { to: Rank(2), .. }));
//! assert_eq!(sends.count(), 1);
//! ```
//!
//! `examples/broadcast.rs` shows choices for several lengths, and the steps of several ranks.
#![forbid(unsafe_code)]

mod algorithm;
mod buffer;
mod build;
mod choose;
mod map;
mod network;
mod operation;
mod schedule;
mod step;

pub use algorithm::{Algorithm, MAX_SEGMENTS, UNLIMITED_WINDOW};
pub use buffer::{Buffer, Slice};
pub use build::schedule;
pub use choose::{Candidate, Choice, Phase, choose};
pub use map::{Cluster, ClusterMap, LocalRank, Place, Rank};
pub use network::{IntraCluster, Library, Network, Wan};
pub use operation::{Blocks, Exchange, Operation};
pub use schedule::Schedule;
pub use step::{Action, Local, MAX_TAGS, Step, StepId, Tag};
