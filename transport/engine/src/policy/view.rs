//! The subchannels, as policies see them.

use arrayvec::ArrayVec;

use crate::limits::MAX_SUBCHANNELS;
use crate::processor::ProcessorCost;

/// Delay that is added to a subchannel of last resort, in nanoseconds: other subchannels carry all that they can take.
pub const LAST_RESORT_NS: u64 = 1_000_000_000;

/// One subchannel.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// Position of its rail in the user's list; weights are given in that order.
    pub rail: u8,
    /// Number of its rail's subchannels that are up: they share the rail's weight.
    pub streams: u8,
    /// It can take a frame now.
    pub open: bool,
    /// Bytes that its path has to carry before the next one.
    pub in_flight: u64,
    /// Bytes of a message that pass its path at once when that is idle.
    pub burst: u64,
    /// Nominal rate of its rail, in bytes per second; above zero, and constant.
    pub speed: f64,
    /// Estimated rate, in bytes per second; above zero.
    pub rate: f64,
    /// Estimated one-way delay, in nanoseconds.
    pub delay_ns: u64,
    /// Mean lateness against the estimate by rate and delay, in nanoseconds.
    pub late_ns: u64,
    /// Bytes that may be in flight at a time; further ones wait for a round trip.
    pub window: u64,
    /// Processor cost of frames at both ends.
    pub processor: ProcessorCost,
    /// Short messages follow the peer here: its newest frame has come over it.
    pub is_followed: bool,
}

/// All subchannels of a virtual channel that are up; a policy answers with a position in this list.
pub type Views = ArrayVec<View, MAX_SUBCHANNELS>;

impl View {
    /// Expected one-way delay with lateness, in nanoseconds.
    pub fn latency_ns(&self) -> u64 {
        self.delay_ns + self.late_ns
    }

    /// When `len` more bytes will have arrived, in nanoseconds from now.
    pub fn finish_ns(&self, len: u64) -> f64 {
        let bytes = self.in_flight + len;
        let last = if len <= self.burst { self.in_flight } else { bytes };
        let leaves_ns = last as f64 / self.rate * 1e9;
        if bytes <= self.window {
            return leaves_ns + self.latency_ns() as f64;
        }
        let waits_ns = ((bytes - 1) / self.window) as f64 * 2.0 * self.delay_ns as f64;
        leaves_ns.max(waits_ns) + self.latency_ns() as f64
    }

    /// Its rate in the long run, in bytes per second: at most a window each round trip.
    pub fn lasting_rate(&self) -> f64 {
        let round_trip_ns = 2.0 * self.delay_ns as f64;
        self.rate.min(self.window as f64 * 1e9 / round_trip_ns.max(1.0))
    }

    /// Its part of its rail's weight: that in `weights`, or the rail's nominal speed where the list has none. (Not the estimated
    /// rate: a rail that carried little lately would be taken for a slow one, and get less.)
    pub fn weight(&self, weights: &[u32]) -> f64 {
        self.part_of(weights.get(usize::from(self.rail)).map_or(self.speed, |weight| f64::from(*weight)))
    }

    /// Its part of `rail`, which its rail's subchannels share.
    pub fn part_of(&self, rail: f64) -> f64 {
        rail / f64::from(self.streams.max(1))
    }
}

#[cfg(test)]
impl View {
    /// Of a rail of this rate, in bytes per second, without delay, over which nothing is under way.
    pub fn idle(rate: f64) -> View {
        View { streams: 1, open: true, speed: rate, rate, window: u64::MAX, ..View::default() }
    }
}
