//! A link over a stream: one proven TCP connection, with datagrams beside it, that is one subchannel.

#[cfg(any(test, feature = "hostile-input"))]
pub mod changed_stream;
mod congestion;
mod datagrams;
mod sequence;
mod stream;

pub use congestion::startup_pacing::StartupPacing;
pub use congestion::{CongestionControl, CongestionPhase, NEAR_RTT_NS};
pub use datagrams::{DatagramKind, Datagrams};
pub use sequence::{Datagram, ReceiveSequence, SendSequence};
pub use stream::kernel_acks::KernelAcks;
pub use stream::receive::{Arrived, CHANGED, ReceiveState, Unreadable};
pub use stream::transfer::{Lent, Moved, StreamTransfer};
pub use stream::transmit::TransmitQueue;
pub use stream::{Filled, Protection};

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;

use fishplate_engine::retire::Retirement;
use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{INTERRUPTION_NS, Instant, Payload, RailId, SubchannelId};
use fishplate_link_core::{BounceBuffers, Common, Counts, Ending, Link, Places};

use crate::discover::Class;
use crate::link::stream::unfinished::UnfinishedRecord;
use crate::link_name::LinkName;
use crate::own_sockets;
use crate::socket::SHORT_SEGMENT;
use crate::sys::bbr::{Bbr, bbr};
use crate::sys::tcp_info::{TcpInfo, tcp_info};

/// State of such a link.
pub struct StreamLink {
    /// Its socket, which a thread that copies a payload shares.
    pub socket: Arc<TcpStream>,
    /// State that links of all kinds have.
    pub common: Common,
    /// The other end.
    pub remote: SocketAddr,
    /// When it came up.
    pub up_since: Instant,
    /// The peer has completed the set-up: it has sent its name over the link.
    pub is_confirmed: bool,
    /// Its name among those of the two endpoints.
    pub name: LinkName,
    /// Its phase in choosing a congestion control.
    pub congestion_phase: CongestionPhase,
    pub transmit: TransmitQueue,
    /// State of its receive path.
    pub receive: ReceiveState,
    /// Queue or receive state that is lent to threads.
    pub lent: Lent,
    /// Sequence numbers of sent frames, and whether they go as datagrams.
    pub send_sequence: SendSequence,
    /// How much of the stream the peer's kernel has acknowledged.
    pub kernel_acks: KernelAcks,
    /// Sequence numbers of received frames.
    pub receive_sequence: ReceiveSequence,
    /// Frames beside the stream, where both sides have them.
    pub datagrams: Option<Box<Datagrams>>,
    /// The socket's buffer was full; the poll set will say when it is writable.
    pub blocked: bool,
    /// It is in the list of links that have something to send.
    pub dirty: bool,
    /// Number of the progress call in which it was read last.
    pub read_in_call: u64,
    /// When it was read or polled last.
    pub polled_at: Instant,
    pub in_poll_set: bool,
    /// The poll set has reported it, and it has not been read since.
    pub read_deferred: bool,
    /// The poll set has reported a hang-up.
    pub hung_up: bool,
    /// Preference of its way: it stands by while a link of a better class carries.
    pub class: Class,
    /// It is an additional stream on trial, and stands by.
    pub is_on_trial: bool,
    /// Its graceful shutdown, if that has begun.
    pub retirement: Retirement,
    /// This side has shut it: nothing more is sent.
    pub is_shut: bool,
    /// It is being read for the last time.
    pub is_ending: bool,
    /// Why its socket cannot be written any more; received data are still read.
    pub broken: Option<String>,
    /// Bytes that had been queued on it at the last sample of the path.
    pub sampled_at_bytes: u64,
    /// Bytes that it had carried both ways at the last check of its use, and when that was.
    pub use_seen: (u64, Instant),
    /// The kernel's data at the last sample.
    pub sampled: TcpInfo,
    /// Bounds the pacing of BBR's Startup.
    pub startup_pacing: StartupPacing,
    /// The kernel retransmits at least every second.
    pub probes_often: bool,
    /// Since when the kernel has been waiting for an answer of the peer's kernel.
    pub unanswered_since: Option<Instant>,
    /// Since when the peer's kernel has acknowledged nothing of what was sent.
    pub stuck_since: Option<Instant>,
    /// The encrypted record that has come in part.
    pub unfinished: UnfinishedRecord,
    /// The part of an endpoint description of the peer that has come.
    pub described: Vec<u8>,
}

/// A link that has carried this number of bytes has carried full segments.
const HAS_LONG_PACKETS: u64 = 1 << 20;

impl StreamLink {
    /// The peer has sent LEAVE for the link. False if it must not.
    pub fn peer_leaves(&mut self) -> bool {
        self.retirement.receive_leave(self.name.is_additional(), !self.name.by_peer)
    }

    /// Whether the peer's kernel has acknowledged something recently. Frames from the peer do not count: paths may fail in one
    /// direction.
    pub fn is_delivering(&self, now: Instant) -> bool {
        self.stuck_since.is_none_or(|since| now.since_ns(since) < INTERRUPTION_NS)
    }

