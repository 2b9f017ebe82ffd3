//! Frame headers. Encoded, all numbers are little-endian.

use crate::atomic::Atomic;
use crate::envelope::Envelope;
use crate::ids::MessageSeq;

/// Version of the wire format, exchanged when a connection is set up. Peers of unequal versions refuse each other.
pub const VERSION: u16 = 11;

/// Longest encoded header, in bytes.
pub const MAX_HEADER_LEN: usize = 60;

/// Length in bytes of the fields that all headers share, which is the whole header of some kinds.
pub const COMMON_LEN: usize = 20;

/// Length in bytes of headers of whole messages.
pub(super) const EAGER_LEN: usize = COMMON_LEN + 24;

/// Retransmissions of a frame are counted modulo this. A late old copy is behind by far less than half of it.
pub const REPETITIONS: u8 = 16;

/// Names a send of the sender to its peer, in a rendezvous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SendRef(pub u64);

/// Names the destination of stripes (a receive or a read) to the peer that sends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReceiveRef(pub u64);

impl ReceiveRef {
    /// In a CTS: all wanted bytes are early data, none follow it.
    pub const NONE: ReceiveRef = ReceiveRef(0);
    /// In a CTS: there is no receive yet, but the first `len` bytes of the message may come as early data.
    pub const EARLY: ReceiveRef = ReceiveRef(u64::MAX);
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Frames received on this subchannel so far, modulo 2^32.
    pub ack: u32,
    /// Upper bound of the time between the arrival of the newest of them and this header, in microseconds; 65535 for longer.
    pub ack_delay_us: u16,
    /// When this header was made, by the sender's clock, in microseconds, modulo 2^32.
    pub sent_at_us: u32,
    /// Credit granted on this virtual channel so far beside the first grant, in bytes, modulo 2^32.
    pub credit: u32,
    /// Number of times that the frame was sent before, over subchannels that have failed; modulo [`REPETITIONS`].
    pub repetition: u8,
    /// Kind of the frame, with its own fields.
    pub body: Body,
}

