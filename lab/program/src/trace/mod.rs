//! Traces of programs (docs/guide/trace.md), as `fishplate trace` shows them and `fishplate predict` uses them.
//!
//! - [`facts`]: what a trace says of its run;
//! - [`show`]: call by call; [`summary`]: numbers of all ranks; [`export`]: in the formats of others.

pub mod export;
pub mod facts;
pub mod show;
pub mod summary;

pub use facts::{is_oversubscribed, notes, program, ranks_per_host};
