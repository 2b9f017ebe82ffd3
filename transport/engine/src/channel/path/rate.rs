//! The rate of a subchannel's path, from how long packet trains take.

use std::cmp::Ordering;

use super::burst::{Burst, MAX_BURST};
use super::congestion_window::CongestionWindow;
use super::packet_train::{Elapsed, PacketTrain, TimeRange};
use super::sent_frames::AckedFrames;
use crate::time::Instant;

/// Assumed of a rail whose driver does not tell its speed: 1 Gbit/s, in bytes per second.
pub const ASSUMED_RATE: f64 = 125e6;
/// Rates are kept above this, so that times stay finite.
const MIN_RATE: f64 = 1e3;
/// Queueing times below this, in nanoseconds, are within the noise of when a process polls: they count as this time, and only
/// where that shows the path to be faster than was known.
const MIN_QUEUED_NS: u64 = 10_000;
/// On a long path, whose delay varies, the minimum is the round trip divided by this.
const MIN_QUEUED_PART: u64 = 16;
/// Weight of a rate that the driver has measured.
const DRIVER_SAMPLE_WEIGHT: f64 = 0.125;
/// Fewer bytes in flight do not show a path's rate: other delays exceed theirs.
const MIN_QUEUED_BYTES: u64 = 512;
/// The rate is an average over about this number of queued bytes, the newest.
const MEMORY_BYTES: f64 = 512.0 * 1024.0;
/// A measurement of fewer bytes is averaged with at least this number of bytes at the rate before it: a process or a machine
/// that stands still for a moment looks like a slow path.
const MIN_MEMORY_BYTES: f64 = 16.0 * 1024.0;
/// Such a measurement, or one late frame behind a burst, lowers the rate by at most this factor.
const MAX_DECREASE: f64 = 2.0;
/// A measurement whose bounds allow a rate higher by this factor does not tell how fast a path is.
const MAX_UNCERTAINTY: f64 = 1.25;
/// A measurement counts half after this time, in nanoseconds.
const HALF_LIFE_NS: u64 = 100_000_000;
/// A train of at most [`MAX_BURST`] that is faster than expected raises the rate by this part. Not by more: where the pauses
/// between messages refill a shaper's bucket, all of them pass at once.
const FREE_INCREASE: f64 = 1.0 / 64.0;
/// Longest message that goes in one frame, in bytes; longer ones are announced and cut. A path that was never measured also gets
/// this number of bytes, so that it can show that it is fast.
pub const MAX_EAGER_SIZE: u64 = 64 << 10;

/// Rates are in bytes per second.
#[derive(Clone, Debug)]
pub struct Rate {
    /// The rail's speed as the driver gave it, or [`ASSUMED_RATE`].
    nominal: f32,
    /// Bytes that this process may queue at the rail's port; 0: not known.
    port_room: f32,
    measured: f64,
    last_measured: Instant,
    /// Weight of `measured`: bytes that it was measured by, the older the less.
    measured_bytes: f32,
    /// The frames that arrived last. Its times are arrivals at the peer, plus half a round trip.
    train: PacketTrain,
    /// `measured` and `measured_bytes` before this train.
    known_rate: f64,
    known_bytes: f32,
    burst: Burst,
}

impl Rate {
    /// Of a rail of `speed` bytes per second, where that is known.
    pub fn new(speed: Option<f64>) -> Self {
        let nominal = speed.unwrap_or(ASSUMED_RATE).max(MIN_RATE);
        let (last_measured, train) = (Instant(0), PacketTrain::default());
        Rate {
            nominal: nominal as f32,
            port_room: 0.0,
            measured: nominal,
            last_measured,
            measured_bytes: 0.0,
            train,
            known_rate: nominal,
            known_bytes: 0.0,
            burst: Burst::default(),
        }
    }

    /// Bytes that pass the path at once, and delay the following.
    pub fn burst(&self, now: Instant) -> u64 {
        self.burst.bytes(now)
    }

    pub fn nominal(&self) -> f64 {
        self.nominal.into()
    }