/// Kinds of frames. `len` is the payload that follows the header, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A whole message.
    Eager {
        /// Its position in the virtual channel.
        seq: MessageSeq,
        /// Its envelope.
        envelope: Envelope,
        /// Its immediate data.
        data: Option<u64>,
        /// Its length.
        len: u32,
        /// A completion waits for the acknowledgement.
        prompt: bool,
    },
    /// RTS: announces a message in a rendezvous.
    RequestToSend {
        /// Its position in the virtual channel.
        seq: MessageSeq,
        /// Its envelope.
        envelope: Envelope,
        /// Its immediate data.
        data: Option<u64>,
        /// Its length, in bytes; nothing follows this header.
        total: u64,
        /// Number of bytes of its start that come as early data, before the CTS.
        early: u32,
        /// The sender's name for it.
        send: SendRef,
    },
    /// A piece of early data; may overtake the RTS on another subchannel.
    EarlyData {
        /// Position of the message in the virtual channel.
        seq: MessageSeq,
        /// Where in the message it belongs, in bytes.
        offset: u64,
        /// Its length.
        len: u32,
    },
    /// CTS: asks for the first `len` bytes of a message; bytes beyond the early data go to `receive`. With [`ReceiveRef::EARLY`],
    /// another CTS will follow.
    ClearToSend {
        /// From the RTS.
        send: SendRef,
        /// The receiver's name for the destination.
        receive: ReceiveRef,
        /// Bytes wanted; fewer than the message has, where the receive buffer is shorter.
        len: u64,
    },
    /// A piece of a message after its CTS, or of the response to a read.
    Stripe {
        /// From the CTS or the READ.
        receive: ReceiveRef,
        /// Where in the message it belongs, in bytes.
        offset: u64,
        /// Its length.
        len: u32,
    },
    /// Bytes for registered memory of the receiver. They can be placed independently of all other frames.
    Write {
        /// The sender's name for the write, of which this is all or a piece.
        write: SendRef,
        /// Which memory.
        key: u64,
        /// Where in it.
        address: u64,
        /// Immediate data: the write completes at the receiver's user.
        data: Option<u64>,
        /// Its number among the sender's frames of accesses: it is placed once.
        number: u64,
        /// Length.
        len: u32,
    },
    /// Asks for bytes of registered memory; the response comes as stripes.
    Read {
        /// Its number among the sender's frames of accesses: it is answered once.
        number: u64,
        /// The sender's name for the destination.
        receive: ReceiveRef,
        /// Which memory.
        key: u64,
        /// Where in it.
        address: u64,
        /// Bytes wanted.
        len: u64,
    },
    /// An atomic operation on registered memory of the receiver. The payload is its operands.
    Atomic {
        /// Its number among the sender's atomic operations: they are applied in this order, each once.
        number: u64,
        /// The sender's name for it, and for the destination of its result.
        operation: ReceiveRef,
        /// Which memory.
        key: u64,
        /// Where in it.
        address: u64,
        /// The operation.
        what: Atomic,
    },
    /// An atomic operation without a result was applied. (The result of another comes as stripes.)
    Applied {
        /// Which one.
        operation: ReceiveRef,
    },
    /// A write, a read or an atomic operation is not allowed.
    Refused {
        /// Which one.
        what: Access,
        /// Why.
        why: Refusal,
    },
    /// The sender returns unused credit.
    Relinquish {
        /// Bytes returned since the start.
        total: u64,
    },
    /// A probe: is acknowledged at once.
    Ping,
    /// Bytes without meaning: their arrival times measure the rate of a path that nothing else uses. Acknowledged at once.
    Padding {
        /// Its length.
        len: u32,
    },
    /// A pure acknowledgement, with credit. Not itself acknowledged.
    Ack,
    /// The sender is about to close in good order. Not itself acknowledged.
    Bye,
    /// The sender retires this connection: no counted frame from it follows. Not itself acknowledged.
    Leave,
    /// The sender closes this connection, over which nothing is under way, as it needs the descriptor: neither the path nor the
    /// sender has failed. Nothing follows over it from either side. Not itself acknowledged.
    Evict,
    /// Number of the next counted frame over this connection; frames before it went, or go, as datagrams. Between drivers: engines
    /// neither make nor see it. Not itself acknowledged.
    Resume {
        /// Counted frames before it, modulo 2^32.
        number: u32,
    },
    /// The sender takes datagrams beside this connection. Between drivers, as before. Not itself acknowledged.
    Datagrams {
        /// UDP port, at the address of this connection.
        port: u16,
        /// The first 8 bytes of each datagram.
        secret: u64,
        /// Datagrams of the peer have come through.
        received: bool,
    },
    /// The sender, on the same host, offers to share memory. Between drivers, as before. Not itself acknowledged.
    SharedMemory {
        /// Names the socket at which the sender waits for the peer.
        listener: u64,
        /// Secret that the peer has to send there.
        secret: u128,
    },
    /// A part of the description of an endpoint of the sender to which the peer may connect. Between drivers, as before. Not itself
    /// acknowledged.
    Description {
        /// Length of the whole description, in bytes.
        total: u16,
        /// Offset of the part; parts come in order.
        offset: u16,
        /// The part; beyond the end of the description its bytes mean nothing.
        part: [u8; DESCRIPTION_PART],
    },
    /// The sender's rank and host, for messages to users. Between drivers, as before. Not itself acknowledged.
    Name {
        /// Its rank in its job, if it knows it.
        rank: Option<u32>,
        /// The name of its host in UTF-8, cut to this length, or with zeros behind it.
        host: [u8; HOST_NAME_LEN],
    },
}

/// Length of the field for a host's name, in bytes.
pub const HOST_NAME_LEN: usize = 32;

/// Bytes of a description in one header.
pub const DESCRIPTION_PART: usize = 32;

/// A remote memory access, by its initiator's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A write.
    Write(SendRef),
    /// A read or an atomic operation, by its destination.
    Read(ReceiveRef),
}

