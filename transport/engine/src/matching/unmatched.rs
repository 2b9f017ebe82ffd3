//! A message without a receive: it came out of order, or is unexpected.

use super::reassembly::Reassembly;
use crate::envelope::Envelope;
use crate::generational_slab::Key;
use crate::ids::{MessageSeq, VcId};
use crate::memory::BounceId;
use crate::wire::SendRef;

/// The received part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The whole message, in a buffer or on its way there.
    Eager {
        /// `None` for an empty message.
        bounce: Option<BounceId>,
        is_complete: bool,
        once_buffered: OnceBuffered,
    },
    /// An RTS, perhaps with early data.
    Rendezvous {
        /// The sender's name for it.
        send: SendRef,
        /// Its sequence number.
        seq: MessageSeq,
        /// Bytes of early data.
        early: u64,
    },
}

/// Action for an eager message once all its bytes are in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceBuffered {
    /// It waits for a receive.
    Wait,
    /// It has matched a receive: key of the reassembly.
    Deliver(Key<Reassembly>),
    /// The user has discarded it.
    Drop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnmatchedMessage {
    pub vc: VcId,
    /// Matching space and tag.
    pub envelope: Envelope,
    /// Immediate data.
    pub data: Option<u64>,
    /// Length in bytes.
    pub len: u64,
    pub content: Content,
    /// Its charge to the peer's grant, in bytes; 0 for an RTS without early data, which is charged elsewhere.
    pub charge: u64,
}
