//! The interface between an endpoint and a link of any kind: one subchannel to a peer.
//!
//! [`Link`] has the operations that all kinds share; set-up, polling and reading of each kind are in `endpoint/` of
//! `fishplate-rails`, under its name.

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Instant, Payload, RailId, SubchannelId};

use crate::bounce_buffers::BounceBuffers;
use crate::sys::memory::UserMemory;

/// State that links of all kinds have.
pub struct Common {
    /// The engine's name for it.
    pub subchannel: SubchannelId,
    /// Its rail, or the number under which its kind is counted.
    pub rail: RailId,
    /// What it has carried so far.
    pub counts: Counts,
    /// The peer has sent its goodbye.
    pub goodbye_received: bool,
    /// This side has sent its goodbye.
    pub goodbye_sent: bool,
}

impl Common {
    /// For a link that has just come up.
    pub fn new(subchannel: SubchannelId, rail: RailId) -> Common {
        Common { subchannel, rail, counts: Counts::default(), goodbye_received: false, goodbye_sent: false }
    }
}

/// A link of any kind. Each has a queue, and delivers every frame that it takes.
pub trait Link {
    /// State that links of all kinds have.
    fn common(&self) -> &Common;

    /// State that links of all kinds have, mutably.
    fn common_mut(&mut self) -> &mut Common;

    /// The newest acknowledgement so far, including the one of a header, `frames`: headers of some kinds come out of order.
    #[inline]
    fn newest_acknowledgement(&mut self, frames: u32, _now: Instant) -> u32 {
        frames
    }

    /// How the peer has ended it, once nothing more will come.
    fn ending(&self) -> Ending;

    /// Whether it has queued frames in this process, which need further calls of the endpoint.
    fn has_waiting(&self) -> bool;

    /// Whether the peer, or a device, may still read `payload` in this process's memory.
    fn has_lent(&self, payload: &Payload) -> bool;

    /// Copies queued bytes in the memory `ended`, which becomes invalid once this returns. False if the peer may still read there
    /// ([`Link::has_lent`]).
    fn detach(&mut self, ended: &Payload, places: Places<'_>) -> bool;

    /// Drops the rest of payloads that are being received: bounce buffers and user memory are not written any more.
    fn discard(&mut self, bounces: &mut BounceBuffers);

    /// Copies the payload, of `len` bytes, of counted frame number `frame`, of which only this link has a copy, as the user got the
    /// memory back when it was sent. Only for kinds with such copies. False if the peer has taken it: `into` then gets zeros.
    fn recover(&self, frame: u32, len: u64, into: &mut Vec<u8>) -> bool;

    /// Sends `bye`, as this side closes. Frames that still come are handled and acknowledged.
    fn send_goodbye(&mut self, bye: &Header, places: Places<'_>);

    /// Whether the engine may send over it: it is not being retired.
    fn is_usable(&self) -> bool {
        true
    }

    /// Its way, for messages, where the name of its rail does not tell it.
    fn way(&self) -> Option<String> {
        None
    }

    /// Its counts at its end.
    fn final_counts(&self) -> Counts {
        self.common().counts
    }

    /// A header has come: counts it, and replaces its acknowledgement by the newest one.
    #[inline]
    fn header_received(&mut self, header: &mut Header, now: Instant) -> SubchannelId {
        header.ack = self.newest_acknowledgement(header.ack, now);
        let common = self.common_mut();
        common.counts.rx_messages += u64::from(carries_data(&header.body));
        common.goodbye_received |= matches!(header.body, Body::Bye);
        common.subchannel
    }

    /// A payload of `len` bytes is in place: counts it.
    #[inline]
    fn payload_received(&mut self, len: u64) -> SubchannelId {
        let common = self.common_mut();
        common.counts.rx_bytes += len;
        common.subchannel
    }

    /// A frame will be sent: counts it.
    #[inline]
    fn count_sent(&mut self, body: &Body, len: u64) {
        let counts = &mut self.common_mut().counts;
        counts.tx_bytes += len;
        counts.tx_messages += u64::from(carries_data(body));
    }
}

/// How a peer has ended a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Both sides have retired it.
    Retired,
    /// After a goodbye of either side, and between two frames.
    InOrder,
    /// In the middle of a frame, or without a goodbye.
    Abrupt,
}

impl Ending {
    /// For a link that is not retired.
    pub fn of(common: &Common, is_within_frame: bool) -> Ending {
        let is_over = common.goodbye_received || common.goodbye_sent;
        if is_over && !is_within_frame { Ending::InOrder } else { Ending::Abrupt }
    }
}

/// The memory of payloads in this process.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// The user's.
    pub memory: &'a UserMemory,
    /// Copies.
    pub bounces: &'a BounceBuffers,
}

/// Counters of one link, by their names in the lines of FISHPLATE_STATS.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Counts {
    /// Payload bytes sent.
    pub tx_bytes: u64,
    /// Messages and stripes sent.
    pub tx_messages: u64,
    /// Payload bytes received.
    pub rx_bytes: u64,
    /// Messages and stripes received.
    pub rx_messages: u64,
    /// TCP segments sent again.
    pub retransmitted_segments: u64,
    /// Frames sent as datagrams.
    pub tx_datagrams: u64,
    /// Those of them that were sent again, over TCP.
    pub repeated_datagrams: u64,
    /// Frames that came with a wrong checksum.
    pub changed_frames: u64,
}

impl Counts {
    /// Adds the counts of another link.
    pub fn add(&mut self, other: &Counts) {
        self.tx_bytes += other.tx_bytes;
        self.tx_messages += other.tx_messages;
        self.rx_bytes += other.rx_bytes;
        self.rx_messages += other.rx_messages;
        self.retransmitted_segments += other.retransmitted_segments;
        self.tx_datagrams += other.tx_datagrams;
        self.repeated_datagrams += other.repeated_datagrams;
        self.changed_frames += other.changed_frames;
    }
}

/// Whether a frame is a message, an access or a piece of one, not protocol.
fn carries_data(body: &Body) -> bool {
    matches!(
        body,
        Body::Eager { .. } | Body::EarlyData { .. } | Body::Stripe { .. } | Body::Write { .. } | Body::Atomic { .. }
    )
}
