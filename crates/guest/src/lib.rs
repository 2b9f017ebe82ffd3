//! What a library needs that is a guest in an MPI process: lines on the error output, and threads that get no signals.

#![forbid(unsafe_code)]

mod signals;
mod stderr;

pub use signals::without_signals;
pub use stderr::report;
