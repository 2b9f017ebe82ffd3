//! Estimates of a subchannel's path, put together: rate, delay, queue, lateness.

use super::congestion_window::CongestionWindow;
use super::in_flight::InFlight;
use super::lateness::Lateness;
use super::packet_train::TimeRange;
use super::peer_clock::{AckTiming, PeerClock};
use super::rate::{MAX_EAGER_SIZE, Rate};
use super::rate_probe::RateProbe;
use super::round_trip::RoundTrip;
use super::sent_frames::{AckedFrames, SentFrame};
use super::{Path, PathEstimate};
use crate::ids::RailId;
use crate::time::Instant;

/// With so few bytes in flight, a frame measures the round trip, and padding the rate.
const MAX_FOR_ROUND_TRIP: u64 = 4 << 10;
/// A round trip, in nanoseconds, from which on a path is distant: its kernel's own measurements of the rate count, and its clock
/// is its own. Rails within a room are below, by a factor of three.
const FAR_NS: u64 = 100_000;

/// Where there are others, a subchannel is given no more than what it carries in so many nanoseconds and a round trip, or its port,
/// if that carries more: what is bound to it cannot go over another that turns out to be faster, and what its peer sends meanwhile
/// waits as long for acknowledgements. A progress thread that comes once a millisecond keeps the path from running empty.
const MAX_QUEUE_NS: u64 = 8_000_000;

/// The acknowledgement of some frames.
pub struct AckArrival {
    /// When it came.
    pub came: TimeRange,
    /// When the peer's kernel acknowledged the newest of the frames, where the driver asks for that.
    pub kernel_acked: Option<TimeRange>,
    /// What it says itself.
    pub timing: AckTiming,
    /// For how long the peer may have held it, in nanoseconds, where nothing is known of its clock.
    pub max_held_ns: u64,
}

/// Estimates of one subchannel.
///
/// The rate follows from how long a frame is in flight: what queues before it, and itself, must pass first. So
/// the pace of the sender does not count. How much queues depends on the estimate in turn; one that is too high
/// finds too little, and falls.
#[derive(Clone, Debug)]
pub struct Estimate {
    rate: Rate,
    round_trip: RoundTrip,
    own_clock: PeerClock,
    window: CongestionWindow,
    in_flight: InFlight,
    lateness: Lateness,
    probe: RateProbe,
}

impl Estimate {
    /// For a rail of `speed` bytes per second, where that is known.
    pub fn new(speed: Option<f64>) -> Self {
        Estimate {
            rate: Rate::new(speed),
            round_trip: RoundTrip::default(),
            own_clock: PeerClock::default(),
            window: CongestionWindow::UNKNOWN,
            in_flight: InFlight::default(),
            lateness: Lateness::default(),
            probe: RateProbe::default(),
        }
    }