/// Why an access to registered memory is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No memory is registered under that key any more, or never was.
    #[error("the peer has no memory registered under that key (any more)")]
    Key = 1,
    /// The access reaches beyond the memory.
    #[error("it reaches beyond the peer's registered memory")]
    Bounds = 2,
    /// The memory is not registered for this kind of access.
    #[error("the peer's memory is not registered for such access")]
    Rights = 3,
    /// An array of an atomic operation is not aligned as its type wants.
    #[error("the array is not aligned for its type")]
    Alignment = 4,
}

impl Refusal {
    /// The refusal with this number on the wire.
    pub(super) fn of(number: u64) -> Option<Refusal> {
        let all = [Refusal::Key, Refusal::Bounds, Refusal::Rights, Refusal::Alignment];
        all.into_iter().find(|refusal| *refusal as u64 == number)
    }
}

pub(super) mod kind {
    pub const EAGER: u8 = 1;
    pub const RTS: u8 = 2;
    pub const CTS: u8 = 3;
    pub const STRIPE: u8 = 4;
    pub const ACK: u8 = 5;
    pub const BYE: u8 = 6;
    pub const WRITE: u8 = 7;
    pub const READ: u8 = 8;
    pub const REFUSED: u8 = 9;
    pub const EARLY_DATA: u8 = 10;
    pub const RELINQUISH: u8 = 11;
    pub const PING: u8 = 12;
    pub const LEAVE: u8 = 13;
    pub const RESUME: u8 = 14;
    pub const DATAGRAMS: u8 = 15;
    pub const SHARED_MEMORY: u8 = 16;
    pub const DESCRIPTION: u8 = 17;
    pub const PADDING: u8 = 18;
    pub const NAME: u8 = 19;
    pub const ATOMIC: u8 = 20;
    pub const APPLIED: u8 = 21;
    pub const EVICT: u8 = 22;
}

pub(super) mod flag {
    pub const TAGGED: u8 = 1;
    pub const DATA: u8 = 2;
    pub const PROMPT: u8 = 4;
    /// Of REFUSED: a read or an atomic operation, not a write.
    pub const OF_READ: u8 = 8;
    /// Of DATAGRAMS: datagrams of the peer have come through.
    pub const RECEIVED: u8 = 1;
}

/// How soon a frame should be acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Urgency {
    /// No completion waits for the acknowledgement: it only frees the sender's record of frames in flight.
    #[default]
    Lazy,
    /// A completion waits for the acknowledgement, and the receiver's user may answer with a frame that carries it.
    Prompt,
    /// A completion waits for the acknowledgement, and the receiver's user does not see the frame: no answer will carry it.
    Immediate,
}

impl Body {
    /// Length in bytes of the payload that follows the header.
    #[inline]
    pub fn payload_len(&self) -> u32 {
        match self {
            Body::Eager { len, .. }
            | Body::EarlyData { len, .. }
            | Body::Stripe { len, .. }
            | Body::Write { len, .. }
            | Body::Padding { len } => *len,
            Body::Atomic { what, .. } => what.operands_len() as u32,
            _ => 0,
        }
    }

    /// How soon a packet with this body should be sent.
    pub fn urgency(&self) -> Urgency {
        match self {
            Body::Write { .. } | Body::Padding { .. } => Urgency::Immediate,
            Body::Eager { prompt: true, .. } | Body::EarlyData { .. } | Body::Stripe { .. } => Urgency::Prompt,
            _ => Urgency::Lazy,
        }
    }

    /// Whether the frame counts towards acknowledgements.
    #[inline]
    pub fn is_counted(&self) -> bool {
        !matches!(
            self,
            Body::Ack
                | Body::Bye
                | Body::Leave
                | Body::Evict
                | Body::Resume { .. }
                | Body::Datagrams { .. }
                | Body::SharedMemory { .. }
                | Body::Description { .. }
                | Body::Name { .. }
        )
    }
}

impl Header {
    /// A header without acknowledgement and credit, for frames between drivers.
    pub fn without_acknowledgement(body: Body) -> Header {
        Header { ack: 0, ack_delay_us: 0, sent_at_us: 0, credit: 0, repetition: 0, body }
    }
}
