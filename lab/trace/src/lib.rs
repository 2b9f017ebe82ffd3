//! Traces: the MPI calls of each rank of a program, and the computation between them (docs/guide/trace.md).
//!
//! - [`operation`]: what a call does, without times;
//! - [`duration_code`]: durations in one or two bytes;
//! - [`block`]: compressed blocks of calls;
//! - [`rank_file`]: layout of the file of one rank, and of the tail that is not in it yet while the rank runs;
//! - [`write`](mod@write): writes a rank's file;
//! - [`read`]: reads and checks the traces of all ranks;
//! - [`goal`], [`ti`]: formats of other programs;
//! - [`cycle`]: one iteration of a program, standing for all.
#![forbid(unsafe_code)]

pub mod block;
pub mod cycle;
pub mod duration_code;
pub mod goal;
pub mod operation;
pub mod rank_file;
pub mod read;
pub mod ti;
pub mod write;

pub use operation::{Collective, CollectiveKind, Completed, Epoch, Mode, Operation, Receive, Send, Sizes};
pub use read::{RankTrace, Step, Trace};

/// The environment variable with the folder that ranks write their traces to.
pub const VARIABLE: &str = "FISHPLATE_TRACE";
