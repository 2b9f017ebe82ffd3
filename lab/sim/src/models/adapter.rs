//! The sending side of an adapter: flows take turns, and its memory holds a few pieces.

use std::collections::VecDeque;

use super::flow::FlowId;

/// An adapter that sends.
#[derive(Debug)]
pub struct Adapter {
    /// Bytes that it may have fetched from the host and not sent yet.
    pub memory_bytes: u64,
    /// Bytes that it has.
    pub fetched: u64,
    /// Bytes that it has sent so far.
    pub sent: u64,
    /// Flows that may have something to send, in turn.
    pub round: VecDeque<FlowId>,
}

impl Adapter {
    /// An adapter with this size of memory for outgoing data.
    pub fn new(memory_bytes: u64) -> Self {
        Adapter { memory_bytes, fetched: 0, sent: 0, round: VecDeque::new() }
    }

    /// Whether a piece of `bytes` can be fetched. One always can, and a second one while the first is being sent.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.fetched <= bytes || self.fetched + bytes <= self.memory_bytes
    }
}
