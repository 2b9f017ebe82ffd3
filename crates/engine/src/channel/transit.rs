//! When frames arrive, by the receiver's clock.
//!
//! The two clocks have different origins, so what counts is by how much later than the least time of late a frame has
//! arrived. How long its acknowledgement takes does not count: that waits for the peer's process, and behind what the peer
//! sends.

use super::train::Between;
use crate::time::Instant;

/// Least times are those of the present and the last window of so many nanoseconds: clocks drift apart, by 40 us in this time
/// if they are poor ones (20 parts in a million).
const WINDOW_NS: u64 = 2_000_000_000;

/// What is known of the way to the peer. Times are in microseconds, and wrap.
#[derive(Clone, Debug, Default)]
pub struct Transit {
    /// Any difference of the two clocks: others are close to it.
    base_us: Option<u32>,
    window_start: Instant,
    present_least_us: Option<i32>,
    last_least_us: Option<i32>,
}

impl Transit {
    /// A frame that was handed over at `handed` was there at `said_at_us`, by the peer's clock, and may have been there for
    /// `waited_us`. When it would have been acknowledged, at the earliest and at the latest, had that taken no longer than
    /// the way of a frame to an idle peer and back, `round_trip_ns`.
    pub fn arrived(
        &mut self,
        now: Instant,
        handed: Instant,
        round_trip_ns: u64,
        (said_at_us, waited_us): (u32, u16),
    ) -> Between {
        let difference_us = said_at_us.wrapping_sub(handed.wrapping_us());
        let base_us = *self.base_us.get_or_insert(difference_us);
        let most_us = difference_us.wrapping_sub(base_us) as i32;
        if now.since_ns(self.window_start) >= WINDOW_NS {
            self.window_start = now;
            self.last_least_us = self.present_least_us.take();
        }
        let least_us = self.present_least_us.map_or(most_us, |least_us| least_us.min(most_us));
        self.present_least_us = Some(least_us);
        let least_us = self.last_least_us.map_or(least_us, |last_us| last_us.min(least_us));
        let late_us = most_us.saturating_sub(least_us).max(0) as u64;
        let waited_us = if waited_us == u16::MAX { late_us } else { u64::from(waited_us) };
        let after = |late_us: u64| handed.plus_ns(round_trip_ns + late_us * 1000);
        (after(late_us.saturating_sub(waited_us)), after(late_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A frame handed over at `at_ms` takes `took_us`; the peer's clock starts close to its end.
    fn arrived(transit: &mut Transit, at_ms: u64, took_us: u32, waited_us: u16) -> (u64, u64) {
        let handed = Instant(at_ms * MS);
        let said_at_us = (u32::MAX - 1_000_000).wrapping_add(handed.wrapping_us()).wrapping_add(took_us);
        let between = transit.arrived(handed.plus_ns(MS), handed, 50_000, (said_at_us, waited_us));
        (between.0.since_ns(handed), between.1.since_ns(handed))
    }

    #[test]
    fn what_takes_longer_than_the_least_is_late_by_as_much() {
        let mut transit = Transit::default();
        assert_eq!(arrived(&mut transit, 0, 30, 0), (50_000, 50_000));
        assert_eq!(arrived(&mut transit, 900, 530, 0), (550_000, 550_000));
        assert_eq!(arrived(&mut transit, 1_200, 530, 200), (350_000, 550_000));
        assert_eq!(arrived(&mut transit, 1_300, 530, u16::MAX), (50_000, 550_000));
        assert_eq!(arrived(&mut transit, 1_400, 20, 0), (50_000, 50_000));
        assert_eq!(arrived(&mut transit, 1_500, 530, 0), (560_000, 560_000));
    }

    #[test]
    fn clocks_that_drift_apart_are_followed() {
        let mut transit = Transit::default();
        arrived(&mut transit, 0, 30, 0);
        arrived(&mut transit, 2_500, 130, 0);
        assert_eq!(arrived(&mut transit, 4_600, 130, 0), (50_000, 50_000));
    }
}
