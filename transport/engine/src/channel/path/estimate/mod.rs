//! The estimates of a subchannel's path together: rate, delay, queue, lateness.

use super::congestion_window::CongestionWindow;
use super::in_flight::InFlight;
use super::lateness::Lateness;
use super::packet_train::TimeRange;
use super::peer_clock::{AckTiming, PeerClock};
use super::port_share::MAX_QUEUE_NS;
use super::rate::{MAX_EAGER_SIZE, Rate};
use super::rate_probe::RateProbe;
use super::round_trip::RoundTrip;
use super::sent_frames::{AckedFrames, SentFrame};
use super::{Path, PathEstimate};
use crate::ids::RailId;
use crate::time::Instant;

/// With at most this many bytes in flight, a frame measures the round trip, and padding the rate.
const MAX_FOR_ROUND_TRIP: u64 = 4 << 10;
/// A path with at least this round trip, in nanoseconds, is distant: the kernel's measurements of its rate count, and it keeps
/// an offset of the peer's clock of its own. Rails within a room are below by a factor of three.
const FAR_NS: u64 = 100_000;

/// A subchannel is given at least this number of bytes, and multiples of it: an efficient system call.
const MIN_ALLOWANCE: u64 = 16 << 10;

/// The acknowledgement of some frames.
pub struct AckArrival {
    /// When it came.
    pub came: TimeRange,
    /// When the peer's kernel acknowledged the newest of the frames, where the driver asks for that.
    pub kernel_acked: Option<TimeRange>,
    /// The times in its header.
    pub timing: AckTiming,
    /// Upper bound of the acknowledgement delay, in nanoseconds, for a peer whose clock offset is not known.
    pub max_ack_delay_ns: u64,
}

