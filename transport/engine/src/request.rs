//! Requests of an endpoint's user, and their completions.

use crate::atomic::Atomic;
use crate::envelope::Envelope;
use crate::ids::{Context, VcId};
use crate::memory::{Extent, Payload};
use crate::wire::Refusal;

/// Pattern of a receive or a peek.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Matching space and tag.
    pub space: Space,
    /// Only messages of this peer; `None` for any.
    pub source: Option<VcId>,
}

impl Pattern {
    /// Any untagged message, of any peer.
    pub const MESSAGE: Pattern = Pattern { space: Space::Message, source: None };

    /// Messages with this tag, of any peer.
    pub fn tagged(tag: u64) -> Pattern {
        Pattern { space: Space::Tagged { tag, ignore: 0 }, source: None }
    }
}

/// A matching space with its criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Any untagged message.
    Message,
    /// Tagged messages whose tag equals `tag` in every bit that is 0 in `ignore`.
    Tagged {
        /// The wanted tag.
        tag: u64,
        /// Bits that do not matter.
        ignore: u64,
    },
}

/// A message to send.
#[derive(Clone, Debug)]
pub struct SendRequest {
    /// The channel to the receiver.
    pub vc: VcId,
    /// Matching space and tag.
    pub envelope: Envelope,
    /// Immediate data that travels with the envelope (libfabric: remote CQ data).
    pub data: Option<u64>,
    /// The bytes. Must stay valid and unchanged until the completion, unless `inject`.
    pub payload: Payload,
    /// The payload may be reused as soon as the call returns; at most `Config::inject_size` bytes.
    pub inject: bool,
    /// Report a successful completion. Errors are reported always.
    pub notify: bool,
    /// Returned in the completion.
    pub context: Context,
}

impl SendRequest {
    /// A message without immediate data, whose success is reported.
    pub fn new(vc: VcId, envelope: Envelope, payload: Payload, context: Context) -> SendRequest {
        SendRequest { vc, envelope, data: None, payload, inject: false, notify: true, context }
    }
}

/// A buffer to receive into.
#[derive(Clone, Debug)]
pub struct RecvRequest {
    /// The messages that match.
    pub pattern: Pattern,
    /// Where to. Must stay valid until the completion.
    pub buffer: Payload,
    /// `Some(min_free)`: a multi-receive buffer (libfabric: `FI_MULTI_RECV`); it takes messages one behind the
    /// other until fewer than `min_free` bytes are left. Must be one extent.
    pub multi_min_free: Option<u64>,
    /// Report a successful completion. Errors are reported always.
    pub notify: bool,
    /// Returned in the completion.
    pub context: Context,
}

impl RecvRequest {
    /// A buffer for one message, whose success is reported.
    pub fn new(pattern: Pattern, buffer: Payload, context: Context) -> RecvRequest {
        RecvRequest { pattern, buffer, multi_min_free: None, notify: true, context }
    }
}

/// A place in memory that a peer has registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The peer's name for the memory.
    pub key: u64,
    /// Address of the first byte, as the peer counts.
    pub address: u64,
}

/// Bytes to write into a peer's registered memory.
#[derive(Clone, Debug)]
pub struct WriteRequest {
    /// Channel to the owner of the memory.
    pub vc: VcId,
    /// Where.
    pub to: Remote,
    /// Immediate data: the write completes at the peer's user, with this value (libfabric: remote CQ data).
    pub data: Option<u64>,
    /// The bytes. Must stay valid and unchanged until the completion, unless `inject`.
    pub payload: Payload,
    /// As for [`SendRequest`].
    pub inject: bool,
    /// Report a successful completion. Errors are reported always.
    pub notify: bool,
    /// Returned in the completion.
    pub context: Context,
}

impl WriteRequest {
    /// A write without immediate data, whose success is reported.
    pub fn new(vc: VcId, to: Remote, payload: Payload, context: Context) -> WriteRequest {
        WriteRequest { vc, to, data: None, payload, inject: false, notify: true, context }
    }
}

/// Bytes to read from a peer's registered memory.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// Channel to the owner of the memory.
    pub vc: VcId,
    /// From where.
    pub from: Remote,
    /// Where to, and how much. Must stay valid until the completion.
    pub buffer: Payload,
    /// Report a successful completion. Errors are reported always.
    pub notify: bool,
    /// Returned in the completion.
    pub context: Context,
}

/// An atomic operation on a peer's registered memory.
#[derive(Clone, Debug)]
pub struct AtomicRequest {
    /// Channel to the owner of the memory.
    pub vc: VcId,
    /// Where the array begins.
    pub to: Remote,
    /// The operation.
    pub what: Atomic,
    /// Operands, and comparands behind these: [`Atomic::operands_len`] bytes, which may be reused as soon as the call returns.
    pub operands: Payload,
    /// Where the result goes: [`Atomic::result_len`] bytes, which must stay valid until the completion.
    pub result: Payload,
    /// Report a successful completion. Errors are reported always.
    pub notify: bool,
    /// Returned in the completion.
    pub context: Context,
}

/// A search in the unexpected messages (libfabric: `FI_PEEK`).
#[derive(Clone, Copy, Debug)]
pub struct PeekRequest {
    /// The messages that match.
    pub pattern: Pattern,
    /// Action for a message found by the peek.
    pub then: PeekAction,
    /// Returned in the completion; also names a claim.
    pub context: Context,
}

/// Action of a successful peek.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeekAction {
    /// Leave it.
    Leave,
    /// Take it out of matching, for a later `claim` with the same context (`FI_CLAIM`).
    Claim,
    /// Drop it (`FI_DISCARD`).
    Discard,
}

/// Which kind of operation a completion ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A send.
    Send,
    /// A receive, or one message into a multi-receive buffer.
    Recv,
    /// A peek.
    Peek,
    /// A write into a peer's memory: it is there.
    Write,
    /// A read of a peer's memory.
    Read,
    /// An atomic operation without a result: it is done.
    Atomic,
    /// An atomic operation with a result, which is there.
    FetchAtomic,
    /// A peer has written into memory of this endpoint and says so by immediate data. Belongs to no request.
    RemoteWrite,
}

/// The end of an operation. Exactly one is reported for each, apart from multi-receive buffers (one a message).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Of the request.
    pub context: Context,
    /// Kind of the completed operation.
    pub operation: Operation,
    /// Envelope of the message; of the request where no message came. Means nothing for remote memory access.
    pub envelope: Envelope,
    /// Immediate data, where the message carried some.
    pub data: Option<u64>,
    /// Bytes sent or received; for a peek, the length of the message. Of a peer's write only if it came in one frame,
    /// or else 0.
    pub len: u64,
    /// Sender of the message; `None` for sends and where no message came.
    pub source: Option<VcId>,
    /// First byte received, where the receive was into one extent.
    pub placed: Option<Extent>,
    /// The multi-receive buffer is used up: no completion of it follows.
    pub buffer_released: bool,
    /// Success, or the cause of the failure.
    pub result: Result<(), Failure>,
}

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The message was longer than the buffer by this number of bytes; its start was received.
    Truncated {
        /// Bytes that did not fit.
        excess: u64,
    },
    /// Cancelled by the user.
    Cancelled,
    /// A peek found nothing.
    NoMessage,
    /// The peer is gone or was never reached; the text names it, its rails, and the cause.
    PeerLost(std::sync::Arc<str>),
    /// The peer does not allow this access to its memory.
    Refused(Refusal),
}
