//! The frames that are being read from a subchannel, and the destinations of their payloads.

use std::collections::VecDeque;

use crate::channel::subchannel::WriteFrame;
use crate::generational_slab::Key;
use crate::ids::MessageSeq;
use crate::matching::reassembly::Reassembly;
use crate::matching::unmatched::UnmatchedMessage;
use crate::memory::BounceId;
use crate::registered_memory::RegionId;
use crate::wire::{Body, ReceiveRef, Urgency};

/// Frames that are being read from a subchannel, in order. Mostly one, which is kept outside of the queue as every short message
/// passes it. Drivers that fetch payloads by remote reads have several under way, and bound their number.
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

/// Identifies a frame with payload across retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Name {
    /// Without payload, or with one that is dropped.
    #[default]
    None,
    /// A whole message.
    Eager(MessageSeq),
    /// The piece of early data at this offset.
    EarlyData(MessageSeq, u64),
    /// The stripe of a reassembly at this offset.
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
    #[inline]
    pub fn push(&mut self, frame: Incoming) {
        match self.oldest {
            None => self.oldest = Some(frame),
            Some(_) => self.others.push_back(frame),
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Incoming> {
        let oldest = self.oldest.take();
        self.oldest = self.others.pop_front();
        oldest
    }

    #[inline]
    pub fn oldest(&self) -> Option<&Incoming> {
        self.oldest.as_ref()
    }

    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.oldest.is_some()) + self.others.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Incoming> {
        self.oldest.iter().chain(self.others.iter())
    }

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
    /// None: the payload is dropped.
    #[default]
    Nothing,
    /// A receive, by its reassembly.
    Reassembly(Key<Reassembly>),
    /// A receive whose buffer ends within this piece.
    ReassemblyPart {
        reassembly: Key<Reassembly>,
        /// Bytes that fit.
        wanted: u64,
    },
    /// A piece of early data of a message that has no receive yet.
    EarlyData { seq: MessageSeq, bounce: BounceId },
    /// A message without a receive.
    Unmatched(Key<UnmatchedMessage>),
    /// Operands of the peer's atomic operation of this number.
    Atomic(u64),
    /// Registered memory.
    Memory {
        region: RegionId,
        /// The frame, as the peer names it.
        frame: WriteFrame,
        /// Immediate data for the user.
        data: Option<u64>,
    },
}
