//! Outgoing frames: a header and where its payload comes from.

use super::VirtualChannel;
use super::subchannel::FrameOwner;
use crate::ids::SubchannelId;
use crate::memory::{BounceId, Payload};
use crate::time::Instant;
use crate::wire::{Body, Header, MAX_HEADER_LEN};

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
    /// What the driver has sent in memory, for so long as the peer has not taken it: nobody else has these bytes. Frames of
    /// such a source are sent only once they are [recovered](crate::Engine::recover).
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

/// A frame for the driver to send.
#[derive(Clone, Debug)]
pub struct Transmit {
    /// Over which subchannel.
    pub subchannel: SubchannelId,
    /// Its header.
    pub header: Header,
    /// Its payload.
    pub source: Source,
    /// The payload is valid only now: copy it before returning to the user.
    pub copy: bool,
}

/// No payload.
pub(super) const NO_PAYLOAD: Source = Source::User(Payload::EMPTY);

impl VirtualChannel {
    /// A frame of `owner` over subchannel `index`.
    pub(in crate::channel) fn frame(
        &mut self,
        now: Instant,
        index: usize,
        body: Body,
        source: Source,
        owner: FrameOwner,
    ) -> Transmit {
        let header = self.header(now, index, body, source.len(), owner);
        Transmit { subchannel: SubchannelId { vc: self.id, index: index as u8 }, header, source, copy: false }
    }

    /// The header of a frame with a payload of `len` bytes.
    #[inline]
    pub(in crate::channel) fn header(
        &mut self,
        now: Instant,
        index: usize,
        body: Body,
        len: u64,
        owner: FrameOwner,
    ) -> Header {
        let subchannel = &mut self.subchannels[index];
        let (ack, ack_delay_us) = subchannel.take_ack(now);
        if body.is_counted() {
            self.sent_since_padding += MAX_HEADER_LEN as u64 + len;
            subchannel.sent(now, body, owner, MAX_HEADER_LEN as u64 + len);
        } else {
            subchannel.spend(MAX_HEADER_LEN as u64);
        }
        let (said_at_us, credit) = (now.wrapping_us(), self.peer_grant.advertise());
        Header { ack, ack_delay_us, said_at_us, credit, repetition: 0, body }
    }
}
