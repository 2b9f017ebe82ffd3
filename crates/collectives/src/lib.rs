//! Collective operations over clusters, as schedules.
//!
//! A schedule is a list of steps for one rank: messages, copies, local reductions, and collective operations among the
//! ranks of its own cluster, for which the MPI has its own algorithms. It is a pure function of the operation, of who is
//! in which cluster, of the algorithm and of the rank; it knows nothing of MPI and does no I/O, so the same one is run
//! over an MPI and in a simulator.
//!
//! [`choose`] picks an algorithm from estimates of the network, [`schedule()`] makes the steps of a rank.
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
