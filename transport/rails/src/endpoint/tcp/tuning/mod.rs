//! Adaptation of working links to the kernel's measurements of their paths.
//!
//! `sampling` reads `TCP_INFO` of each link in use, tells the engine, and calls the others: `parallel_streams` adds and retires
//! connections. The rules themselves are in [`crate::link`] and [`crate::streams`], without I/O.
//!
//! Called by the progress loop every few milliseconds.

pub(in crate::endpoint) mod parallel_streams;
pub(in crate::endpoint) mod sampling;
