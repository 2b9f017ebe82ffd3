//! What a process may queue at a rail's port, which all processes of its host share.

use crate::time::Instant;

/// Shortest observation, in nanoseconds: some frames of 64 KiB at 250 Mbit/s.
const MIN_NS: u64 = 10_000_000;
/// Longest observation, and longest absence that counts, in nanoseconds: in a longer one the port may have been idle.
const MAX_NS: u64 = 100_000_000;
/// Bytes that are given to a port leave in this time, in nanoseconds. Bytes bound to a subchannel cannot go over another that turns
/// out to be faster, and the peer's frames wait as long for their acknowledgements. It is long enough that a progress thread that
/// runs once a millisecond keeps the port busy; the time for which others use the processor comes on top.
pub const MAX_QUEUE_NS: u64 = 8_000_000;
/// Weight of a new part, and of a rate below the estimate.
const WEIGHT: f64 = 0.125;

/// Bytes that have passed a port since some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortBytes {
    /// Of all processes of the host.
    pub all: u64,
    /// Of this process.
    pub own: u64,
}

/// A process's part of the rate of a port: its part of the bytes, or an equal part for each rank of its host, if that is more. So a
/// rank that has got little may claim its part, and one whose neighbours are idle has the whole port.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortShare {
    /// Messages wait for the port.
    pub is_busy: bool,
    /// Start of the observation, and bytes sent until then.
    since: Option<(Instant, PortBytes)>,
    /// Rate of the port for all processes.
    rate: f64,
    /// Part of its bytes that are of this process.
    own: f64,
    away_ns: u64,
}

impl PortShare {
    /// Returns the bytes that a rank among `ranks` may queue at a busy port, when an observation ends. `away_ns`: how long the
    /// process was away before this look. `sent`: bytes that have passed the port so far; `None`: not known.
    pub fn observe(
        &mut self,
        now: Instant,
        ranks: u32,
        away_ns: u64,
        sent: impl FnOnce() -> Option<PortBytes>,
    ) -> Option<u64> {
        self.away_ns = away_ns.max(self.away_ns - self.away_ns / 8).min(MAX_NS);
        let took_ns = self.since.map_or(u64::MAX, |(since, _)| now.since_ns(since));
        if took_ns < MIN_NS {
            return None;
        }
        let sent = sent()?;
        // Some devices update their counter rarely: their bytes would seem to have been sent at once.
        if self.since.is_some_and(|(_, before)| before.all == sent.all) {
            return None;
        }
        let (_, before) = self.since.replace((now, sent)).filter(|_| took_ns <= MAX_NS)?;
        let all = sent.all.saturating_sub(before.all).max(1) as f64;
        let rate = all * 1e9 / took_ns as f64;
        self.rate = if rate > self.rate { rate } else { self.rate + (rate - self.rate) * WEIGHT };
        // Less than before: connections have ended in the meantime.
        let own = sent.own.saturating_sub(before.own) as f64 / all;
        self.own += (own.min(1.0) - self.own) * WEIGHT;
        let share = self.rate * self.own.max(1.0 / f64::from(ranks.max(1)));
        Some((share * (MAX_QUEUE_NS + self.away_ns) as f64 / 1e9) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn bytes(all: u64) -> Option<PortBytes> {
        Some(PortBytes { all, own: 0 })
    }

    #[test]
    fn the_only_rank_of_a_host_has_the_rate_of_the_port_which_falls_slowly() {
        let mut port = PortShare::default();
        let mut observe = |at_ms, all| port.observe(Instant(at_ms * MS), 1, 0, || bytes(all));
        assert_eq!(observe(0, 5), None, "nothing was seen before");
        assert_eq!(observe(5, 9), None, "too soon");
        assert_eq!(observe(20, 2_500_005), Some(1_000_000));
        assert_eq!(observe(30, 2_500_005), None, "a counter that stands still tells nothing");
        assert_eq!(observe(40, 3_750_005), Some(937_500));
        assert_eq!(observe(50, 6_250_005), Some(2_000_000));
    }

    #[test]
    fn one_of_several_ranks_has_an_equal_part_or_what_it_uses() {
        let mut port = PortShare::default();
        let mut observe = |at, own| {
            let sent = PortBytes { all: at * 1_000_000, own };
            port.observe(Instant(at * 10 * MS), 4, 0, || Some(sent)).unwrap_or(0)
        };
        observe(0, 1 << 40);
        assert_eq!(observe(1, 0), 200_000, "its connections have ended");
        assert_eq!(observe(2, 100_000), 200_000);
        let alone: Vec<u64> = (3..100).map(|at| observe(at, at * 1_000_000)).collect();
        assert!(alone[0] == 200_000 && alone[10] > 560_000 && alone[96] > 790_000, "{alone:?}");
    }

    #[test]
    fn a_counter_that_moves_once_a_second_is_not_used() {
        let mut port = PortShare::default();
        for at in 0..300 {
            assert_eq!(port.observe(Instant(at * 10 * MS), 1, 0, || bytes(at / 100 * 125_000_000)), None, "{at}");
        }
    }

    #[test]
    fn a_pause_says_nothing() {
        let mut port = PortShare::default();
        port.observe(Instant(0), 1, 0, || bytes(0));
        assert_eq!(port.observe(Instant(500 * MS), 1, 0, || bytes(1 << 30)), None);
        assert_eq!(port.observe(Instant(600 * MS), 1, 0, || None), None, "not known");
        assert_eq!(port.observe(Instant(600 * MS), 1, 0, || bytes((1 << 30) + 1_000_000)), Some(80_000));
    }

    #[test]
    fn the_longest_absence_is_forgotten_slowly() {
        let mut port = PortShare::default();
        let away_ms = [0, 3, 50, 0, 1000];
        let queued_ms = (0..).zip(away_ms).map(|(at, away_ms)| {
            let queued = port.observe(Instant(at * 10 * MS), 1, away_ms * MS, || bytes(at * 10_000_000));
            queued.unwrap_or(0) / 1_000_000
        });
        assert_eq!(queued_ms.collect::<Vec<_>>(), [0, 11, 58, 51, 108], "1 GB/s");
    }
}
