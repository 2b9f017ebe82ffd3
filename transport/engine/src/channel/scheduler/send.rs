//! A send, from posting to completion.

use super::stripes::Stripes;
use crate::atomic::Atomic;
use crate::envelope::Envelope;
use crate::generational_slab::Key;
use crate::ids::{Context, MessageSeq, VcId};
use crate::memory::{BounceId, Payload, Source};
use crate::registered_memory::RegionId;
use crate::request::{Completion, Failure, Operation, Remote, SendRequest, WriteRequest};
use crate::wire::{Body, ReceiveRef, SendRef};

/// An atomic operation on the peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicSend {
    /// Where the array begins.
    pub to: Remote,
    pub what: Atomic,
    /// This side's name for the operation: the key of its reassembly.
    pub operation: ReceiveRef,
}

/// State of a send at the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A message, with its sequence number.
    Message(MessageSeq),
    /// A write into the peer's memory.
    Write(Remote),
    /// The response to a read of this memory by the peer.
    ReadResponse(RegionId),
    /// An atomic operation. Its reassembly completes; the send only keeps the operands until they are acknowledged.
    Atomic(AtomicSend),
    /// The result of an atomic operation of the peer.
    AtomicResult,
}

/// Where the peer puts bytes.
#[derive(Clone, Copy, Debug)]
pub enum Destination {
    /// Not known before the CTS. Early data name the message by its sequence number.
    Announced,
    /// A receive, read or atomic operation of the peer.
    Receive(ReceiveRef),
    /// Registered memory.
    Memory(Remote),
}

impl Destination {
    /// The frame with `len` bytes, from `offset` on, of send `key`, that is message `seq`.
    pub fn frame(&self, key: Key<Send>, seq: MessageSeq, offset: u64, len: u32) -> Body {
        match *self {
            Destination::Receive(receive) => Body::Stripe { receive, offset, len },
            Destination::Announced => Body::EarlyData { seq, offset, len },
            Destination::Memory(Remote { key: memory, address }) => {
                // An overflowing address is out of the peer's bounds: it refuses the operation.
                let address = address.saturating_add(offset);
                Body::Write { write: SendRef(key.number()), key: memory, address, data: None, number: 0, len }
            }
        }
    }
}

/// How far a send has come.
#[derive(Debug)]
pub enum Stage {
    /// Waits for credit or for a subchannel.
    Queued,
    /// It is sent in pieces. Bytes beyond the early data wait for the CTS.
    Cut { to: Destination, stripes: Stripes },
    /// A subchannel has taken the only, or last, frame.
    Sent,
}

