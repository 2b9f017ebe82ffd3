//! The frames that are being read from a subchannel, and where their payloads go.

use std::collections::VecDeque;

use crate::channel::subchannel::WriteFrame;
use crate::generational_slab::Key;
use crate::ids::MessageSeq;
use crate::matching::reassembly::Reassembly;
use crate::matching::unmatched::UnmatchedMessage;
use crate::memory::BounceId;
use crate::registered_memory::RegionId;
use crate::wire::{Body, ReceiveRef, Urgency};

/// What is being read from a subchannel, in the order of its frames: mostly one, which every short message passes. Drivers
/// that fetch payloads by themselves have several under way, and bound how many.
#[derive(Default)]
pub(super) struct IncomingFrames {
    oldest: Option<Incoming>,
    others: VecDeque<Incoming>,
}

/// A frame that is being read.
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
    /// An atomic operation, by number.
    Atomic(u64),
}

impl Name {
    pub fn of(body: &Body) -> Name {
        match *body {
            Body::Eager { seq, .. } => Name::Eager(seq),
            Body::EarlyData { seq, offset, .. } => Name::EarlyData(seq, offset),
            Body::Stripe { receive, offset, .. } => Name::Stripe(receive, offset),
            Body::Write { number, .. } => Name::Write(number),
            Body::Atomic { number, .. } => Name::Atomic(number),
            _ => Name::None,
        }
    }
}

impl IncomingFrames {
    /// Adds a frame, behind all others.
    #[inline]
    pub fn push(&mut self, frame: Incoming) {
        match self.oldest {
            None => self.oldest = Some(frame),
            Some(_) => self.others.push_back(frame),
        }
    }

    /// Takes the oldest one out.
    #[inline]
    pub fn pop(&mut self) -> Option<Incoming> {
        let oldest = self.oldest.take();
        self.oldest = self.others.pop_front();
        oldest
    }

    /// The oldest one.
    #[inline]
    pub fn oldest(&self) -> Option<&Incoming> {
        self.oldest.as_ref()
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.oldest.is_some()) + self.others.len()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Incoming> {
        self.oldest.iter().chain(self.others.iter())
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Incoming> {
        self.oldest.iter_mut().chain(self.others.iter_mut())
    }
}

impl Incoming {
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
    Reassembly(Key<Reassembly>),
    /// A receive, whose buffer ends within this piece.
    ReassemblyPart {
        /// The reassembly.
        reassembly: Key<Reassembly>,
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
    Unmatched(Key<UnmatchedMessage>),
    /// What the peer's atomic operation of this number needs.
    Atomic(u64),
    /// Registered memory.
    Memory {
        /// Which.
        region: RegionId,
        /// The frame, as the peer names it.
        frame: WriteFrame,
        /// What the user is told of it.
        data: Option<u64>,
    },
}
