//! What subchannels that have failed or retired leave behind in their channel.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::channel::scheduler::send::Send;
use crate::channel::subchannel::Frame;
use crate::generational_slab::Key;
use crate::matching::reassembly::Reassembly;
use crate::matching::unmatched::UnmatchedMessage;
use crate::rare::Empty;
use crate::time::Instant;

/// An eager message whose payload was cut off by a failure: it will be retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptedMessage {
    /// It has a receive: key of the reassembly.
    Reassembly(Key<Reassembly>),
    /// It has none: key of the unmatched message.
    Unmatched(Key<UnmatchedMessage>),
}

/// Nothing in a channel of which no subchannel has ended yet.
#[derive(Default)]
pub struct LeftBehind {
    /// Frames that were not acknowledged over subchannels that have failed.
    pub(in crate::channel) retransmit_queue: VecDeque<Frame>,
    /// Messages that were assigned to subchannels that have failed or retire: keys of sends.
    pub(in crate::channel) to_reassign: VecDeque<Key<Send>>,
    /// Why subchannels have failed.
    pub(in crate::channel) causes: Vec<Arc<str>>,
    /// When the peer counts as lost if no subchannel comes up.
    pub peer_timeout_at: Option<Instant>,
    /// Eager messages whose payload was cut off by a failure, by sequence number.
    pub interrupted: BTreeMap<u32, InterruptedMessage>,
}

impl Empty for LeftBehind {
    const EMPTY: &'static Self = &LeftBehind {
        retransmit_queue: VecDeque::new(),
        to_reassign: VecDeque::new(),
        causes: Vec::new(),
        peer_timeout_at: None,
        interrupted: BTreeMap::new(),
    };
}
