//! A message that has come without finding its receive: too early for its turn, or for the user.

use crate::envelope::Envelope;
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
    /// A request, and what comes of the message without a clearance.
    Rendezvous {
        /// The sender's name for it.
        send: SendRef,
        /// Its position.
        seq: MessageSeq,
        /// Bytes that come without a clearance.
        early: u64,
    },
}

/// What happens to an eager message once its bytes are in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceBuffered {
    /// It waits for a receive.
    Wait,
    /// A receive has taken it: key of the landing.
    Deliver(u64),
    /// The user does not want it.
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
    /// Of a message with payload: what it holds of the peer's grant.
    pub charge: u64,
}
