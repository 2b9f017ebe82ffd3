//! One subchannel: the driver's budget, frames in flight, and acknowledgements in both directions.
//!
//! Called by the scheduler for frames that are sent, by `engine/receive.rs` and `engine/acknowledge.rs` for frames that come. It
//! knows frames, not messages: the sender of a frame names its owner. [`liveness`] tracks progress, `pending_ack` the
//! acknowledgement of received frames.

pub mod liveness;
mod pending_ack;

use std::collections::VecDeque;

use liveness::Liveness;
pub use pending_ack::AckFields;
use pending_ack::{PendingAck, lazy_delay_ns};

use super::path::TimeRange;
use super::path::estimate::{AckArrival, Estimate};
use super::path::peer_clock::{AckTiming, PeerClock};
use super::path::sent_frames::{AckedFrames, SentFrame};
use crate::channel::scheduler::send::Send;
use crate::generational_slab::Key;
use crate::ids::RailId;
use crate::time::{Instant, MaybeInstant};
use crate::wire::{Body, Header, Refusal, SendRef, Urgency};

/// A silence this long, in nanoseconds, is an interruption. Lost packets alone do not cause one: the kernel has retransmitted
/// them twice by then. The peer was stopped, or the path cut, so that frames from before measure no path.
pub const INTERRUPTION_NS: u64 = 1_000_000_000;

/// Owner of a frame in flight, which is notified of its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameOwner {
    /// A message, a write, a response to a read, or a piece of one.
    Send {
        /// The send's key.
        key: Key<Send>,
        /// First byte.
        offset: u64,
    },
    /// A whole message without a send: its payload is in shared memory.
    Message,
    /// The refusal of a write, by the number of its frame.
    Refusal(u64),
    Ping,
    /// A protocol frame whose acknowledgement nothing waits for.
    Control,
}

/// A frame in flight, with all that is needed to retransmit it.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub body: Body,
    pub owner: FrameOwner,
    /// Number of times it was sent before.
    pub repetition: u8,
    sent: SentFrame,
    /// When the peer's kernel acknowledged it: between the driver's last query that did not show it and the first that did.
    kernel_acked: Option<TimeRange>,
}

/// A frame of a write of the peer.
#[derive(Clone, Copy, Debug)]
pub struct WriteFrame {
    pub number: u64,
    /// The peer's name for the write.
    pub write: SendRef,
}

/// A refused write of the peer.
pub struct RefusedWrite {
    /// The frame that cannot be placed.
    pub frame: WriteFrame,
    pub why: Refusal,
}

pub struct Subchannel {
    pub rail: RailId,
    pub estimate: Estimate,
    /// Bytes that the driver can take now.
    pub budget: u64,
    /// Messages that a policy has put on this subchannel and that it has not taken yet: keys of sends.
    pub assigned: VecDeque<Key<Send>>,
    in_flight: VecDeque<Frame>,
    acked: u32,
    /// Shared memory only: number of frames that the peer has taken, as the driver sees.
    taken: u32,
    /// Number of frames at the front of `in_flight` that the peer's kernel has acknowledged.
    kernel_acked: u32,
    /// When the last [interruption](INTERRUPTION_NS) ended. Frames sent before measure nothing.
    resumed_at: Instant,
    /// The frames that are being handled arrived after this.
    pub arrived_after: MaybeInstant,
    pub pending_ack: PendingAck,
    /// Refusals of writes that came over it. No acknowledgement is sent before them, as the writes would seem to succeed.
    pub refusals: VecDeque<RefusedWrite>,
    /// It is up. Otherwise its slot is free.
    pub live: bool,
    /// It is shared memory: its path is not measured, and the driver reports which frames were delivered.
    pub is_in_memory: bool,
    pub liveness: Liveness,
}

/// An acknowledgement of sent frames, by its source.
#[derive(Clone, Copy, Debug)]
pub enum Acknowledgement {
    /// From a frame header of the peer.
    ByHeader {
        /// Number of frames delivered since the start, modulo 2^32.
        frames: u32,
        timing: AckTiming,
    },
    /// From the driver: number of frames since the start that the peer has taken from shared memory. The peer may still refuse
    /// writes among these; a refusal comes before the peer's next header.
    ByDriver(u32),
}

impl Acknowledgement {
    #[inline]
    pub fn of(header: &Header) -> Acknowledgement {
        let Header { ack: frames, ack_delay_us, sent_at_us, .. } = *header;
        Acknowledgement::ByHeader { frames, timing: AckTiming { sent_at_us, ack_delay_us } }
    }
}

