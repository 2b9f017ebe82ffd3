//! Bursts: bytes that a shaper lets pass at once and delays the following for, like a token bucket.
//!
//! A train that arrives early is no proof of a fast path, as a shaper may have let it pass. The next frame is one: if it is late
//! by the time that the train takes at the rate, the path owes that time. Until it is paid, the path is busy, although nothing is
//! in flight.

use super::packet_train::{Elapsed, PacketTrain, TimeRange};
use super::sent_frames::{AckedFrames, SentFrame};
use crate::time::{Instant, MaybeInstant};

/// The largest segment of a kernel, in bytes: a shaper lets it pass as one packet.
pub const MAX_BURST: u64 = 64 << 10;
/// What is expected of a burst, in bytes: a frame of this length is not longer than such a segment, whose tail would wait.
const EXPECTED_BURST: u64 = 60 << 10;
/// A proof holds for this time, in nanoseconds: then the next frame behind a burst tells anew.
const PROOF_LIFETIME_NS: u64 = 100_000_000;
/// A frame shows how long the burst before it took if that has its bytes this many times.
const MIN_BURST_PART: u64 = 16;
/// The least time, in nanoseconds, by which such a frame is late: a process that has other work delays it by less.
const MIN_LATE_NS: u64 = 100_000;
/// It is late by the time since the burst at least, divided by this: the longer ago that is, the likelier are other reasons.
const MIN_LATE_PART: u64 = 4;
/// Fewer bytes are within the noise of when a process polls.
const MIN_WAITED: u64 = 4 << 10;
/// The burst passed in less than the time that it really took, divided by this.
const MIN_EARLY: f64 = 1.25;

/// What is known of a path's bursts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Burst {
    bytes: u64,
    proven: MaybeInstant,
}

impl Burst {
    /// `acked` begins the next train behind `train`, and has arrived by `end`, over a path of that least round trip. Returns how
    /// long `train` really took, if it passed early and `acked` waited for that.
    pub fn judge(
        &mut self,
        now: Instant,
        min_rtt_ns: u64,
        train: &PacketTrain,
        end: TimeRange,
        acked: &AckedFrames,
    ) -> Option<Elapsed> {
        let is_behind_burst = |early: &Elapsed| early.bytes <= MAX_BURST && MIN_BURST_PART * acked.bytes <= early.bytes;
        let early = train.elapsed().filter(is_behind_burst)?;
        let in_time = acked.first.plus_ns(min_rtt_ns);
        let late_ns = end.earliest.since_ns(in_time);
        let since_ns = in_time.since_ns(train.started().earliest);
        let is_late = late_ns >= MIN_LATE_NS.max(min_rtt_ns) && MIN_LATE_PART * late_ns >= since_ns;
        let took = train.elapsed_by(end);
        let was_early = early.max_ns as f64 * MIN_EARLY < took.min_ns as f64;
        if !is_late || !was_early {
            return None;
        }
        // How much more the path lets pass is not known yet.
        if !self.is_proven(now) {
            self.bytes = EXPECTED_BURST;
        }
        self.proven = Some(now).into();
        Some(took)
    }

    /// `newest` arrived by `end`: much earlier than after `ahead_ns`, which those ahead of it take, if the path owed nothing.
    pub fn check(&mut self, min_rtt_ns: u64, end: TimeRange, newest: &SentFrame, ahead_ns: u64) {
        if ahead_ns >= MIN_LATE_NS && end.latest < newest.at.plus_ns(min_rtt_ns + ahead_ns / 2) {
            self.proven = None.into();
        }
    }

    /// Of a train of `bytes`, `waited` did not pass at once.
    pub fn limit(&mut self, bytes: u64, waited: u64) {
        if waited >= MIN_WAITED {
            self.bytes = self.bytes.min(bytes.saturating_sub(waited));
        }
    }

    /// Whether the path is known to have bursts.
    pub fn is_proven(&self, now: Instant) -> bool {
        self.proven.get().is_some_and(|at| now.since_ns(at) < PROOF_LIFETIME_NS)
    }

    /// Bytes that pass at once.
    pub fn bytes(&self, now: Instant) -> u64 {
        if self.is_proven(now) { self.bytes } else { 0 }
    }
}