    /// Bytes that this process [may queue](super::PortShare) at the rail's port; 0: not known.
    pub fn port_room(&self) -> u64 {
        self.port_room as u64
    }

    pub fn port_room_measured(&mut self, bytes: u64) {
        self.port_room = bytes as f32;
    }

    /// When the rate was measured last; the origin of time: never.
    pub fn last_measured(&self) -> Instant {
        self.last_measured
    }

    /// The rate counts as never measured, until it is measured again.
    pub fn forget(&mut self) {
        self.last_measured = Instant(0);
    }

    /// The last measured rate, in bytes per second, however old.
    pub fn measured(&self) -> f64 {
        self.measured
    }

    pub fn time_of(&self, bytes: u64) -> u64 {
        (bytes as f64 / self.measured * 1e9) as u64
    }

    pub fn driver_measured(&mut self, now: Instant, rate: f64) {
        if rate > self.measured && rate.is_finite() {
            self.measured += (rate - self.measured) * DRIVER_SAMPLE_WEIGHT;
            self.last_measured = now;
        }
    }

    /// Compares a measured time with the rate: `Greater` if it was longer than the rate says.
    pub fn compare(&self, took: Elapsed) -> Ordering {
        let expected_ns = took.bytes as f64 / self.measured * 1e9;
        if took.min_ns as f64 > expected_ns * MAX_UNCERTAINTY {
            Ordering::Greater
        } else if (took.max_ns.max(MIN_QUEUED_NS) as f64) < expected_ns / MAX_UNCERTAINTY {
            Ordering::Less
        } else {
            Ordering::Equal
        }
    }

    /// Padding took `took`. The rate from before counts only if it is within the measured bounds.
    pub fn probed(&mut self, now: Instant, (min_rtt_ns, window): (u64, &CongestionWindow), took: Elapsed) {
        self.last_measured = now;
        let Elapsed { min_ns, max_ns, bytes } = took;
        match self.compare(took) {
            Ordering::Equal => return,
            Ordering::Greater if window.explains(bytes, min_ns, min_rtt_ns) => return,
            _ => {}
        }
        let expected_ns = bytes as f64 / self.measured * 1e9;
        let shown_ns = expected_ns.clamp(min_ns as f64, max_ns.max(min_ns).max(MIN_QUEUED_NS) as f64);
        self.measured = (bytes as f64 / shown_ns * 1e9).max(MIN_RATE);
        self.measured_bytes = bytes as f32;
        self.train.restart();
        (self.known_rate, self.known_bytes) = (self.measured, self.measured_bytes);
    }

    /// Starts from the rate of another connection over the same path.
    pub fn inherit(&mut self, before: &Rate) {
        (self.measured, self.known_rate, self.port_room) = (before.measured, before.measured, before.port_room);
    }

