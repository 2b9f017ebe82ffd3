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

/// A frame with payload, as the peer would call it if it sent it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Name {
    /// Nothing is on its way.
    #[default]
    None,
    /// A whole message.
    Eager(MessageSeq),
    /// The piece of a message at this offset.
    Piece(MessageSeq, u64),
    /// The same, of what has a landing.
    Stripe(ReceiveRef, u64),
    /// A frame of a write, by number.
    Write(u64),
}

impl Name {
    pub fn of(body: &Body) -> Name {
        match *body {
            Body::Eager { seq, .. } => Name::Eager(seq),
            Body::EarlyData { seq, offset, .. } => Name::Piece(seq, offset),
            Body::Stripe { receive, offset, .. } => Name::Stripe(receive, offset),
            Body::Write { number, .. } => Name::Write(number),
            _ => Name::None,
        }
    }
}

impl Incoming {
    /// Into a buffer, for a message.
    pub fn bounce(&self) -> Option<BounceId> {
        match self.into {
            Target::Piece { bounce, .. } => Some(bounce),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Target {
    /// Nothing that anybody waits for.
    #[default]
    Nothing,
    /// A receive: its landing.
    Reassembly(u64),
    /// A receive, of a piece that is longer than what is wanted of it.
    ReassemblyPart {
        /// The landing.
        reassembly: u64,
        /// Bytes that are wanted.
        wanted: u64,
    },
    /// A piece of a message that has no receive yet.
    Piece {
        /// The message.
        seq: MessageSeq,
        /// Its buffer.
        bounce: BounceId,
    },
    /// A message without a receive.
    UnmatchedMessage(u64),
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
