//! Traces: what the program does, call by call, for `fishplate predict` (docs/guide/trace.md).
//!
//! [`crate::ffi`] makes an operation of each call; a [`Tracer`] writes it with the computation before it.
//!
//! - [`stamps`]: computation between calls;
//! - [`slots`]: requests by small numbers, so that a loop does the same each time;
//! - [`thread_number`]: threads that call;
//! - [`memory`]: what is not in the file yet;
//! - [`tracer`]: the trace of this process.

mod memory;
mod slots;
mod stamps;
mod thread_number;
mod tracer;

pub use stamps::{Stamp, begin_call, end_call, take_computed};
pub use tracer::Tracer;
