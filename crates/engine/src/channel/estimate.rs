//! What is known of a subchannel's path: delivery rate, delay, and how much is still under way.

use crate::time::Instant;

/// Assumed of a rail whose driver does not tell its speed: 1 Gbit/s, in bytes per second.
const ASSUMED_RATE: f64 = 125e6;
/// Rates are kept above this, so that times stay finite.
const LEAST_RATE: f64 = 1e3;
/// Acknowledgements measure a rate only over at least so many bytes; shorter spans measure the acknowledgement.
const LEAST_SPAN: u64 = 128 << 10;
/// Share of the newest sample in the rate.
const GAIN: f64 = 0.25;

/// A sample from the driver (over TCP: the kernel's `TCP_INFO`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathSample {
    /// Delivery rate, in bytes per second.
    pub rate: f64,
    /// The sender had nothing more to send: the rate is a lower bound.
    pub limited_by_sender: bool,
    /// Least round trip time, in nanoseconds.
    pub min_rtt_ns: u64,
}

/// Estimates of one subchannel.
#[derive(Clone, Debug)]
pub struct Estimate {
    rate: f64,
    min_rtt_ns: u64,
    /// Bytes handed over and not acknowledged.
    in_flight: u64,
    /// When, at the estimated rate, all of them would have left.
    busy_until: Instant,
    /// Bytes acknowledged since `span_start`.
    span: u64,
    span_start: Instant,
    /// The driver samples the path; acknowledgements then do not.
    sampled: bool,
}

impl Estimate {
    /// For a rail of `speed` bytes per second, where that is known.
    pub fn new(speed: Option<f64>) -> Self {
        Estimate {
            rate: speed.unwrap_or(ASSUMED_RATE).max(LEAST_RATE),
            min_rtt_ns: 0,
            in_flight: 0,
            busy_until: Instant(0),
            span: 0,
            span_start: Instant(0),
            sampled: false,
        }
    }

    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// One-way delay, in nanoseconds.
    pub fn delay_ns(&self) -> u64 {
        self.min_rtt_ns / 2
    }

    /// Bytes still under way. Acknowledgements come late and in lumps, so never more than what the rate has left over.
    pub fn under_way(&self, now: Instant) -> u64 {
        let modelled = self.busy_until.since_ns(now) as f64 * self.rate / 1e9;
        self.in_flight.min(modelled as u64)
    }

    /// `bytes` have been handed over.
    pub fn sent(&mut self, now: Instant, bytes: u64) {
        if self.in_flight == 0 {
            self.span = 0;
            self.span_start = now;
        }
        self.in_flight += bytes;
        let start = self.busy_until.max(now);
        self.busy_until = start.plus_ns((bytes as f64 / self.rate * 1e9) as u64);
    }

    /// `bytes` have been acknowledged.
    pub fn acknowledged(&mut self, now: Instant, bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.span += bytes;
        let elapsed_ns = now.since_ns(self.span_start);
        if self.span >= LEAST_SPAN && elapsed_ns > 0 {
            if !self.sampled {
                let rate = self.span as f64 / elapsed_ns as f64 * 1e9;
                self.rate = ((1.0 - GAIN) * self.rate + GAIN * rate).max(LEAST_RATE);
            }
            self.span = 0;
            self.span_start = now;
        }
    }

    /// The driver has measured the path.
    pub fn sample(&mut self, sample: PathSample) {
        self.sampled = true;
        self.min_rtt_ns = sample.min_rtt_ns;
        if !sample.limited_by_sender || sample.rate > self.rate {
            self.rate = ((1.0 - GAIN) * self.rate + GAIN * sample.rate).max(LEAST_RATE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_approaches_what_acknowledgements_show() {
        let mut estimate = Estimate::new(None);
        let mut now = Instant(0);
        for _ in 0..40 {
            estimate.sent(now, 1 << 20);
            now = now.plus_ns(33_554_432); // 1 MiB at 31.25 MB/s
            estimate.acknowledged(now, 1 << 20);
        }
        assert!((estimate.rate() / 31.25e6 - 1.0).abs() < 0.01, "{}", estimate.rate());
    }

    #[test]
    fn what_is_under_way_drains_with_time_and_with_acknowledgements() {
        let mut estimate = Estimate::new(Some(1e9));
        estimate.sent(Instant(0), 1_000_000);
        assert_eq!(estimate.under_way(Instant(0)), 1_000_000);
        assert_eq!(estimate.under_way(Instant(400_000)), 600_000);
        estimate.acknowledged(Instant(400_000), 900_000);
        assert_eq!(estimate.under_way(Instant(400_000)), 100_000);
        assert_eq!(estimate.under_way(Instant(2_000_000)), 0);
    }

    #[test]
    fn a_sample_limited_by_the_sender_only_raises_the_rate() {
        let mut estimate = Estimate::new(Some(1e8));
        let sample = PathSample { rate: 1e7, limited_by_sender: true, min_rtt_ns: 100 };
        estimate.sample(sample);
        assert_eq!(estimate.rate(), 1e8);
        estimate.sample(PathSample { rate: 2e8, ..sample });
        assert_eq!(estimate.rate(), 1.25e8);
        estimate.sample(PathSample { rate: 1e7, limited_by_sender: false, min_rtt_ns: 100 });
        assert!(estimate.rate() < 1.25e8);
    }
}