/// Estimates of one subchannel.
///
/// The rate follows from how long a frame is in flight: the bytes queued ahead of it and its own must pass the bottleneck first.
/// So the sender's pace does not count. The number of queued bytes depends on the rate estimate in turn: with one that is too
/// high too few bytes seem queued, so that the next measurement lowers it.
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

    /// The rail's speed as the driver gave it, or [`ASSUMED_RATE`](super::rate::ASSUMED_RATE), in bytes per second.
    pub fn nominal(&self) -> f64 {
        self.rate.nominal()
    }

    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.rate.measured()
    }

    /// How long `bytes` take to pass the bottleneck, in nanoseconds.
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

    /// Bytes that pass at once, and delay the following.
    pub fn burst(&self, now: Instant) -> u64 {
        self.rate.burst(now)
    }

    /// Bytes that may be in flight at a time.
    pub fn window(&self) -> u64 {
        self.window.bytes()
    }

    /// Mean [lateness](Lateness) of frames, in nanoseconds.
    pub fn late_ns(&self, now: Instant) -> u64 {
        self.lateness.at(now)
    }

    /// Whether the rate has been measured, or the path is distant: there a probe takes long, and the window is short. While the
    /// first probe is under way the rate counts as unknown: a shaper may have let its first frames pass at once.
    pub fn is_known(&self) -> bool {
        let is_measured = self.rate.last_measured() != Instant(0) && !self.probe.is_first();
        is_measured || !self.is_near()
    }

    pub fn is_near(&self) -> bool {
        self.min_rtt_ns() < FAR_NS
    }

    /// The length of the padding to send over it now to measure its rate. `sent`: bytes sent to the peer since the last probe.
    pub fn next_padding(&self, now: Instant, sent: u64) -> Option<u32> {
        let len = self.probe.next_frame(now, self.rate.last_measured(), sent)?;
        let ahead = self.in_flight().max(self.queued_ahead(now));
        (self.probe.is_begun() || ahead < MAX_FOR_ROUND_TRIP).then_some(len)
    }

    pub fn fill_up_to(&mut self, segments: u16) {
        self.probe.fill_up_to(segments);
    }

    /// Whether [`Estimate::fill_up_to`] is in force.
    pub fn is_filled(&self) -> bool {
        self.probe.next_filling(0).is_some()
    }

    /// The length of the padding to send now for [`Estimate::fill_up_to`].
    pub fn next_filling(&self) -> Option<u32> {
        self.probe.next_filling(self.in_flight())
    }

    /// Padding is sent as the subchannel's frame `number`. Returns whether it is the first of a train.
    pub fn padding_sent(&mut self, now: Instant, number: u32) -> bool {
        self.probe.sent(now, number)
    }

    /// The driver has batched the frames since `since`, and sends them `now`. To be called before [`Estimate::restamp`].
    pub fn held_frames_sent(&mut self, since: Instant, now: Instant) {
        self.probe.held_frames_sent(since, now);
    }

    /// All frames up to number `acked` are acknowledged.
    pub fn padding_acknowledged(&mut self, now: Instant, acked: u32, ack: AckTiming) {
        let Some(mut took) = self.probe.acknowledged(now, acked, ack) else { return };
        let was_measured = self.rate.last_measured() != Instant(0);
        let byte_ns = 1e9 / self.rate.measured();
        if self.probe.judge(self.rate.compare(took), was_measured, byte_ns, took) {
            let least_ns = RateProbe::min_measurable_ns(byte_ns, self.rate.time_of(took.bytes));
            took.max_ns = took.max_ns.max(least_ns);
            self.rate.probed(now, (self.round_trip.min_ns(), &self.window), took);
        }
    }

    /// Bytes that the scheduler may give it now beside those in flight; 0 while its queue is long enough.
    pub fn allowance(&self) -> u64 {
        if !self.is_known() {
            return MAX_EAGER_SIZE.saturating_sub(self.in_flight());
        }
        // Flows that share a queue get rates in proportion to their bytes in it. By its own rate, a flow that got little would
        // be allowed few bytes in the queue, and get still less; one that was measured while others paused would bind more than
        // leaves in time.
        // The bottleneck of a distant path is not its port.
        let most = match self.rate.port_room() {
            room if room > 0 && self.is_near() => room,
            _ => (self.rate.measured() * (self.min_rtt_ns() + MAX_QUEUE_NS) as f64 / 1e9) as u64,
        };
        let left = most.max(MIN_ALLOWANCE).saturating_sub(self.in_flight());
        // Short pieces cost processor time: the next one has to wait until an eighth has left, the 1 ms of a longest piece.
        if left <= most / 8 { 0 } else { left.next_multiple_of(MIN_ALLOWANCE) }
    }

    /// Bytes that fill the path for a round trip. The driver's rate is that of the rail, which all its `streams` share.
    pub fn capacity(&self, streams: usize) -> u64 {
        (self.rate.measured().max(self.nominal() / streams as f64) * self.min_rtt_ns() as f64 / 1e9) as u64
    }

    pub fn snapshot(&self, rail: RailId) -> PathEstimate {
        let (rtt_ns, min_rtt_ns) = (self.round_trip.smoothed_ns(), self.min_rtt_ns());
        let (in_flight, window, measured_at) = (self.in_flight(), self.window(), self.rate.last_measured());
        PathEstimate { rail, rtt_ns, min_rtt_ns, rate: self.rate(), measured_at, in_flight, window }
    }

    /// Bytes sent and not acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.in_flight()
    }

    /// Estimated bytes in the queue before the bottleneck.
    pub fn queued_ahead(&self, now: Instant) -> u64 {
        self.in_flight.queued_ahead(now, &self.rate)
    }

    pub fn sent(&mut self, now: Instant, bytes: u64) -> SentFrame {
        self.in_flight.add(now, bytes, &self.rate)
    }

    /// A frame that the driver has batched is sent only now. To be called for all such frames, the oldest first, after
    /// [`Estimate::retract`] with the bytes of all.
    pub fn restamp(&mut self, now: Instant, frame: &mut SentFrame) {
        *frame = self.sent(now, frame.bytes);
    }

    /// The driver has batched the last `bytes`: they are not sent yet.
    pub fn retract(&mut self, now: Instant, bytes: u64) {
        self.in_flight.retract(now, bytes, &self.rate);
    }

    /// A frame has been acknowledged.
    pub fn acknowledged(&mut self, frame: SentFrame) {
        self.in_flight.acknowledged(frame);
    }

    /// The frames `acked` were acknowledged, and those `behind` them are in flight, the oldest first: that measures the rate and
    /// the queue. `clock` is the offset of the peer's clock that near paths share. An estimate within the bounds that follow
    /// from the measurement does not change.
    pub fn measure<'a>(
        &mut self,
        ack: AckArrival,
        clock: &mut PeerClock,
        acked: &AckedFrames,
        behind: impl DoubleEndedIterator<Item = &'a SentFrame>,
    ) {
        let AckArrival { came, kernel_acked, timing, max_ack_delay_ns } = ack;
        let (now, frame) = (came.latest, &acked.newest);
        let ack_delay_ns = u64::from(timing.ack_delay_us) * 1000;
        let sample_ns = now.since_ns(frame.at).saturating_sub(ack_delay_ns);
        let min_rtt_ns = self.min_rtt_ns().min(sample_ns);
        // Near paths share the offset of the peer's clock, as their two one-way delays differ by little. A distant path has an
        // offset of its own, which includes its one-way delay.
        let (clock, least_ns) = if min_rtt_ns < FAR_NS { (clock, min_rtt_ns / 2) } else { (&mut self.own_clock, 0) };
        // An acknowledgement delay longer than the round trip hides it.
        if frame.queued <= MAX_FOR_ROUND_TRIP && ack_delay_ns <= sample_ns {
            self.round_trip.sample(now, sample_ns);
            clock.sample(now, frame.at, least_ns, timing);
        }
        self.round_trip.bound(now.since_ns(frame.at));
        let by_round_trip = TimeRange { earliest: Instant(came.earliest.0.saturating_sub(ack_delay_ns)), latest: now };
        // When it would have been acknowledged by an idle peer, plus `late_ns`.
        let after = |late_ns: u64| frame.at.plus_ns(min_rtt_ns + late_ns).min(now);
        let lateness = clock.lateness(frame.at, least_ns, sample_ns - min_rtt_ns, timing);
        let arrival = lateness
            .map_or(by_round_trip, |late| TimeRange { earliest: after(late.min_ns), latest: after(late.max_ns) });
        let arrival = kernel_acked.map_or(arrival, |kernel| arrival.within(kernel));
        self.rate.sample(now, (min_rtt_ns, &self.window), arrival, acked);
        // Acknowledgements, those of kernels too, may have queued behind what the peer sends: its clock shows that, where it is known.
        let by_clock = lateness.map(|late| late.min_ns);
        let by_round_trip =
            || came.earliest.since_ns(frame.at.plus_ns(min_rtt_ns + ack_delay_ns.max(max_ack_delay_ns)));
        // A saturated field gives no bound: the peer was away for longer.
        let least_late_ns = by_clock.or_else(|| (timing.ack_delay_us < u16::MAX).then(by_round_trip));
        if let Some(late_ns) = least_late_ns {
            let queued_ns = if late_ns > 0 { self.time_of(frame.queued) } else { 0 };
            self.lateness.sample(now, late_ns.saturating_sub(queued_ns));
        }
        let left = |arrival: Instant| Instant(arrival.0.saturating_sub(min_rtt_ns));
        let left = TimeRange { earliest: left(arrival.earliest), latest: left(arrival.latest) };
        self.in_flight.adjust(left, &self.rate, behind);
    }

    /// The peer's kernel has acknowledged all frames sent before `behind`, which are in flight, the oldest first. It is not known
    /// when it did.
    pub fn kernel_acknowledged<'a>(&mut self, now: Instant, behind: impl DoubleEndedIterator<Item = &'a SentFrame>) {
        let left = Instant(now.0.saturating_sub(self.min_rtt_ns()));
        self.in_flight.adjust(TimeRange { earliest: Instant(0), latest: left }, &self.rate, behind);
    }

    /// The subchannel has failed with `oldest` as the oldest frame in flight, whose acknowledgement the peer may have delayed by
    /// up to `ack_delay_ns`.
    pub fn failed(&mut self, now: Instant, oldest: &SentFrame, ack_delay_ns: u64) {
        let due = oldest.at.plus_ns(self.min_rtt_ns() + ack_delay_ns + self.time_of(oldest.queued));
        self.lateness.sample(now, now.since_ns(due));
    }

    /// Starts from the estimates of another subchannel over the same rail.
    pub fn inherit(&mut self, before: &Estimate) {
        self.lateness = before.lateness.clone();
        self.rate.inherit(&before.rate);
        self.round_trip.inherit(&before.round_trip);
    }

    /// An interruption has ended. The frames that it delayed measure nothing, but neither is the path known any more: it may be so
    /// slow that nothing arrived meanwhile. Few bytes may have waited for the peer's process alone.
    pub fn interrupted(&mut self) {
        if self.in_flight() > MAX_FOR_ROUND_TRIP {
            self.rate.forget();
        }
    }

    /// This process may queue `bytes` at the rail's port.
    pub fn port_room_measured(&mut self, bytes: u64) {
        self.rate.port_room_measured(bytes);
    }

    /// The driver has measured.
    pub fn path_measured(&mut self, now: Instant, path: Path) {
        self.round_trip.driver_measured(path.rtt_ns, path.min_rtt_ns);
        self.window.driver_measured(now, path.window, self.min_rtt_ns());
        // A delivery rate is a lower bound of the path's rate. For near paths acknowledgements are exact enough, and a burst into
        // an empty queue looks faster than any link.
        let is_far = self.min_rtt_ns() >= FAR_NS;
        path.delivery_rate.filter(|_| is_far).into_iter().for_each(|rate| self.rate.driver_measured(now, rate));
    }
}

#[cfg(test)]
mod tests;
