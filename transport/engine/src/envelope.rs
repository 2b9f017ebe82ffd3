//! The envelope of a message, by which it is matched.

/// The matching space and, within the tagged one, the tag of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// Untagged: matches untagged receives in order (libfabric: `FI_MSG`).
    Message,
    /// Tagged (libfabric: `FI_TAGGED`).
    Tagged(u64),
}

impl Envelope {
    /// The tag; 0 for an untagged message.
    #[inline]
    pub fn tag(self) -> u64 {
        match self {
            Envelope::Message => 0,
            Envelope::Tagged(tag) => tag,
        }
    }
}