/// The peer acknowledges more than was sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadAck;

impl Subchannel {
    /// A new subchannel over `rail`, whose speed is known or not, in bytes per second.
    pub fn new(rail: RailId, speed: Option<f64>) -> Self {
        Subchannel {
            rail,
            estimate: Estimate::new(speed),
            budget: 0,
            assigned: VecDeque::new(),
            in_flight: VecDeque::new(),
            acked: 0,
            taken: 0,
            kernel_acked: 0,
            resumed_at: Instant(0),
            arrived_after: MaybeInstant::default(),
            pending_ack: PendingAck::default(),
            refusals: VecDeque::new(),
            live: true,
            is_in_memory: false,
            liveness: Liveness::default(),
        }
    }

    /// A counted frame of `bytes`, header included, is handed to the driver.
    pub fn sent(&mut self, now: Instant, body: Body, owner: FrameOwner, bytes: u64) {
        self.spend(bytes);
        if self.in_flight.is_empty() {
            self.liveness.begin(now);
            self.liveness.oldest_changed();
        }
        let sent = match self.is_in_memory {
            true => SentFrame { at: now, bytes, queued: bytes },
            false => self.estimate.sent(now, bytes),
        };
        self.in_flight.push_back(Frame { body, owner, repetition: 0, sent, kernel_acked: None });
    }

    /// The driver takes `bytes`. Shared memory has no budget: the driver reports when it is full.
    pub fn spend(&mut self, bytes: u64) {
        if !self.is_in_memory {
            self.budget = self.budget.saturating_sub(bytes);
        }
    }

    /// The driver has batched the frames sent since `since`, and sends them `now`.
    pub fn held_frames_sent(&mut self, since: Instant, now: Instant) {
        let first = self.in_flight.partition_point(|frame| frame.sent.at < since);
        let held = self.in_flight.range_mut(first..);
        let estimate = &mut self.estimate;
        estimate.held_frames_sent(since, now);
        estimate.retract(now, held.map(|frame| frame.sent.bytes).sum());
        self.in_flight.range_mut(first..).for_each(|frame| estimate.restamp(now, &mut frame.sent));
    }

    /// When frames that are read at `now` arrived.
    pub fn came(&self, now: Instant) -> TimeRange {
        TimeRange { earliest: self.arrived_after.get().unwrap_or(now), latest: now }
    }

    /// A counted frame of `bytes` has arrived whole.
    pub fn received(&mut self, now: Instant, bytes: u64, urgency: Urgency) {
        if self.is_in_memory {
            return self.pending_ack.received_in_memory(now, urgency);
        }
        let came = self.came(now);
        self.pending_ack.received(came, bytes, urgency, self.estimate.min_rtt_ns());
    }

    /// The acknowledgement to put into the header of a frame; no pure one is due thereafter. While refusals are still to be sent,
    /// no further frames are acknowledged.
    pub fn take_ack(&mut self, now: Instant) -> AckFields {
        if self.refusals.is_empty() { self.pending_ack.take(now) } else { self.pending_ack.last() }
    }

    /// When a pure acknowledgement must be sent, if nothing carries it before.
    pub fn ack_due(&self) -> Option<Instant> {
        self.pending_ack.due()
    }

    /// The peer has acknowledged frames. Calls `delivered` for each that is newly acknowledged.
    pub fn acknowledged(
        &mut self,
        now: Instant,
        ack: Acknowledgement,
        clock: &mut PeerClock,
        mut delivered: impl FnMut(FrameOwner),
    ) -> Result<(), BadAck> {
        let (frames, timing) = match ack {
            Acknowledgement::ByHeader { frames, timing } => (frames, timing),
            Acknowledgement::ByDriver(frames) => (frames, AckTiming::default()),
        };
        if self.is_in_memory {
            return self.acknowledged_in_memory(now, ack, delivered);
        }
        let news = frames.wrapping_sub(self.acked);
        if news == 0 {
            return Ok(());
        }
        if news as usize > self.in_flight.len() {
            return Err(BadAck);
        }
        self.acked = frames;
        let came = self.came(now);
        self.made_progress(came);
        self.liveness.oldest_changed();
        let (mut acked, mut kernel_acked) = (AckedFrames::NONE, None);
        for at in 0..news as usize {
            let Some(frame) = self.in_flight.pop_front() else { break };
            kernel_acked = frame.kernel_acked;
            if at >= self.kernel_acked as usize {
                self.estimate.acknowledged(frame.sent);
            }
            acked.add(&frame.sent);
            delivered(frame.owner);
        }
        self.kernel_acked = self.kernel_acked.saturating_sub(news);
        self.estimate.padding_acknowledged(now, frames, timing);
        let behind = self.in_flight.range(self.kernel_acked as usize..).map(|frame| &frame.sent);
        if acked.oldest.at < self.resumed_at {
            self.estimate.kernel_acknowledged(now, behind);
            return Ok(());
        }
        let max_ack_delay_ns = lazy_delay_ns(self.estimate.min_rtt_ns());
        self.estimate.measure(AckArrival { came, kernel_acked, timing, max_ack_delay_ns }, clock, &acked, behind);
        Ok(())
    }

