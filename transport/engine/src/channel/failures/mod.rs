//! Failing subchannels: how they are noticed, and what becomes of what they carried.
//!
//! `detection.rs` watches for progress: it probes a subchannel whose oldest frame is overdue, and reports one that stays
//! silent while the peer answers over others. `failover.rs` takes over what a failed or retired subchannel leaves behind:
//! frames to retransmit, messages to put on another one. Called by `engine/subchannels.rs`, which tells
//! the driver, and by the scheduler, which sends probes and retransmissions.

mod detection;
mod failover;

pub use detection::SILENCE_NS;
pub use failover::{InterruptedMessage, LeftBehind};