    /// Frames `acked` have arrived by `end`, which includes half a round trip, over a path of minimum round trip `min_rtt_ns` and
    /// congestion window `window`.
    pub fn sample(
        &mut self,
        now: Instant,
        (min_rtt_ns, window): (u64, &CongestionWindow),
        end: TimeRange,
        acked: &AckedFrames,
    ) {
        if self.burst.is_proven(now) {
            self.burst.check(min_rtt_ns, end, &acked.newest, self.time_of(acked.newest.queued - acked.newest.bytes));
        }
        if !self.train.continues(acked.first.plus_ns(min_rtt_ns), acked.after_pause) {
            self.begin_train(now);
            self.judge_burst(now, min_rtt_ns, end, acked);
        }
        let took = self.train.extend(acked.first.plus_ns(min_rtt_ns), acked.after_pause, end, acked.bytes);
        if took.bytes < MIN_QUEUED_BYTES {
            return;
        }
        let (rate, noise_ns) = (self.known_rate, (min_rtt_ns / MIN_QUEUED_PART).max(MIN_QUEUED_NS));
        let max_ns = took.max_ns.max(MIN_QUEUED_NS) as f64;
        let min_ns = if took.min_ns > noise_ns { took.min_ns as f64 } else { 0.0 };
        let expected_ns = took.bytes as f64 / rate * 1e9;
        self.burst.limit(took.bytes, (min_ns * rate / 1e9) as u64);
        if expected_ns < min_ns && window.explains(took.bytes, took.min_ns, min_rtt_ns) {
            self.train.restart();
            return;
        }
        if expected_ns <= max_ns && expected_ns >= min_ns * MAX_UNCERTAINTY {
            self.measured = rate;
            let is_no_slower = max_ns <= expected_ns.max(MIN_QUEUED_NS as f64) * MAX_DECREASE;
            if took.min_ns <= MIN_QUEUED_NS && noise_ns == MIN_QUEUED_NS && is_no_slower {
                // The bounds do not tell the rate from a higher one, but from a much lower one: it stays, and is fresh.
                self.last_measured = now;
            }
            // Or as if nothing had been measured: the acknowledgement was held back, or the sender had no more to send. What may
            // be faster is taken to be so, little by little: else one that is given little would never show what it can.
            if expected_ns > (min_ns + max_ns) / 2.0 {
                self.measured = (rate * (1.0 + FREE_INCREASE)).min(self.nominal().max(rate));
            }
            return;
        }
        self.last_measured = now;
        // All bytes may have passed a shaper at once.
        let surely = took.bytes.saturating_sub(MAX_BURST) as f64 / took.bytes as f64;
        if expected_ns > max_ns && expected_ns * surely <= max_ns {
            if !self.burst.is_proven(now) {
                self.measured = rate * (1.0 + FREE_INCREASE);
            }
            return;
        }
        let most_ns = if expected_ns > max_ns { max_ns / surely } else { max_ns };
        self.update(took.bytes as f64, expected_ns.clamp(min_ns.min(most_ns), most_ns));
    }

    /// What was measured before a train stands for what is known.
    fn begin_train(&mut self, now: Instant) {
        // Short messages measure nothing, and each is a train of its own.
        let known_bytes = if self.measured_bytes == 0.0 { 0.0 } else { self.measured_bytes * self.decay(now) as f32 };
        (self.known_rate, self.known_bytes) = (self.measured, known_bytes);
    }

    /// A frame behind an early train shows how long that really took.
    fn judge_burst(&mut self, now: Instant, min_rtt_ns: u64, end: TimeRange, acked: &AckedFrames) {
        let Some(took) = self.burst.judge(now, min_rtt_ns, &self.train, end, acked) else { return };
        let expected_ns = took.bytes as f64 / self.measured * 1e9;
        let shown_ns = expected_ns.clamp(took.min_ns as f64, took.max_ns.max(took.min_ns) as f64);
        // Others' bursts may have delayed the frame as well.
        self.update(took.bytes as f64, shown_ns.min(expected_ns * MAX_DECREASE));
        self.last_measured = now;
        self.begin_train(now);
    }

    /// The `queued` bytes of the present train took `ns`. The rate from before the train counts as well, but not what the start of
    /// the train showed: a link or its shaper may let a burst pass at once, and delay the following for it.
    fn update(&mut self, queued: f64, ns: f64) {
        let (expected, known) = (self.known_rate, f64::from(self.known_bytes));
        let kept = known * (-queued / MEMORY_BYTES).exp();
        let is_brief = queued <= MIN_MEMORY_BYTES;
        let assumed = if is_brief { (MIN_MEMORY_BYTES - kept).max(0.0) } else { 0.0 };
        // Sums of bytes and times, not an average of rates: by as much as one acknowledgement is late, the next is early.
        let rate = (kept + assumed + queued) / ((kept + assumed) / expected + ns / 1e9);
        let least = if is_brief { expected / MAX_DECREASE } else { 0.0 };
        self.measured_bytes = (kept + assumed + queued) as f32;
        self.measured = rate.max(least).max(MIN_RATE);
    }

    /// The weight that the last measurement still has, from 0 to 1.
    fn decay(&self, now: Instant) -> f64 {
        now.decay_since(self.last_measured, HALF_LIFE_NS)
    }
}
