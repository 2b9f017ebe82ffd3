//! How late frames are delivered.

use crate::message::Lateness;

const BUCKET_NS: i64 = 1_000;
/// Buckets of a microsecond; what is later counts as two milliseconds late.
const BUCKETS: usize = 2_000;

/// Distribution of lateness.
pub struct LatenessCount {
    buckets: Vec<u64>,
    frames: u64,
    sum_ns: i64,
}

impl LatenessCount {
    pub fn new() -> LatenessCount {
        LatenessCount { buckets: vec![0; BUCKETS], frames: 0, sum_ns: 0 }
    }

    pub fn count(&mut self, late_ns: i64) {
        let bucket = usize::try_from(late_ns / BUCKET_NS).unwrap_or(0).min(BUCKETS - 1);
        self.buckets[bucket] += 1;
        self.frames += 1;
        self.sum_ns = self.sum_ns.saturating_add(late_ns);
    }

    pub fn summary(&self) -> Lateness {
        let mut above = self.frames / 100;
        let last = self.buckets.iter().rposition(|count| {
            let found = *count > above;
            above = above.saturating_sub(*count);
            found
        });
        let p99_ns = last.map_or(0, |bucket| (bucket as u64 + 1) * BUCKET_NS as u64);
        Lateness { frames: self.frames, mean_ns: self.sum_ns as f64 / self.frames.max(1) as f64, p99_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_right() {
        let mut late = LatenessCount::new();
        assert_eq!(late.summary(), Lateness { frames: 0, mean_ns: 0.0, p99_ns: 0 });
        for us in 1..=200 {
            late.count(us * 1_000 - 500);
        }
        assert_eq!(late.summary(), Lateness { frames: 200, mean_ns: 100_000.0, p99_ns: 198_000 });
        late.count(-40_000);
        assert!(late.summary().mean_ns < 100_000.0);
    }
}
