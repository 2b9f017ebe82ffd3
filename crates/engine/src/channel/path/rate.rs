//! The rate of a subchannel's path, from how long packet trains take.

use std::cmp::Ordering;

use super::congestion_window::CongestionWindow;
use super::packet_train::{Elapsed, PacketTrain, TimeRange};
use super::sent_frames::AckedFrames;
use crate::time::Instant;

/// Assumed of a rail whose driver does not tell its speed: 1 Gbit/s, in bytes per second.
pub const ASSUMED_RATE: f64 = 125e6;
/// Rates are kept above this, so that times stay finite.
const MIN_RATE: f64 = 1e3;
/// Shorter queueing times, in nanoseconds, are within the noise of when a process polls: they count as so much, and
/// only where that shows the path to be faster than was known.
const MIN_QUEUED_NS: u64 = 10_000;
/// On a long path these are longer, as its delay varies: this part of the round trip.
const MIN_QUEUED_PART: u64 = 16;
/// Weight of a rate that the driver has measured.
const DRIVER_SAMPLE_WEIGHT: f64 = 0.125;
/// Less than so many bytes in flight show nothing of a path's rate: other delays are longer than theirs.
const MIN_QUEUED_BYTES: u64 = 512;
/// The rate is that of about so many queued bytes measured last.
const MEMORY_BYTES: f64 = 512.0 * 1024.0;
/// A measurement by no more bytes than these counts against at least so many before it: a process or a whole machine that
/// stands still for a moment looks like a slow path.
const MIN_MEMORY_BYTES: f64 = 16.0 * 1024.0;
/// Nor does it lower the rate by more than this factor.
const MAX_DECREASE: f64 = 2.0;
/// A measurement that would allow a rate higher by this factor does not tell how fast a path is.
const MAX_UNCERTAINTY: f64 = 1.25;
/// What was measured so long ago, in nanoseconds, counts half.
const HALF_LIFE_NS: u64 = 100_000_000;
/// A train that follows a pause may begin with so many bytes that pass at once, in bytes: a shaper lets the largest segment of
/// a kernel pass, and makes up for it later. They do not show that a path is faster.
const MAX_FREE_BYTES: u64 = 64 << 10;
/// A train that is no longer than that, and faster than expected, raises the rate by this part. Not by more: where messages leave
/// a shaper time to rest, all of them pass at once.
const FREE_INCREASE: f64 = 1.0 / 64.0;
/// Longest message that goes in one frame, in bytes; longer ones are announced and cut. A path is given as much to show
/// that it is fast.
pub const MAX_EAGER_SIZE: u64 = 64 << 10;

/// What is known of it, in bytes per second.
#[derive(Clone, Debug)]
pub struct Rate {
    /// By driver or assumption.
    nominal: f32,
    /// That of the rail's port; 0: not known.
    port: f32,
    measured: f64,
    last_measured: Instant,
    /// Bytes by which it was measured, the older the less.
    measured_bytes: f32,
    /// What has arrived of late; the times are those when the peer had that, plus half a round trip.
    train: PacketTrain,
    /// What was known before that: the rate, and by how many bytes.
    known_rate: f64,
    known_bytes: f32,
}

impl Rate {
    /// Of a rail of `speed` bytes per second, where that is known.
    pub fn new(speed: Option<f64>) -> Self {
        let nominal = speed.unwrap_or(ASSUMED_RATE).max(MIN_RATE);
        let (last_measured, train) = (Instant(0), PacketTrain::default());
        Rate {
            nominal: nominal as f32,
            port: 0.0,
            measured: nominal,
            last_measured,
            measured_bytes: 0.0,
            train,
            known_rate: nominal,
            known_bytes: 0.0,
        }
    }

    /// What driver or assumption say.
    pub fn nominal(&self) -> f64 {
        self.nominal.into()
    }

    /// What the rail's port carries for all processes of the host; 0: not known.
    pub fn of_port(&self) -> f64 {
        self.port.into()
    }

    /// The port carries that.
    pub fn port_measured(&mut self, rate: f64) {
        self.port = rate as f32;
    }

    /// When it was measured; the origin of time: never.
    pub fn last_measured(&self) -> Instant {
        self.last_measured
    }

