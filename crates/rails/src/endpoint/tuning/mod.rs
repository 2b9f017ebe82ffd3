//! The upkeep of links that work: what the kernel measures of their paths, and what is done about it.
//!
//! `sampling` reads `TCP_INFO` of each link in use, tells the engine, and calls the others: `window_warm_up` opens
//! congestion and receive windows with padding, `probe_rtt` keeps BBR from emptying a busy path, `parallel_streams` adds and
//! retires connections. The rules themselves are in [`crate::link`] and [`crate::streams`], without I/O.
//!
//! Called by the progress loop every few milliseconds, and by the progress thread for links that are paused.

pub(in crate::endpoint) mod parallel_streams;
mod probe_rtt;
pub(in crate::endpoint) mod sampling;
mod window_warm_up;
