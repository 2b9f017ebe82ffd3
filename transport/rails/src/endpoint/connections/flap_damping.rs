//! Flap damping: a rail whose links to a peer fail again and again is kept out longer each time. Failures decay with time.

use fishplate_engine::Instant;

use crate::connect::outgoing::MIN_BACKOFF_NS;

/// Longest pause before a rail that has failed often is tried again, in nanoseconds.
const MAX_PAUSE_NS: f64 = 10e9;
/// A failure counts half after this time, in nanoseconds.
const HALF_LIFE_NS: u64 = 30_000_000_000;
/// Links that fail within this time, in nanoseconds, count as one failure: a rail has one link for each stream.
const AT_ONCE_NS: u64 = 500_000_000;

/// The recent failures of a rail's links to a peer.
#[derive(Debug, Default)]
pub struct FlapDamping {
    failures: f64,
    last: Instant,
}

impl FlapDamping {
    /// Whether a link has failed at all.
    pub fn has_failed(&self) -> bool {
        self.failures > 0.0
    }

    /// A link has failed. Returns for how many nanoseconds the rail is kept out: twice as long with each failure.
    pub fn failed(&mut self, now: Instant) -> u64 {
        if !self.has_failed() || now.since_ns(self.last) > AT_ONCE_NS {
            self.failures = self.failures * now.decay_since(self.last, HALF_LIFE_NS) + 1.0;
            self.last = now;
        }
        (MIN_BACKOFF_NS as f64 * (self.failures - 1.0).exp2()).min(MAX_PAUSE_NS) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flapping_rail_is_kept_out_longer_each_time_and_forgiven_with_time() {
        let mut flap_damping = FlapDamping::default();
        let mut before = 0;
        for second in 0..6 {
            let pause = flap_damping.failed(Instant(second * 1_000_000_000));
            assert!(pause > before, "{pause} after {before}");
            before = pause;
        }
        for second in 6..100 {
            assert!(flap_damping.failed(Instant(second * 1_000_000_000)) <= 10_000_000_000);
        }
        assert!(flap_damping.failed(Instant(1_000_000_000_000)) < 60_000_000);
    }

    #[test]
    fn streams_that_fail_together_are_one_failure() {
        let mut flap_damping = FlapDamping::default();
        let pauses = [0, 1, 2, 100].map(|ms| flap_damping.failed(Instant(ms * 1_000_000)));
        assert_eq!(pauses, [MIN_BACKOFF_NS; 4]);
    }
}
