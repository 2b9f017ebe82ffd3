//! What a message is matched by.

/// The matching space and, within the tagged one, the tag of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// Untagged: matches untagged receives in order (libfabric: `FI_MSG`).
    Message,
    /// Tagged (libfabric: `FI_TAGGED`).
    Tagged(u64),
}
