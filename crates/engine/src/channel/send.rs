//! A send, from posting to completion.

use super::stripes::Stripes;
use crate::ids::{Context, MessageSeq, VcId};
use crate::memory::{BounceId, Payload};
use crate::request::{Completion, Envelope, Failure, Operation, SendRequest};
use crate::wire::LandingRef;

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
}

impl Source {
    /// Bytes `[from, from + len)`.
    pub fn slice(&self, from: u64, len: u64) -> Source {
        match self {
            Source::User(payload) => Source::User(payload.slice(from, len)),
            Source::Bounce { id, offset, .. } => Source::Bounce { id: *id, offset: offset + from, len },
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Source::User(payload) => payload.len(),
            Source::Bounce { len, .. } => *len,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How far a send has come.
#[derive(Debug)]
pub enum Stage {
    /// Waits for credit or for a subchannel.
    Queued,
    /// The peer has been asked for a clearance.
    Requested,
    /// The peer has said where the bytes go.
    Cleared {
        /// Its name for the place.
        landing: LandingRef,
        /// What is cut and what is not.
        stripes: Stripes,
    },
    /// The one frame of an eager message has been handed to a subchannel.
    Sent,
}

/// A send that has not completed.
#[derive(Debug)]
pub struct Send {
    /// To whom.
    pub vc: VcId,
    /// Its position.
    pub seq: MessageSeq,
    /// Matching space and tag.
    pub envelope: Envelope,
    /// Immediate data.
    pub data: Option<u64>,
    /// The bytes.
    pub source: Source,
    /// The payload was lent only for the duration of the posting call.
    pub inject: bool,
    /// Went, or will go, without a handshake; decided when it leaves the queue.
    pub eager: bool,
    /// How far it has come.
    pub stage: Stage,
    /// The completion filter: frames that are not yet acknowledged.
    pub unacknowledged: u32,
    notify: bool,
    context: Context,
    len: u64,
}

impl Send {
    /// A send that has just been posted.
    pub fn new(request: SendRequest, seq: MessageSeq) -> Self {
        Send {
            vc: request.vc,
            seq,
            envelope: request.envelope,
            data: request.data,
            len: request.payload.len(),
            source: Source::User(request.payload),
            inject: request.inject,
            eager: false,
            stage: Stage::Queued,
            unacknowledged: 0,
            notify: request.notify,
            context: request.context,
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether a completion waits for the acknowledgement.
    pub fn is_awaited(&self) -> bool {
        self.notify
    }

    /// Whether everything was sent and acknowledged.
    pub fn is_delivered(&self) -> bool {
        let all_cut = match &self.stage {
            Stage::Sent => true,
            Stage::Cleared { stripes, .. } => stripes.remaining() == 0,
            Stage::Queued | Stage::Requested => false,
        };
        all_cut && self.unacknowledged == 0
    }

    /// The buffer that holds a copy of its payload, if there is one.
    pub fn bounce(&self) -> Option<BounceId> {
        match self.source {
            Source::Bounce { id, .. } => Some(id),
            Source::User(_) => None,
        }
    }

    /// What to tell the user at the end; nothing for a success that nobody asked to hear of.
    pub fn completion(&self, result: Result<(), Failure>) -> Option<Completion> {
        let reported = self.notify || (result.is_err() && !self.inject);
        reported.then_some(Completion {
            context: self.context,
            operation: Operation::Send,
            envelope: self.envelope,
            data: None,
            len: self.len,
            source: None,
            placed: None,
            buffer_released: false,
            result,
        })
    }
}
