//! The receive side of a virtual channel: messages that come out of order, and early data.
//!
//! Messages of one sender match in the order in which they were posted, whatever subchannels they come over. [`reorder`]
//! buffers messages that are early, [`early_data`] the pieces that arrive before their message has a receive. [`atomics`]
//! puts atomic operations in order.
//! Called by `engine/receive.rs` and the files that it calls; nothing here knows of subchannels.

pub mod atomics;
pub mod early_data;
pub mod reorder;
