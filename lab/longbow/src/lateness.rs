//! Distribution of the lateness of frames.

use crate::message::Lateness;

/// Upper bound of the first bucket.
const MIN_NS: f64 = 1_000.0;
/// Buckets per doubling: percentiles are accurate to 4.5 %.
const PER_DOUBLING: f64 = 16.0;
/// Number of buckets: the last one begins at a quarter of an hour.
const BUCKETS: usize = 480;

/// Distribution of lateness.
pub struct LatenessCount {
    buckets: Vec<u64>,
    frames: u64,
    sum_ns: i64,
    max_ns: i64,
}

impl LatenessCount {
    pub fn new() -> LatenessCount {
        LatenessCount { buckets: vec![0; BUCKETS], frames: 0, sum_ns: 0, max_ns: 0 }
    }

    pub fn count(&mut self, late_ns: i64) {
        // For early frames the logarithm is NaN or negative, which yields the first bucket.
        let doublings = (late_ns as f64 / MIN_NS).log2();
        let bucket = (doublings * PER_DOUBLING).ceil() as usize;
        self.buckets[bucket.min(BUCKETS - 1)] += 1;
        self.frames += 1;
        self.sum_ns = self.sum_ns.saturating_add(late_ns);
        self.max_ns = self.max_ns.max(late_ns);
    }

    /// Summary of all frames since the count began. The mean can exceed the 99th percentile if a few frames are very late, as
    /// after a stall of the machine.
    pub fn summary(&self) -> Lateness {
        let mut above = self.frames / 100;
        let last = self.buckets.iter().rposition(|count| {
            let found = *count > above;
            above = above.saturating_sub(*count);
            found
        });
        let end_ns = |bucket: usize| MIN_NS * (bucket as f64 / PER_DOUBLING).exp2();
        let max_ns = self.max_ns.unsigned_abs();
        let p99_ns = last.map_or(0, |bucket| (end_ns(bucket).round() as u64).min(max_ns.max(MIN_NS as u64)));
        Lateness { frames: self.frames, mean_ns: self.sum_ns as f64 / self.frames.max(1) as f64, p99_ns, max_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(late_ns: impl IntoIterator<Item = i64>) -> Lateness {
        let mut late = LatenessCount::new();
        late_ns.into_iter().for_each(|late_ns| late.count(late_ns));
        late.summary()
    }

    #[test]
    fn the_summary_is_right() {
        assert_eq!(of([]), Lateness { frames: 0, mean_ns: 0.0, p99_ns: 0, max_ns: 0 });
        assert_eq!(of([-40_000]), Lateness { frames: 1, mean_ns: -40_000.0, p99_ns: 1_000, max_ns: 0 });
        let late = of((1..=200).map(|us| us * 1_000));
        assert_eq!((late.frames, late.mean_ns, late.max_ns), (200, 100_500.0, 200_000));
        assert!((198_000..=200_000).contains(&late.p99_ns), "{}", late.p99_ns);
    }

    #[test]
    fn percentiles_are_close_however_late() {
        for late_ns in [1_500, 70_000, 2_000_000, 50_000_000, 7_000_000_000, 800_000_000_000_i64] {
            let found = of([late_ns; 100].into_iter().chain([late_ns * 2])).p99_ns as f64 / late_ns as f64;
            assert!((1.0..1.046).contains(&found), "{late_ns}: {found}");
        }
    }

    #[test]
    fn a_few_frames_that_are_very_late_are_in_the_mean_and_in_the_greatest() {
        let late = of((0..1_000).map(|frame| if frame < 5 { 1_000_000_000 } else { 10_000 }));
        assert!(late.mean_ns > 5_000_000.0 && late.p99_ns < 11_000);
        assert_eq!(late.max_ns, 1_000_000_000);
    }
}
