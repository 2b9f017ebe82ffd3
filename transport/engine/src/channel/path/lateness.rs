//! Mean lateness: how much later than the estimates say frames arrive over a subchannel. One that loses packets
//! delivers most frames in time, and a few a tenth of a second late, which neither rate nor round trip show.

use crate::time::Instant;

/// A frame is late if it arrives more than this, in nanoseconds, after the estimate: estimates may be wrong, and processes
/// descheduled, by as much.
const NOISE_NS: u64 = 1_000_000;
/// Acknowledgements that the mean is taken over, at most.
const MAX_SAMPLES: f32 = 1024.0;
/// The mean is divided by at least this number of acknowledgements: the first one may have been bad luck.
const MIN_SAMPLES: f32 = 64.0;
/// A mean below this, in nanoseconds, counts as 0.
const MIN_MEAN_NS: f32 = 1_000.0;
/// A measurement counts half after this time, in nanoseconds: a subchannel that is avoided must get another chance.
const HALF_LIFE_NS: u64 = 1_000_000_000;

#[derive(Clone, Debug, Default)]
pub struct Lateness {
    mean_ns: f32,
    /// Number of acknowledgements in the mean.
    samples: f32,
    /// When the mean was computed.
    sampled_at: Instant,
}

impl Lateness {
    /// How late, in nanoseconds.
    pub fn at(&self, now: Instant) -> u64 {
        if self.mean_ns == 0.0 { 0 } else { self.decayed_ns(now) as u64 }
    }

    /// An acknowledgement was late by that much, or in time.
    pub fn sample(&mut self, now: Instant, late_ns: u64) {
        self.samples = (self.samples + 1.0).min(MAX_SAMPLES);
        let is_late = late_ns > NOISE_NS;
        if !is_late && self.mean_ns == 0.0 {
            return;
        }
        let before_ns = self.decayed_ns(now);
        let late_ns = if is_late { late_ns as f32 } else { 0.0 };
        let mean_ns = before_ns + (late_ns - before_ns) / self.samples.max(MIN_SAMPLES);
        self.mean_ns = if mean_ns < MIN_MEAN_NS { 0.0 } else { mean_ns };
        self.sampled_at = now;
    }

    fn decayed_ns(&self, now: Instant) -> f32 {
        self.mean_ns * now.decay_since(self.sampled_at, HALF_LIFE_NS) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// One in `each` acknowledgements, that come each millisecond, is 200 ms late; in the mean at the end.
    fn mean_ns(each: u64, count: u64) -> u64 {
        let mut lateness = Lateness::default();
        for at in 1..=count {
            lateness.sample(Instant(at * MS), if at % each == 0 { 200 * MS } else { 0 });
        }
        lateness.at(Instant(count * MS))
    }

    #[test]
    fn it_is_the_mean_of_the_last_thousand_and_one_alone_is_taken_for_one_of_many() {
        assert_eq!(mean_ns(1, 1), 200 * MS / 64);
        assert!((MS..3 * MS).contains(&mean_ns(100, 1000)), "{}", mean_ns(100, 1000));
        assert!((190_000..200_000).contains(&mean_ns(2000, 2000)), "{}", mean_ns(2000, 2000));
    }

    #[test]
    fn a_delay_within_the_error_of_the_estimate_is_not_late() {
        let mut lateness = Lateness::default();
        (0..1000).for_each(|at| lateness.sample(Instant(at * MS), NOISE_NS));
        assert_eq!(lateness.at(Instant(1000 * MS)), 0);
    }

    #[test]
    fn it_is_forgotten_within_seconds() {
        let mut lateness = Lateness::default();
        lateness.sample(Instant(MS), 200 * MS);
        let after = |seconds: u64| lateness.at(Instant(MS + seconds * 1_000_000_000));
        assert_eq!(after(1), after(0) / 2);
        assert!(after(10) < 5_000, "{}", after(10));
    }
}
