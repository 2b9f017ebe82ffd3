//! Violations of the protocol by peers.

use std::fmt;

/// A violation of the protocol by a peer. It loses its virtual channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolViolation {
    /// It acknowledged what was not sent.
    Acknowledgement,
    /// It granted more credit than it may, or returned more than it had.
    Credit,
    /// It left more here than it was granted.
    Grant,
    /// It repeated a sequence number, or ran too far ahead.
    Sequence,
    /// It sent a CTS for a message without RTS, or for more than there is.
    ClearToSend,
    /// It sent a piece before its CTS, twice, or outside of its message.
    Stripe,
    /// It refused an access to its memory that it was not asked for, or twice.
    Refusal,
    /// It had more writes in flight than it may.
    Writes,
    /// It had more atomic operations under way than it may.
    Atomics,
    /// It said to have applied an operation that it was not asked for.
    Applied,
    /// It asked for no bytes, to which there is no answer.
    EmptyRead,
}

impl fmt::Display for ProtocolViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProtocolViolation::Acknowledgement => "it acknowledged frames that were not sent",
            ProtocolViolation::Credit => "it accounted wrongly for credit",
            ProtocolViolation::Grant => "it sent more than it was granted",
            ProtocolViolation::Sequence => "it used a sequence number out of range",
            ProtocolViolation::ClearToSend => "it cleared a message that did not ask for it",
            ProtocolViolation::Stripe => "it sent a piece of a message out of place",
            ProtocolViolation::Refusal => "it refused an access that it was not asked for",
            ProtocolViolation::Writes => "it sent more writes than may be under way",
            ProtocolViolation::Atomics => "it sent more atomic operations than may be under way",
            ProtocolViolation::Applied => "it applied an operation that it was not asked for",
            ProtocolViolation::EmptyRead => "it asked to read nothing",
        })
    }
}

impl std::error::Error for ProtocolViolation {}