    /// As it was measured, however long ago.
    pub fn measured(&self) -> f64 {
        self.measured
    }

    /// How long so many bytes take, in nanoseconds.
    pub fn time_of(&self, bytes: u64) -> u64 {
        (bytes as f64 / self.measured * 1e9) as u64
    }

    /// The driver has measured it.
    pub fn driver_measured(&mut self, now: Instant, rate: f64) {
        if rate > self.measured && rate.is_finite() {
            self.measured += (rate - self.measured) * DRIVER_SAMPLE_WEIGHT;
            self.last_measured = now;
        }
    }

    /// Whether that was longer (`Greater`) than is known.
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

    /// It was probed, with bytes that nothing waits for. What was known counts only if it may be right.
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

    /// Another one over the same path has shown that.
    pub fn inherit(&mut self, before: &Rate) {
        (self.measured, self.known_rate, self.port) = (before.measured, before.measured, before.port);
    }

    /// Frames have arrived by `end`, plus a round trip, over a path of this least
    /// round trip, in nanoseconds, and window.
    pub fn sample(
        &mut self,
        now: Instant,
        (min_rtt_ns, window): (u64, &CongestionWindow),
        end: TimeRange,
        acked: &AckedFrames,
    ) {
        if !self.train.continues(acked.first.plus_ns(min_rtt_ns), acked.after_pause) {
            // Short messages measure nothing, and each is a train of its own.
            let known_bytes =
                if self.measured_bytes == 0.0 { 0.0 } else { self.measured_bytes * self.decay(now) as f32 };
            (self.known_rate, self.known_bytes) = (self.measured, known_bytes);
        }
        let took = self.train.extend(acked.first.plus_ns(min_rtt_ns), acked.after_pause, end, acked.bytes);
        if took.bytes < MIN_QUEUED_BYTES {
            return;
        }
        let (rate, noise_ns) = (self.known_rate, (min_rtt_ns / MIN_QUEUED_PART).max(MIN_QUEUED_NS));
        let max_ns = took.max_ns.max(MIN_QUEUED_NS) as f64;
        let min_ns = if took.min_ns > noise_ns { took.min_ns as f64 } else { 0.0 };
        let expected_ns = took.bytes as f64 / rate * 1e9;
        if expected_ns < min_ns && window.explains(took.bytes, took.min_ns, min_rtt_ns) {
            self.train.restart();
            return;
        }
        if expected_ns <= max_ns && expected_ns >= min_ns * MAX_UNCERTAINTY {
            self.measured = rate;
            if took.min_ns <= MIN_QUEUED_NS && noise_ns == MIN_QUEUED_NS {
                // It is as fast as can be told.
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
        // What passed at once may have been all.
        let surely = took.bytes.saturating_sub(MAX_FREE_BYTES) as f64 / took.bytes as f64;
        if expected_ns > max_ns && expected_ns * surely <= max_ns {
            self.measured = rate * (1.0 + FREE_INCREASE);
            return;
        }
        let most_ns = if expected_ns > max_ns { max_ns / surely } else { max_ns };
        self.update(took.bytes as f64, expected_ns.clamp(min_ns.min(most_ns), most_ns));
    }

    /// The bytes of the present train took so many nanoseconds. What was known before it counts as well; what its start
    /// said alone does not: a link or its shaper may let a burst pass at once, and make up for it later.
    fn update(&mut self, queued: f64, ns: f64) {
        let (expected, known) = (self.known_rate, f64::from(self.known_bytes));
        let kept = known * (-queued / MEMORY_BYTES).exp();
        let is_brief = queued <= MIN_MEMORY_BYTES;
        let assumed = if is_brief { (MIN_MEMORY_BYTES - kept).max(0.0) } else { 0.0 };
        // Sums, not an average of rates: what one acknowledgement was late, the next is early.
        let rate = (kept + assumed + queued) / ((kept + assumed) / expected + ns / 1e9);
        let least = if is_brief { expected / MAX_DECREASE } else { 0.0 };
        self.measured_bytes = (kept + assumed + queued) as f32;
        self.measured = rate.max(least).max(MIN_RATE);
    }

    /// What is left of a measurement's weight.
    fn decay(&self, now: Instant) -> f64 {
        now.decay_since(self.last_measured, HALF_LIFE_NS)
    }
}
