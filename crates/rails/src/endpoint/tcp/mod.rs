//! Links over TCP: the connections that are up, with what is to be done about each.
//!
//! [`TcpLinks`] keeps lists of the links that have something to send, or wait for something. `send` and `receive` move frames
//! between them and the engine, `transfers` has threads copy long payloads, `poll_set` says which sockets (`socket`) are
//! watched and which one is polled, `tuning` looks after links that work. How they come up and end is in `connections`.
//!
//! What such a link is without an endpoint is in [`crate::link`].

mod links;
mod poll_set;
pub(in crate::endpoint) mod receive;
pub(in crate::endpoint) mod send;
pub(in crate::endpoint) mod socket;
pub(in crate::endpoint) mod transfers;
pub(in crate::endpoint) mod tuning;

pub use links::TcpLinks;
