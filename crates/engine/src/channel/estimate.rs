//! What is known of a subchannel's path: delivery rate, delay, and how much is still under way.

use crate::time::Instant;

/// Assumed of a rail whose driver does not tell its speed: 1 Gbit/s, in bytes per second.
const ASSUMED_RATE: f64 = 125e6;
/// Rates are kept above this, so that times stay finite.
const LEAST_RATE: f64 = 1e3;
/// A rate is measured over at least so many bytes; less measures the acknowledgement.
const LEAST_SPAN: u64 = 4 << 10;
/// The rate is that of about so many bytes measured last.
const MEMORY: f64 = 256.0 * 1024.0;

/// A frame that was handed over.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When.
    pub at: Instant,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Its acknowledgement comes without delay.
    pub prompt: bool,
}

/// Estimates of one subchannel.
///
/// The rate is measured over *bursts*: a burst starts when, as far as is known, nothing is under way any more, so that
/// pauses of the sender do not count. Only acknowledgements of prompt frames end a measurement, as others may have been
/// held back.
#[derive(Clone, Debug)]
pub struct Estimate {
    rate: f64,
    /// What was measured, the older the less.
    measured_bytes: f64,
    measured_ns: f64,
    min_rtt_ns: u64,
    /// Bytes handed over and not acknowledged.
    in_flight: u64,
    /// Prompt frames among them.
    prompt_in_flight: u32,
    /// When, at the estimated rate, all bytes would have left.
    busy_until: Instant,
    burst_start: Instant,
    /// Bytes of the burst that have been acknowledged since `span_start`.
    span: u64,
    span_start: Instant,
    /// Of the acknowledgements of a burst only the first is later than its bytes by a round trip.
    is_first_span: bool,
}

impl Estimate {
    /// For a rail of `speed` bytes per second, where that is known.
    pub fn new(speed: Option<f64>) -> Self {
        Estimate {
            rate: speed.unwrap_or(ASSUMED_RATE).max(LEAST_RATE),
            measured_bytes: 0.0,
            measured_ns: 0.0,
            min_rtt_ns: 0,
            in_flight: 0,
            prompt_in_flight: 0,
            busy_until: Instant(0),
            burst_start: Instant(0),
            span: 0,
            span_start: Instant(0),
            is_first_span: true,
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

    /// A frame has been handed over.
    pub fn sent(&mut self, frame: Sent) {
        if self.prompt_in_flight == 0 && self.under_way(frame.at) == 0 {
            self.burst_start = frame.at;
            self.span_start = frame.at;
            self.span = 0;
            self.is_first_span = true;
        }
        self.in_flight += frame.bytes;
        self.prompt_in_flight += u32::from(frame.prompt);
        let start = self.busy_until.max(frame.at);
        self.busy_until = start.plus_ns((frame.bytes as f64 / self.rate * 1e9) as u64);
    }

    /// A frame has been acknowledged; `ack_delay_ns` is how long the peer may have waited with that.
    pub fn acknowledged(&mut self, now: Instant, frame: Sent, ack_delay_ns: u64) {
        self.in_flight -= frame.bytes.min(self.in_flight);
        self.prompt_in_flight -= u32::from(frame.prompt).min(self.prompt_in_flight);
        if frame.at < self.burst_start {
            return;
        }
        self.span += frame.bytes;
        if !frame.prompt || self.span < LEAST_SPAN {
            return;
        }
        let elapsed_ns = now.since_ns(self.span_start);
        if elapsed_ns == 0 {
            return;
        }
        let lag_ns = if self.is_first_span { self.min_rtt_ns + ack_delay_ns } else { 0 };
        let carrying_ns = elapsed_ns.saturating_sub(lag_ns).max(elapsed_ns / 4);
        self.learn(self.span, carrying_ns);
        self.span = 0;
        self.span_start = now;
        self.is_first_span = false;
    }

    /// The driver has measured the least round trip time, in nanoseconds.
    pub fn set_min_rtt(&mut self, min_rtt_ns: u64) {
        self.min_rtt_ns = min_rtt_ns;
    }

    /// Acknowledgements are late by turns, and then come at once. So bytes and times are summed, not rates averaged:
    /// what one span has too much, the next has too little.
    fn learn(&mut self, bytes: u64, ns: u64) {
        let keep = (-(bytes as f64) / MEMORY).exp();
        self.measured_bytes = self.measured_bytes * keep + bytes as f64;
        self.measured_ns = self.measured_ns * keep + ns as f64;
        self.rate = (self.measured_bytes / self.measured_ns * 1e9).max(LEAST_RATE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn frame(at: u64, bytes: u64, prompt: bool) -> Sent {
        Sent { at: Instant(at), bytes, prompt }
    }

    #[test]
    fn the_rate_is_what_acknowledgements_show_whatever_the_driver_said() {
        for speed in [None, Some(1.25e9)] {
            let mut estimate = Estimate::new(speed);
            let mut now = 0;
            for _ in 0..5 {
                let sent = frame(now, MIB, true);
                estimate.sent(sent);
                now += 33_554_432; // 1 MiB at 31.25 MB/s
                estimate.acknowledged(Instant(now), sent, 0);
            }
            assert!((estimate.rate() / 31.25e6 - 1.0).abs() < 0.01, "{}", estimate.rate());
        }
    }

    #[test]
    fn the_round_trip_and_the_pauses_of_the_sender_do_not_count() {
        let mut estimate = Estimate::new(None);
        estimate.set_min_rtt(20_000_000);
        for round in 0..10 {
            let start = round * 1_000_000_000;
            let sent = frame(start, MIB, true);
            estimate.sent(sent);
            estimate.acknowledged(Instant(start + 20_000_000 + 33_554_432), sent, 0);
        }
        assert!((estimate.rate() / 31.25e6 - 1.0).abs() < 0.01, "{}", estimate.rate());
    }

    #[test]
    fn a_trickle_says_nothing_about_the_rate() {
        let mut estimate = Estimate::new(None);
        for at in 0..10_000 {
            let sent = frame(at * 100_000, 64, at % 1000 == 0);
            estimate.sent(sent);
            estimate.acknowledged(Instant(at * 100_000 + 2_000_000), sent, 0);
        }
        assert_eq!(estimate.rate(), ASSUMED_RATE);
    }

    #[test]
    fn what_is_under_way_drains_with_time_and_with_acknowledgements() {
        let mut estimate = Estimate::new(Some(1e9));
        let (large, small) = (frame(0, 900_000, false), frame(0, 100_000, false));
        estimate.sent(large);
        estimate.sent(small);
        assert_eq!(estimate.under_way(Instant(0)), 1_000_000);
        assert_eq!(estimate.under_way(Instant(400_000)), 600_000);
        estimate.acknowledged(Instant(400_000), large, 0);
        assert_eq!(estimate.under_way(Instant(400_000)), 100_000);
        assert_eq!(estimate.under_way(Instant(2_000_000)), 0);
    }
}
