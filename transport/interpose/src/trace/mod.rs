//! Traces: all MPI calls of the program, for `fishplate predict` (docs/guide/trace.md).
//!
//! [`crate::ffi`] translates each call to an operation; a [`Tracer`] writes it with the computation before it.
//!
//! - [`stamps`]: computation between calls;
//! - [`slots`]: numbers requests by the lowest free number, so that each iteration of a loop yields equal operations;
//! - [`tracer`]: the trace of this process.

mod slots;
mod stamps;
mod tracer;

pub use stamps::{Stamp, begin_call, end_call, take_computed};
pub use tracer::Tracer;
