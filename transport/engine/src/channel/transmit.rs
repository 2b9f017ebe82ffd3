//! Outgoing frames.

use super::VirtualChannel;
use super::subchannel::{AckFields, FrameOwner};
use crate::ids::SubchannelId;
use crate::memory::{Payload, Source};
use crate::time::Instant;
use crate::wire::{Body, Header, MAX_HEADER_LEN};

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
        let AckFields { frames: ack, delay_us: ack_delay_us } = subchannel.take_ack(now);
        if body.is_counted() {
            self.sent_since_padding = self.sent_since_padding.saturating_add(MAX_HEADER_LEN as u32 + len as u32);
            subchannel.sent(now, body, owner, MAX_HEADER_LEN as u64 + len);
        } else {
            subchannel.spend(MAX_HEADER_LEN as u64);
        }
        let (sent_at_us, credit) = (now.wrapping_us(), self.peer_grant.advertise());
        Header { ack, ack_delay_us, sent_at_us, credit, repetition: 0, body }
    }
}