    /// Shuts the sending direction.
    pub fn shut(&mut self) {
        self.is_shut = true;
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Whether neither side sends long segments over it.
    pub fn has_short_segments(&self) -> bool {
        self.sampled.segment_bytes <= SHORT_SEGMENT
    }

    /// Whether its path may be a black hole for long packets: an end's MTU exceeds the path's, and no ICMP errors arrive (RFC 2923,
    /// section 2.1).
    pub fn may_lose_long_packets(&self) -> bool {
        !self.has_short_segments() && self.sampled.acknowledged_bytes + self.common.counts.rx_bytes < HAS_LONG_PACKETS
    }

    /// Retransmits unacknowledged datagrams on the stream. True if there were any.
    pub fn retransmit_datagrams(&mut self) -> bool {
        let Some((resume, numbers)) = self.send_sequence.retransmit() else { return false };
        self.resume(resume);
        for number in numbers {
            self.common.counts.repeated_datagrams += 1;
            self.datagrams.iter_mut().for_each(|datagrams| self.transmit.push_encoded(datagrams.sent_frame(number)));
        }
        true
    }

    /// BBR's state, if the link stays with BBR.
    pub fn bbr(&self) -> Option<Bbr> {
        if matches!(self.congestion_phase, CongestionPhase::Settled) { bbr(self.socket.as_fd()) } else { None }
    }

    /// Says that the stream goes on with frame `number`, if there is one, instead of the frame that the peer expects.
    pub fn resume(&mut self, number: Option<u32>) {
        if let Some(number) = number {
            self.transmit.push_header(&Header::without_acknowledgement(Body::Resume { number }));
        }
    }

    /// A link over a connected, non-blocking socket.
    pub fn new(
        socket: TcpStream,
        protection: Protection,
        subchannel: SubchannelId,
        rail: RailId,
        remote: SocketAddr,
        name: LinkName,
        congestion_phase: CongestionPhase,
    ) -> Self {
        own_sockets::add(&socket);
        let is_checked = matches!(protection, Protection::Checksums);
        let (sealing, opening) = match protection {
            Protection::Encryption(keys) => (Some(keys.sealing), Some(keys.opening)),
            Protection::Checksums | Protection::Nothing => (None, None),
        };
        StreamLink {
            socket: Arc::new(socket),
            common: Common::new(subchannel, rail),
            remote,
            up_since: Instant(0),
            is_confirmed: false,
            name,
            congestion_phase,
            transmit: TransmitQueue::new(sealing, is_checked),
            receive: ReceiveState::new(opening, is_checked),
            lent: Lent::default(),
            send_sequence: SendSequence::default(),
            kernel_acks: KernelAcks::default(),
            receive_sequence: ReceiveSequence::default(),
            datagrams: None,
            blocked: false,
            dirty: false,
            read_in_call: 0,
            polled_at: Instant(0),
            in_poll_set: true,
            read_deferred: false,
            hung_up: false,
            class: Class::Rail,
            is_on_trial: false,
            retirement: Retirement::default(),
            is_shut: false,
            is_ending: false,
            broken: None,
            sampled_at_bytes: 0,
            use_seen: (0, Instant(0)),
            sampled: TcpInfo::default(),
            startup_pacing: StartupPacing::default(),
            probes_often: false,
            unanswered_since: None,
            stuck_since: None,
            unfinished: UnfinishedRecord::default(),
            described: Vec::new(),
        }
    }
}

impl Link for StreamLink {
    #[inline]
    fn common(&self) -> &Common {
        &self.common
    }

    #[inline]
    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    #[inline]
    fn newest_acknowledgement(&mut self, frames: u32, now: Instant) -> u32 {
        self.send_sequence.acknowledged(frames, now)
    }

    fn ending(&self) -> Ending {
        match Ending::of(&self.common, self.receive.is_within_frame()) {
            Ending::Abrupt if self.retirement.is_mutual() => Ending::Retired,
            ending => ending,
        }
    }

    fn is_usable(&self) -> bool {
        !self.retirement.has_begun()
    }

    fn way(&self) -> Option<String> {
        let own = self.socket.local_addr().ok()?.ip();
        Some(format!("{own} to {}", self.remote))
    }

    fn final_counts(&self) -> Counts {
        let counts = self.common.counts;
        let retransmitted = tcp_info(self.socket.as_fd()).map(|info| u64::from(info.retransmitted));
        Counts { retransmitted_segments: retransmitted.unwrap_or(counts.retransmitted_segments), ..counts }
    }

    fn has_waiting(&self) -> bool {
        !self.transmit.is_empty() && !self.is_shut
    }

    /// The kernel has copies of all payloads.
    fn has_lent(&self, _: &Payload) -> bool {
        false
    }

    fn detach(&mut self, ended: &Payload, places: Places<'_>) -> bool {
        if self.transmit.lends(ended) {
            self.lent.end_sending(&mut self.transmit);
        }
        self.transmit.detach(ended, places.memory);
        true
    }

    fn discard(&mut self, _: &mut BounceBuffers) {
        self.lent.end_receiving(&mut self.receive);
        self.receive.discard();
    }

    fn recover(&self, _: u32, _: u64, _: &mut Vec<u8>) -> bool {
        false
    }

    fn send_goodbye(&mut self, bye: &Header, _: Places<'_>) {
        self.retransmit_datagrams();
        self.transmit.push_header(bye);
    }
}
