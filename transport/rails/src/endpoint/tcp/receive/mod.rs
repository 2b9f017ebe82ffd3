//! The receive path: data from sockets goes through the link to the engine, which says where each payload belongs.
//!
//! `read` reads the stream of a link, `datagrams` the frames beside it; `process` hands frames to the engine. Payloads are
//! read straight into user memory where that is worth a system call ([`crate::link::ReceiveState`]).
//!
//! Called by the progress loop when the poll set or the active link has something.

mod datagrams;
pub(in crate::endpoint) mod process;
pub(in crate::endpoint) mod read;

/// Reads of one link in one call, at most, so that one busy peer does not keep the others, or the user, waiting.
const MAX_READS: usize = 16;