    /// [`Subchannel::acknowledged`] for shared memory. A header is older than what the driver sees.
    fn acknowledged_in_memory(
        &mut self,
        now: Instant,
        ack: Acknowledgement,
        mut delivered: impl FnMut(FrameOwner),
    ) -> Result<(), BadAck> {
        let acked = self.acked;
        let news =
            |frames: u32| Some(frames.wrapping_sub(acked)).filter(|news| *news <= u32::MAX / 2).unwrap_or(0) as usize;
        let said = match ack {
            Acknowledgement::ByHeader { frames, .. } => news(frames),
            Acknowledgement::ByDriver(frames) => {
                self.taken = frames;
                0
            }
        };
        let taken = news(self.taken);
        if said.max(taken) > self.in_flight.len() {
            return Err(BadAck);
        }
        let behind = self.in_flight.range(said..taken.max(said));
        let sure = said + behind.take_while(|frame| !matches!(frame.body, Body::Write { .. })).count();
        if sure > 0 {
            self.acked = acked.wrapping_add(sure as u32);
            (0..sure).filter_map(|_| self.in_flight.pop_front()).for_each(|frame| delivered(frame.owner));
            self.liveness.progress(now);
            self.liveness.oldest_changed();
        }
        Ok(())
    }

    /// Something has been acknowledged or received, and `came` at that time.
    pub fn made_progress(&mut self, came: TimeRange) {
        let is_interruption = |until: Instant| until.since_ns(self.liveness.since) > INTERRUPTION_NS;
        if !self.in_flight.is_empty() && is_interruption(came.latest) {
            self.resumed_at = came.latest;
            // Not because this process was away.
            if is_interruption(came.earliest) {
                self.estimate.interrupted();
            }
        }
        self.liveness.progress(came.latest);
    }

    /// The peer's kernel has acknowledged the first `frames` frames since the start, the last of them at `came`.
    pub fn kernel_acknowledged(&mut self, came: TimeRange, frames: u32) {
        let now = came.latest;
        let acked = (frames.wrapping_sub(self.acked) as usize).min(self.in_flight.len()) as u32;
        // An old number is far ahead of the frames in flight, modulo 2^32.
        if frames.wrapping_sub(self.acked) > u32::MAX / 2 || acked <= self.kernel_acked {
            return;
        }
        self.made_progress(came);
        for frame in self.in_flight.range_mut(self.kernel_acked as usize..acked as usize) {
            frame.kernel_acked = Some(came);
            self.estimate.acknowledged(frame.sent);
        }
        self.kernel_acked = acked;
        let behind = self.in_flight.range(acked as usize..).map(|frame| &frame.sent);
        self.estimate.kernel_acknowledged(now, behind);
    }

    /// The number of the newest frame sent: frames are counted from 1, modulo 2^32.
    pub fn last_number(&self) -> u32 {
        self.acked.wrapping_add(self.in_flight.len() as u32)
    }

    /// The frames in flight, each with its number: frames are counted from 1, modulo 2^32.
    pub fn in_flight_mut(&mut self) -> impl Iterator<Item = (u32, &mut Frame)> {
        let acked = self.acked;
        (1u32..).zip(&mut self.in_flight).map(move |(at, frame)| (acked.wrapping_add(at), frame))
    }

    /// Whether an acknowledgement of `ack` frames covers further ones.
    pub fn is_news(&self, ack: u32) -> bool {
        ack != self.acked
    }

    /// The newest frame is a retransmission, and was sent `repetition` times before.
    pub fn set_repetition(&mut self, repetition: u8) {
        self.in_flight.back_mut().into_iter().for_each(|frame| frame.repetition = repetition);
    }

