//! Identifiers and sequence numbers. Newtypes, so that one kind cannot be passed for another.

/// A virtual channel: everything between this endpoint and one peer endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VcId(pub u32);

/// A rail of this node, in the order in which the driver found them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RailId(pub u8);

/// A subchannel: one ordered reliable flow of a virtual channel over one rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubchannelId {
    /// The virtual channel that owns the subchannel.
    pub vc: VcId,
    /// Position within the virtual channel, in order of arrival.
    pub index: u8,
}

/// The user's name for an operation: returned unchanged in its completion (libfabric: `context`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Context(pub u64);

/// Position of a message in its virtual channel (the papers' packet sequence number). Wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct MessageSeq(pub u32);

impl MessageSeq {
    /// The following position.
    pub fn next(self) -> Self {
        MessageSeq(self.0.wrapping_add(1))
    }

    /// How far `self` lies ahead of `earlier`, modulo 2^32.
    pub fn distance_from(self, earlier: MessageSeq) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}
