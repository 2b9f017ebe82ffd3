//! The frame that is being read from a subchannel, and where its payload goes.

use crate::ids::MessageSeq;
use crate::memory::BounceId;
use crate::registered_memory::RegionId;
use crate::wire::{Body, ReceiveRef, SendRef, Urgency};

/// What is being read from a subchannel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Incoming {
    pub into: Target,
    pub name: Name,
    pub repetition: u8,
    pub len: u64,
    pub urgency: Urgency,
}

/// What identifies a frame with payload when it is retransmitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Name {
    /// None: no payload is being read, or it is dropped.
    #[default]
    None,
    /// A whole message.
    Eager(MessageSeq),
    /// The piece of early data at this offset.
    EarlyData(MessageSeq, u64),
    /// The stripe at this offset, of what has a reassembly.
    Stripe(ReceiveRef, u64),
    /// A frame of a write, by number.
    Write(u64),
}

impl Name {
    pub fn of(body: &Body) -> Name {
        match *body {
            Body::Eager { seq, .. } => Name::Eager(seq),
            Body::EarlyData { seq, offset, .. } => Name::EarlyData(seq, offset),
            Body::Stripe { receive, offset, .. } => Name::Stripe(receive, offset),
            Body::Write { number, .. } => Name::Write(number),
            _ => Name::None,
        }
    }
}

impl Incoming {
    /// Whether no payload is being read.
    pub fn is_nothing(&self) -> bool {
        self.name == Name::None && matches!(self.into, Target::Nothing)
    }

    /// The buffer into which early data are being read.
    pub fn bounce(&self) -> Option<BounceId> {
        match self.into {
            Target::EarlyData { bounce, .. } => Some(bounce),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Target {
    /// It is dropped.
    #[default]
    Nothing,
    /// A receive: its reassembly.
    Reassembly(u64),
    /// A receive, whose buffer ends within this piece.
    ReassemblyPart {
        /// The reassembly.
        reassembly: u64,
        /// Bytes that are wanted.
        wanted: u64,
    },
    /// A piece of early data of a message that has no receive yet.
    EarlyData {
        /// The message.
        seq: MessageSeq,
        /// Its buffer.
        bounce: BounceId,
    },
    /// A message without a receive.
    Unmatched(u64),
    /// Registered memory.
    Memory {
        /// Which.
        region: RegionId,
        /// Number of the frame, and the peer's name for the write.
        write: (u64, SendRef),
        /// What the user is told of it.
        data: Option<u64>,
    },
}
