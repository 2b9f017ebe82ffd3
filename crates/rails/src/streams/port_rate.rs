//! The rate of a rail's port: what its interface sends, whoever has it sent.

use fishplate_engine::Instant;

/// An observation takes at least so long, in nanoseconds: some frames of 64 KiB at 250 Mbit/s.
const LEAST_NS: u64 = 10_000_000;
/// After a longer pause, in nanoseconds, the port may have been idle.
const MOST_NS: u64 = 100_000_000;
/// A rate that falls counts by this part.
const FALLS_BY: f64 = 0.125;

/// What a port has sent of late.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortRate {
    /// When it had sent how much.
    since: Option<(Instant, u64)>,
    rate: f64,
}

impl PortRate {
    /// Messages wait for the port, which has sent what `sent_bytes` tells; `None`: not known. The rate, in bytes per second, where
    /// an observation has ended.
    pub fn busy(&mut self, now: Instant, sent_bytes: impl FnOnce() -> Option<u64>) -> Option<f64> {
        let took_ns = self.since.map_or(u64::MAX, |(since, _)| now.since_ns(since));
        if took_ns < LEAST_NS {
            return None;
        }
        let sent = sent_bytes()?;
        let (_, before) = self.since.replace((now, sent)).filter(|_| took_ns <= MOST_NS)?;
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
        assert_eq!(port.busy(Instant(0), || Some(5)), None, "nothing was seen before");
        assert_eq!(port.busy(Instant(5 * MS), || panic!("too soon")), None);
        assert_eq!(port.busy(Instant(20 * MS), || Some(2_500_005)), Some(125e6));
        assert_eq!(port.busy(Instant(30 * MS), || Some(2_500_005)), Some(125e6 * 7.0 / 8.0));
        assert_eq!(port.busy(Instant(40 * MS), || Some(5_000_005)), Some(250e6));
    }

    #[test]
    fn a_pause_says_nothing() {
        let mut port = PortRate::default();
        port.busy(Instant(0), || Some(0));
        assert_eq!(port.busy(Instant(500 * MS), || Some(1 << 30)), None);
        assert_eq!(port.busy(Instant(600 * MS), || None), None, "not known");
        assert_eq!(port.busy(Instant(600 * MS), || Some((1 << 30) + 1_000_000)), Some(10e6));
    }
}
