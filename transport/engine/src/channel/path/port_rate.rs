//! The rate of a rail's port: the bytes that its interface sends, of all processes.

use crate::time::Instant;

/// Shortest observation, in nanoseconds: some frames of 64 KiB at 250 Mbit/s.
const MIN_NS: u64 = 10_000_000;
/// Longest observation, in nanoseconds: in a longer one the port may have been idle.
const MAX_NS: u64 = 100_000_000;
/// Weight of a measurement below the estimate.
const FALLS_BY: f64 = 0.125;

/// Recent rate of a port.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortRate {
    /// Messages wait for the port.
    pub is_busy: bool,
    /// Start of the observation, and bytes sent until then.
    since: Option<(Instant, u64)>,
    rate: f64,
}

impl PortRate {
    /// Returns the rate of a busy port, in bytes per second, when an observation ends. `sent_bytes`: bytes that it has sent so far; `None`:
    /// not known.
    pub fn observe(&mut self, now: Instant, sent_bytes: impl FnOnce() -> Option<u64>) -> Option<f64> {
        let took_ns = self.since.map_or(u64::MAX, |(since, _)| now.since_ns(since));
        if took_ns < MIN_NS {
            return None;
        }
        let sent = sent_bytes()?;
        // Some devices update their counter rarely: their bytes would seem to have been sent at once.
        if self.since.is_some_and(|(_, before)| before == sent) {
            return None;
        }
        let (_, before) = self.since.replace((now, sent)).filter(|_| took_ns <= MAX_NS)?;
        let rate = sent.saturating_sub(before) as f64 * 1e9 / took_ns as f64;
        self.rate = if rate > self.rate { rate } else { self.rate + (rate - self.rate) * FALLS_BY };
        Some(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn it_is_what_all_have_sent_in_the_meantime_and_falls_slowly() {
        let mut port = PortRate::default();
        assert_eq!(port.observe(Instant(0), || Some(5)), None, "nothing was seen before");
        assert_eq!(port.observe(Instant(5 * MS), || panic!("too soon")), None);
        assert_eq!(port.observe(Instant(20 * MS), || Some(2_500_005)), Some(125e6));
        assert_eq!(
            port.observe(Instant(30 * MS), || Some(2_500_005)),
            None,
            "a counter that stands still tells nothing"
        );
        assert_eq!(port.observe(Instant(40 * MS), || Some(3_750_005)), Some(62.5e6 / 8.0 + 125e6 * 7.0 / 8.0));
        assert_eq!(port.observe(Instant(50 * MS), || Some(6_250_005)), Some(250e6));
    }

    #[test]
    fn a_counter_that_moves_once_a_second_is_not_used() {
        let mut port = PortRate::default();
        for at in 0..300 {
            assert_eq!(port.observe(Instant(at * 10 * MS), || Some(at / 100 * 125_000_000)), None, "{at}");
        }
    }

    #[test]
    fn a_pause_says_nothing() {
        let mut port = PortRate::default();
        port.observe(Instant(0), || Some(0));
        assert_eq!(port.observe(Instant(500 * MS), || Some(1 << 30)), None);
        assert_eq!(port.observe(Instant(600 * MS), || None), None, "not known");
        assert_eq!(port.observe(Instant(600 * MS), || Some((1 << 30) + 1_000_000)), Some(10e6));
    }
}