    /// It has failed: the frames in flight count as late, unless the peer may be the cause.
    pub fn sample_lateness_at_end(&mut self, now: Instant) {
        let ack_delay_ns = lazy_delay_ns(self.estimate.min_rtt_ns());
        let is_measured = |oldest: &&SentFrame| now.since_ns(oldest.at) <= INTERRUPTION_NS;
        if let Some(oldest) = self.oldest().filter(is_measured).copied() {
            self.estimate.failed(now, &oldest, ack_delay_ns);
        }
    }

    /// Ends it. Returns the unacknowledged frames.
    pub fn end(&mut self) -> VecDeque<Frame> {
        self.live = false;
        self.budget = 0;
        self.pending_ack.clear();
        std::mem::take(&mut self.in_flight)
    }

    /// Whether everything is acknowledged both ways.
    pub fn is_drained(&self) -> bool {
        self.is_quiet() && self.ack_due().is_none() && self.refusals.is_empty()
    }

    /// The oldest frame that is not acknowledged.
    pub fn oldest(&self) -> Option<&SentFrame> {
        self.in_flight.front().map(|frame| &frame.sent)
    }

    /// Frees the memory of its queues, which are empty but for probes in flight.
    pub fn release_unused_memory(&mut self) {
        self.in_flight.shrink_to_fit();
        self.assigned.shrink_to_fit();
        self.refusals.shrink_to_fit();
    }

    /// How many frames are not acknowledged.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Bytes of frames that are not acknowledged.
    pub fn bytes_in_flight(&self) -> u64 {
        self.in_flight.iter().map(|frame| frame.sent.bytes).sum()
    }

    /// Whether everything that was sent has been acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Whether all frames but probes and returned credit have been acknowledged: nothing depends on these.
    pub fn has_delivered(&self) -> bool {
        self.in_flight
            .iter()
            .all(|frame| matches!(frame.body, Body::Ping | Body::Padding { .. } | Body::Relinquish { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::path::Path;

    #[test]
    fn acknowledgements_are_cumulative_and_wrap() {
        let mut subchannel = Subchannel::new(RailId(0), None);
        subchannel.acked = u32::MAX - 1;
        let said = |frames| Acknowledgement::ByHeader { frames, timing: AckTiming::default() };
        for key in 0..4 {
            subchannel.sent(Instant(0), Body::Ping, FrameOwner::Refusal(key), 10);
        }
        let mut seen = Vec::new();
        subchannel.acknowledged(Instant(1), said(1), &mut PeerClock::default(), |owner| seen.push(owner)).unwrap();
        assert_eq!(seen, [FrameOwner::Refusal(0), FrameOwner::Refusal(1), FrameOwner::Refusal(2)]);
        assert_eq!(subchannel.acknowledged(Instant(1), said(3), &mut PeerClock::default(), |_| ()), Err(BadAck));
        assert_eq!(subchannel.acknowledged(Instant(1), said(0), &mut PeerClock::default(), |_| ()), Err(BadAck));
    }

    /// Whether the rate of a measured path is known when `bytes` are acknowledged 2 s after they were sent, and may have been
    /// so since `arrived_after`.
    fn is_known_after_a_silence(bytes: u64, arrived_after: Option<Instant>) -> bool {
        let mut subchannel = Subchannel::new(RailId(0), None);
        let path = Path { rtt_ns: 5_000, min_rtt_ns: 5_000, delivery_rate: None, window: u64::MAX };
        subchannel.estimate.path_measured(Instant(0), path);
        let mut send = |bytes, (sent, acked): (Instant, Instant), frames| {
            subchannel.sent(sent, Body::Ping, FrameOwner::Control, bytes);
            let ack = Acknowledgement::ByHeader { frames, timing: AckTiming::default() };
            subchannel.acknowledged(acked, ack, &mut PeerClock::default(), |_| ()).unwrap();
            subchannel.arrived_after = arrived_after.into();
            subchannel.estimate.is_known()
        };
        assert!(send(64 << 10, (Instant(1), Instant(2_000_000)), 1));
        send(bytes, (Instant(3_000_000), Instant(2_003_000_000)), 2)
    }

    #[test]
    fn after_an_interruption_a_path_with_a_queue_is_not_known() {
        assert!(!is_known_after_a_silence(64 << 10, None));
        assert!(is_known_after_a_silence(64 << 10, Some(Instant(4_000_000))), "this process was away");
        assert!(is_known_after_a_silence(1 << 10, None), "the peer's process may have been away");
    }
}
