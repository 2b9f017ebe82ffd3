//! A message without a receive: it came out of order, or is unexpected.

use super::reassembly::Reassembly;
use crate::envelope::Envelope;
use crate::generational_slab::Key;
use crate::ids::{MessageSeq, VcId};
use crate::memory::BounceId;
use crate::wire::SendRef;

/// What the peer has sent of the message so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// All of it, into a buffer; none for an empty message.
    Eager {
        /// The buffer.
        bounce: Option<BounceId>,
        /// Whether its bytes are there.
        is_complete: bool,
        /// What happens when they are.
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

/// What happens to an eager message once its bytes are in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceBuffered {
    /// It waits for a receive.
    Wait,
    /// It has matched a receive: key of the reassembly.
    Deliver(Key<Reassembly>),
    /// The user has discarded it.
    Drop,
}

/// The message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnmatchedMessage {
    /// From whom.
    pub vc: VcId,
    /// Matching space and tag.
    pub envelope: Envelope,
    /// Immediate data.
    pub data: Option<u64>,
    /// Length in bytes.
    pub len: u64,
    /// What is here.
    pub content: Content,
    /// What it holds of the peer's grant, in bytes; 0 for an RTS without early data, which is charged elsewhere.
    pub charge: u64,
}