    /// What driver or assumption say, in bytes per second.
    pub fn nominal(&self) -> f64 {
        self.rate.nominal()
    }

    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.rate.measured()
    }

    /// How long so many bytes take to leave, in nanoseconds.
    pub fn time_of(&self, bytes: u64) -> u64 {
        self.rate.time_of(bytes)
    }

    /// One-way delay, in nanoseconds.
    pub fn delay_ns(&self) -> u64 {
        self.min_rtt_ns() / 2
    }

    /// Least round trip time, in nanoseconds; 0: not known.
    pub fn min_rtt_ns(&self) -> u64 {
        self.round_trip.min_ns()
    }

    /// Bytes that may be in flight at a time.
    pub fn window(&self) -> u64 {
        self.window.bytes()
    }

    /// How much later than all this says frames arrive in the mean, in nanoseconds.
    pub fn late_ns(&self, now: Instant) -> u64 {
        self.lateness.at(now)
    }

    /// Whether its rate has been measured, or its path is a distant one: there a probe takes long, and its window is short. While
    /// the first probe is under way nothing is known: what has passed at once may have to be paid for.
    pub fn is_known(&self) -> bool {
        let is_measured = self.rate.last_measured() != Instant(0) && !self.probe.is_first();
        is_measured || !self.is_near()
    }

    /// Whether its path is a near one.
    pub fn is_near(&self) -> bool {
        self.min_rtt_ns() < FAR_NS
    }

    /// The length of padding that is to be sent over it now, to measure its rate; `sent`: bytes that the peer was sent since the
    /// last time.
    pub fn next_padding(&self, now: Instant, sent: u64) -> Option<u32> {
        let len = self.probe.next_frame(now, self.rate.last_measured(), sent)?;
        (self.probe.is_begun() || self.in_flight() < MAX_FOR_ROUND_TRIP).then_some(len)
    }

    /// Padding is sent while fewer than so many segments are in flight.
    pub fn fill_up_to(&mut self, segments: u16) {
        self.probe.fill_up_to(segments);
    }

    /// Whether it is.
    pub fn is_filled(&self) -> bool {
        self.probe.next_filling(0).is_some()
    }

    /// The length of padding that is to be sent for that.
    pub fn next_filling(&self) -> Option<u32> {
        self.probe.next_filling(self.in_flight())
    }

    /// That is sent, as the subchannel's frame `number`. Whether that is for the first time.
    pub fn padding_sent(&mut self, now: Instant, number: u32) -> bool {
        self.probe.sent(now, number)
    }

    /// All frames up to number `acked` are acknowledged.
    pub fn padding_acknowledged(&mut self, now: Instant, acked: u32, ack: AckTiming) {
        let Some(mut took) = self.probe.acknowledged(now, acked, ack) else { return };
        let was_measured = self.rate.last_measured() != Instant(0);
        let byte_ns = 1e9 / self.rate.measured();
        if self.probe.judge(self.rate.compare(took), was_measured, byte_ns) {
            let least_ns = RateProbe::least_shown_ns(byte_ns, self.rate.time_of(took.bytes));
            took.max_ns = took.max_ns.max(least_ns);
            self.rate.probed(now, (self.round_trip.min_ns(), &self.window), took);
        }
    }

    /// Bytes that it may be given for all that is known of its path; 0 while it has enough for now.
    pub fn allowance(&self) -> u64 {
        if !self.is_known() {
            return MAX_EAGER_SIZE.saturating_sub(self.in_flight());
        }
        // In a queue that many share, each gets its part of what waits there. By its own rate, one that got little would be given
        // little to wait, and get less.
        // A distant path has a narrower place than its port.
        let port = if self.is_near() { self.rate.of_port() } else { 0.0 };
        let rate = self.rate.measured().max(port);
        let enough_ns = self.min_rtt_ns() + MAX_QUEUE_NS;
        let enough = (rate * enough_ns as f64 / 1e9) as u64;
        if self.in_flight() < enough.max(MAX_EAGER_SIZE) { u64::MAX } else { 0 }
    }

    /// Bytes that fill the path for a round trip; what the driver says is shared by all `streams` of the rail.
    pub fn capacity(&self, streams: usize) -> u64 {
        (self.rate.measured().max(self.nominal() / streams as f64) * self.min_rtt_ns() as f64 / 1e9) as u64
    }

    /// All of it, for people.
    pub fn snapshot(&self, rail: RailId) -> PathEstimate {
        let (rtt_ns, min_rtt_ns) = (self.round_trip.smoothed_ns(), self.min_rtt_ns());
        let in_flight = self.in_flight();
        PathEstimate { rail, rtt_ns, min_rtt_ns, rate: self.rate(), in_flight, window: self.window() }
    }

    /// Bytes sent and not acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.in_flight()
    }

    /// Bytes that still queue before the bottleneck.
    pub fn queued_ahead(&self, now: Instant) -> u64 {
        self.in_flight.queued_ahead(now, &self.rate)
    }

    /// A frame of so many bytes is sent.
    pub fn sent(&mut self, now: Instant, bytes: u64) -> SentFrame {
        self.in_flight.add(now, bytes, &self.rate)
    }

    /// A frame is sent only now, as the driver has held it back. To be called for all such frames, the oldest first, after
    /// [`Estimate::retract`] for the bytes of all.
    pub fn restamp(&mut self, now: Instant, frame: &mut SentFrame) {
        *frame = self.sent(now, frame.bytes);
    }

    /// The last `bytes` sent were held back by the driver.
    pub fn retract(&mut self, now: Instant, bytes: u64) {
        self.in_flight.retract(now, bytes, &self.rate);
    }

    /// A frame has been acknowledged.
    pub fn acknowledged(&mut self, frame: SentFrame) {
        self.in_flight.acknowledged(frame);
    }

    /// The frames `acked` were acknowledged, and those `behind` them are in flight, the oldest first: that measures the
    /// rate, and how much still queues. `clock` is what near paths show of the peer's clock. An estimate within the bounds that
    /// follow stays as it is.
    pub fn measure<'a>(
        &mut self,
        ack: AckArrival,
        clock: &mut PeerClock,
        acked: &AckedFrames,
        behind: impl DoubleEndedIterator<Item = &'a SentFrame>,
    ) {
        let AckArrival { came, kernel_acked, timing, max_held_ns } = ack;
        let (now, frame) = (came.latest, &acked.newest);
        let held_ns = u64::from(timing.held_us) * 1000;
        let sample_ns = now.since_ns(frame.at).saturating_sub(held_ns);
        let min_rtt_ns = self.min_rtt_ns().min(sample_ns);
        // Near paths share the peer's clock, as the ways there and back differ by little. A far one has its own, for which
        // it does not matter how long the way is.
        let (clock, least_ns) = if min_rtt_ns < FAR_NS { (clock, min_rtt_ns / 2) } else { (&mut self.own_clock, 0) };
        // A peer that held the acknowledgement for longer than the path takes shows nothing of the path.
        if frame.queued <= MAX_FOR_ROUND_TRIP && held_ns <= sample_ns {
            self.round_trip.sample(now, sample_ns);
            clock.sample(now, frame.at, least_ns, timing);
        }
        self.round_trip.bound(now.since_ns(frame.at));
        let by_round_trip = TimeRange { earliest: Instant(came.earliest.0.saturating_sub(held_ns)), latest: now };
        // When it would have been acknowledged, had that taken no longer than the way of a frame to an idle peer and back.
        let after = |late_ns: u64| frame.at.plus_ns(min_rtt_ns + late_ns).min(now);
        let lateness = clock.lateness(frame.at, least_ns, timing);
        let arrival = lateness
            .map_or(by_round_trip, |late| TimeRange { earliest: after(late.min_ns), latest: after(late.max_ns) });
        let arrival = kernel_acked.map_or(arrival, |kernel| arrival.within(kernel));
        self.rate.sample(now, (min_rtt_ns, &self.window), arrival, acked);
        // Acknowledgements, those of kernels too, may have stood behind what the peer sends: its clock tells, where it is known.
        let by_clock = lateness.map(|late| late.min_ns);
        let by_round_trip = || came.earliest.since_ns(frame.at.plus_ns(min_rtt_ns + held_ns.max(max_held_ns)));
        // The field is saturated where the peer was away for longer than it can tell.
        let least_late_ns = by_clock.or_else(|| (timing.held_us < u16::MAX).then(by_round_trip));
        if let Some(late_ns) = least_late_ns {
            let queued_ns = if late_ns > 0 { self.time_of(frame.queued) } else { 0 };
            self.lateness.sample(now, late_ns.saturating_sub(queued_ns));
        }
        let left = |arrival: Instant| Instant(arrival.0.saturating_sub(min_rtt_ns));
        let left = TimeRange { earliest: left(arrival.earliest), latest: left(arrival.latest) };
        self.in_flight.adjust(left, &self.rate, behind);
    }

    /// The peer's kernel has acknowledged what was sent before the frames `behind`, which are in flight, the oldest
    /// first; since when is not known.
    pub fn kernel_acknowledged<'a>(&mut self, now: Instant, behind: impl DoubleEndedIterator<Item = &'a SentFrame>) {
        let left = Instant(now.0.saturating_sub(self.min_rtt_ns()));
        self.in_flight.adjust(TimeRange { earliest: Instant(0), latest: left }, &self.rate, behind);
    }

    /// The subchannel has failed with this frame as the oldest in flight, the acknowledgement of which the peer may have held
    /// for up to `held_ns`.
    pub fn failed(&mut self, now: Instant, oldest: &SentFrame, held_ns: u64) {
        let due = oldest.at.plus_ns(self.min_rtt_ns() + held_ns + self.time_of(oldest.queued));
        self.lateness.sample(now, now.since_ns(due));
    }

    /// It comes beside, or in the place of, another one over the same rail: what that has shown is assumed.
    pub fn inherit(&mut self, before: &Estimate) {
        self.lateness = before.lateness.clone();
        self.rate.inherit(&before.rate);
        self.round_trip.inherit(&before.round_trip);
    }

    /// The rail's port carries `rate` bytes per second, for all processes of the host.
    pub fn port_measured(&mut self, rate: f64) {
        self.rate.port_measured(rate);
    }

    /// The driver has measured.
    pub fn path_measured(&mut self, now: Instant, path: Path) {
        self.round_trip.driver_measured(path.rtt_ns, path.min_rtt_ns);
        self.window.driver_measured(now, path.window, self.min_rtt_ns());
        // What the path has carried it can carry; that it carried no more may have other reasons. Near paths are measured
        // well enough by acknowledgements, and one burst into an empty queue looks faster than any link.
        let is_far = self.min_rtt_ns() >= FAR_NS;
        path.delivery_rate.filter(|_| is_far).into_iter().for_each(|rate| self.rate.driver_measured(now, rate));
    }
}

#[cfg(test)]
mod tests;
