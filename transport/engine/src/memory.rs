//! Memory as descriptors. The engine decides where bytes go; only a driver accesses them.

use crate::atomic::Atomic;
use crate::ids::SubchannelId;

/// A piece of user memory known to the driver: an address in a real driver, an index in a simulated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region(pub u64);

/// `len` bytes of `region`, starting `offset` bytes into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// The memory that this is a part of.
    pub region: Region,
    /// First byte, counted from the start of the region.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

impl Extent {
    /// Bytes `[from, from + len)` of this extent. Clamped to its end.
    #[inline]
    pub fn slice(self, from: u64, len: u64) -> Extent {
        let from = from.min(self.len);
        Extent { region: self.region, offset: self.offset + from, len: len.min(self.len - from) }
    }
}

/// The memory of one operation: one extent, or several that follow each other (libfabric: an iovec).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// One contiguous piece; the usual case, without allocation.
    One(Extent),
    /// Several pieces, in order.
    Many(Box<[Extent]>),
}

impl Payload {
    /// No bytes at all.
    pub const EMPTY: Payload = Payload::whole(Region(0), 0);

    /// A region of `len` bytes.
    pub const fn whole(region: Region, len: u64) -> Payload {
        Payload::One(Extent { region, offset: 0, len })
    }

    /// The pieces, in order.
    #[inline]
    pub fn extents(&self) -> &[Extent] {
        match self {
            Payload::One(extent) => std::slice::from_ref(extent),
            Payload::Many(extents) => extents,
        }
    }

    /// Length in bytes of all pieces together.
    #[inline]
    pub fn len(&self) -> u64 {
        match self {
            Payload::One(extent) => extent.len,
            Payload::Many(extents) => extents.iter().map(|extent| extent.len).sum(),
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes `[from, from + len)` of the whole. Clamped to its end.
    pub fn slice(&self, from: u64, len: u64) -> Payload {
        match self {
            Payload::One(extent) => Payload::One(extent.slice(from, len)),
            Payload::Many(extents) => {
                let (mut skip, mut left) = (from, len);
                let mut out = Vec::new();
                for extent in extents {
                    let part = extent.slice(skip, left);
                    skip -= skip.min(extent.len);
                    left -= part.len;
                    if part.len > 0 {
                        out.push(part);
                    }
                }
                if out.len() == 1 { Payload::One(out[0]) } else { Payload::Many(out.into()) }
            }
        }
    }
}

/// Names a bounce buffer of the driver: a copy of a payload whose user memory is not known yet, or not available any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BounceId(pub u32);

/// An atomic operation that the driver is asked to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ApplyId(pub u64);

/// Destination of the payload that follows a header. Bytes beyond the destination's length are dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Straight into user memory.
    User(Payload),
    /// Into a new buffer of the driver, of the payload's length, under this name.
    Bounce(BounceId),
    /// Nowhere: it is dropped.
    Discard,
}

/// A request of the engine to the driver about memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryAction {
    /// Copy user memory into a new bounce buffer.
    Fill {
        /// Destination, of the source's length.
        into: BounceId,
        /// Source.
        from: Payload,
    },
    /// Copy the start of a bounce buffer into user memory, as much as fits.
    Copy {
        /// Source.
        from: BounceId,
        /// Destination.
        to: Payload,
    },
    /// Apply an atomic operation to user memory, then call [`crate::Engine::applied`]. No other access may come between its read and
    /// its write of an element.
    Apply {
        /// To be passed to [`crate::Engine::applied`].
        id: ApplyId,
        /// The operation.
        what: Atomic,
        /// The array.
        to: Payload,
        /// Operands, and comparands behind these.
        operands: Option<BounceId>,
        /// A new bounce buffer for the result, to be opened even where the operation is refused.
        result: Option<BounceId>,
    },
    /// The bounce buffer is no longer needed.
    Release(BounceId),
    /// Drop the rest of the payload that is being read from this subchannel.
    Discard(SubchannelId),
    /// This memory becomes invalid: copy the parts of it that polled frames which are not sent yet refer to.
    Detach(Payload),
}

/// Where a frame's payload comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// User memory.
    User(Payload),
    /// A part of a bounce buffer.
    Bounce {
        /// Which one.
        id: BounceId,
        /// First byte.
        offset: u64,
        /// Length in bytes.
        len: u64,
    },
    /// Shared memory, where the driver put the only copy of these bytes and the peer has not taken them yet. Frames of such a source
    /// can be retransmitted only once they are [recovered](crate::Engine::recover).
    Sent {
        /// Length in bytes.
        len: u64,
    },
    /// Zeros.
    Padding {
        /// Length in bytes.
        len: u64,
    },
}

impl Source {
    /// Bytes `[from, from + len)`.
    pub fn slice(&self, from: u64, len: u64) -> Source {
        match self {
            Source::User(payload) => Source::User(payload.slice(from, len)),
            Source::Bounce { id, offset, .. } => Source::Bounce { id: *id, offset: offset + from, len },
            Source::Sent { .. } => Source::Sent { len },
            Source::Padding { .. } => Source::Padding { len },
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Source::User(payload) => payload.len(),
            Source::Bounce { len, .. } | Source::Sent { len } | Source::Padding { len } => *len,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
