//! Violations of the protocol by peers.

/// A violation of the protocol by a peer. It loses its virtual channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolViolation {
    /// It acknowledged what was not sent.
    #[error("it acknowledged frames that were not sent")]
    Acknowledgement,
    /// It returned more credit than it had.
    #[error("it accounted wrongly for credit")]
    Credit,
    /// It left more here than it was granted.
    #[error("it sent more than it was granted")]
    Grant,
    /// It repeated a sequence number, or ran too far ahead.
    #[error("it used a sequence number out of range")]
    Sequence,
    /// It sent a CTS for a message without RTS, or for more than there is.
    #[error("it cleared a message that did not ask for it")]
    ClearToSend,
    /// It sent a piece before its CTS, twice, or outside of its message.
    #[error("it sent a piece of a message at a wrong offset")]
    Stripe,
    /// It refused an access to its memory that it was not asked for, or twice.
    #[error("it refused an access that was not requested")]
    Refusal,
    /// It had more writes in flight than it may.
    #[error("it sent more writes than may be under way")]
    Writes,
    /// It had more atomic operations under way than it may.
    #[error("it sent more atomic operations than may be under way")]
    Atomics,
    /// It said to have applied an operation that it was not asked for.
    #[error("it applied an operation that was not requested")]
    Applied,
    /// It asked for no bytes, to which there is no answer.
    #[error("it requested a read of 0 bytes")]
    EmptyRead,
}