/// A send that has not completed.
#[derive(Debug)]
pub struct Send {
    pub vc: VcId,
    pub purpose: Purpose,
    /// Matching space and tag.
    pub envelope: Envelope,
    /// Immediate data.
    pub data: Option<u64>,
    /// The peer has refused it.
    pub failure: Option<Failure>,
    pub source: Source,
    /// The payload is valid only during the posting call, or the user owns it again already.
    pub inject: bool,
    pub stage: Stage,
    /// Its RTS is not sent yet. No piece may go before the RTS, or the send could complete before it.
    pub awaits_announcement: bool,
    /// It is a response to a read whose memory is no longer registered.
    pub source_ended: bool,
    /// Number of unacknowledged frames; the send completes at 0.
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
            purpose: Purpose::Message(seq),
            envelope: request.envelope,
            data: request.data,
            failure: None,
            len: request.payload.len(),
            source: Source::User(request.payload),
            inject: request.inject,
            stage: Stage::Queued,
            awaits_announcement: false,
            source_ended: false,
            unacknowledged: 0,
            notify: request.notify,
            context: request.context,
        }
    }

    /// A write that has just been posted; `whole`: it goes in one frame.
    pub fn write(request: WriteRequest, whole: bool) -> Self {
        let WriteRequest { vc, to, data, payload, inject, notify, context } = request;
        let message = SendRequest { vc, envelope: Envelope::Message, data, payload, inject, notify, context };
        let mut send = Send::new(message, MessageSeq::default());
        send.purpose = Purpose::Write(to);
        if !whole {
            send.stage = Stage::Cut { to: Destination::Memory(to), stripes: Stripes::all_allowed(send.len) };
        }
        send
    }

    /// The response to a read of the peer of `vc`: `source`, out of `region`.
    pub fn read_response(vc: VcId, region: RegionId, source: Payload, receive: ReceiveRef) -> Self {
        let silent = Send::silent(vc, source);
        let stage = Stage::Cut { to: Destination::Receive(receive), stripes: Stripes::all_allowed(silent.len) };
        Send { purpose: Purpose::ReadResponse(region), stage, ..silent }
    }

    /// An atomic operation that has just been posted.
    pub fn atomic(vc: VcId, atomic: AtomicSend, payload: Payload) -> Self {
        Send { purpose: Purpose::Atomic(atomic), inject: true, ..Send::silent(vc, payload) }
    }

    /// The result of an atomic operation of the peer of `vc`: `len` bytes in a buffer.
    pub fn atomic_result(vc: VcId, id: BounceId, len: u64, operation: ReceiveRef) -> Self {
        Send {
            purpose: Purpose::AtomicResult,
            stage: Stage::Cut { to: Destination::Receive(operation), stripes: Stripes::all_allowed(len) },
            source: Source::Bounce { id, offset: 0, len },
            len,
            ..Send::silent(vc, Payload::EMPTY)
        }
    }

    /// A send without completion for the user.
    fn silent(vc: VcId, payload: Payload) -> Self {
        let (envelope, context) = (Envelope::Message, Context(0));
        let message = SendRequest { vc, envelope, data: None, payload, inject: false, notify: false, context };
        Send::new(message, MessageSeq::default())
    }

    /// A message that went whole over shared memory, from the body of its frame: the only copy of its payload is the one there.
    pub fn of_frame(vc: VcId, body: &Body) -> Option<Self> {
        let Body::Eager { seq, envelope, data, len, .. } = *body else { return None };
        let (payload, context) = (Payload::EMPTY, Context(0));
        let request = SendRequest { vc, envelope, data, payload, inject: true, notify: false, context };
        let len = u64::from(len);
        let source = if len > 0 { Source::Sent { len } } else { Source::User(Payload::EMPTY) };
        Some(Send { source, len, stage: Stage::Sent, unacknowledged: 1, ..Send::new(request, seq) })
    }

    pub fn is_write(&self) -> bool {
        matches!(self.purpose, Purpose::Write(_))
    }

    /// Whether a write was sent in pieces and has immediate data, which takes a frame of its own.
    pub fn needs_immediate_data_frame(&self) -> bool {
        let in_pieces = matches!(self.stage, Stage::Cut { .. });
        self.is_write() && in_pieces && self.data.is_some() && self.failure.is_none()
    }

    /// All pieces are acknowledged; one more frame, without payload, follows. Returns the stripes.
    pub fn take_stripes(&mut self) -> Option<Stripes> {
        self.source = Source::User(Payload::EMPTY);
        match std::mem::replace(&mut self.stage, Stage::Queued) {
            Stage::Cut { stripes, .. } => Some(stripes),
            _ => None,
        }
    }

    /// Its sequence number, if it is a message.
    pub fn seq(&self) -> MessageSeq {
        match self.purpose {
            Purpose::Message(seq) => seq,
            _ => MessageSeq::default(),
        }
    }

    /// Where the peer wants the bytes of a response to a read.
    pub fn receive(&self) -> ReceiveRef {
        match self.stage {
            Stage::Cut { to: Destination::Receive(receive), .. } => receive,
            _ => ReceiveRef::NONE,
        }
    }

    /// Cuts no more pieces. Returns the number of bytes that are left out.
    pub fn stop(&mut self) -> u64 {
        match &mut self.stage {
            Stage::Cut { stripes, .. } => stripes.stop(),
            _ => 0,
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether a completion waits for the acknowledgement.
    pub fn wants_completion(&self) -> bool {
        self.notify
    }

    /// Whether subchannels have taken all of it.
    pub fn is_fully_sent(&self) -> bool {
        match &self.stage {
            Stage::Sent => true,
            Stage::Cut { stripes, .. } => stripes.remaining() == 0,
            Stage::Queued => false,
        }
    }

    /// Whether everything was sent and acknowledged.
    pub fn is_delivered(&self) -> bool {
        self.is_fully_sent() && self.unacknowledged == 0
    }

    /// The user gets the memory back before the acknowledgement. Returns the completion to report.
    pub fn complete(&mut self) -> Option<Completion> {
        let completion = self.completion(Ok(()));
        (self.notify, self.inject) = (false, true);
        completion
    }

    /// Whether it is the response to a read of the peer's.
    pub fn is_response(&self) -> bool {
        matches!(self.purpose, Purpose::ReadResponse(_))
    }

    /// The buffer that holds a copy of its payload, if there is one.
    pub fn bounce(&self) -> Option<BounceId> {
        match self.source {
            Source::Bounce { id, .. } => Some(id),
            Source::User(_) | Source::Sent { .. } | Source::Padding { .. } => None,
        }
    }

    /// The completion to report; `None` for a success without `notify`.
    pub fn completion(&self, result: Result<(), Failure>) -> Option<Completion> {
        let operation = match self.purpose {
            Purpose::Message(_) => Operation::Send,
            Purpose::Write(_) => Operation::Write,
            Purpose::ReadResponse(_) | Purpose::Atomic(_) | Purpose::AtomicResult => return None,
        };
        // The failure of an injected message is not reported, that of an injected write is.
        let reported = self.notify || (result.is_err() && (!self.inject || self.is_write()));
        reported.then_some(Completion {
            context: self.context,
            operation,
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
