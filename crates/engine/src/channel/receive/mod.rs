//! The receive side of a virtual channel: messages that come out of order, and early data.
//!
//! Messages of one sender match in the order in which they were posted, over whatever subchannel they come. [`reorder`]
//! holds back those that are early, [`early_data`] the pieces that arrive before their message has a receive. [`atomics`]
//! does the first for atomic operations.
//! Called by `engine/receive.rs` and what that calls; nothing here knows of subchannels.

pub mod atomics;
pub mod early_data;
pub mod reorder;
