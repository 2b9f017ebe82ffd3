//! Traces: what each rank of an MPI program did, call by call, and how long it computed in between
//! (docs/guide/trace.md).
//!
//! - [`operation`]: what a call does, without times;
//! - [`duration_code`]: times in one or two bytes;
//! - [`block`]: many calls, compressed;
//! - [`rank_file`]: the file of one rank, and what is not in it yet while the rank runs;
//! - [`write`](mod@write): a rank's file while it grows;
//! - [`read`]: the traces of all ranks, checked.
//! - [`goal`], [`ti`]: programs of others;
//! - [`cycle`]: one iteration of a program, in place of all.
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

/// The variable that names the folder where ranks write their traces.
pub const VARIABLE: &str = "FISHPLATE_TRACE";
