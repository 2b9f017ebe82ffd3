//! One-way delay: when frames arrive, by the peer's clock.
//!
//! The two clocks have different origins. Their difference is what the fastest frame of late shows, which takes half of its
//! path's least round trip; a frame that takes longer is late. How long its acknowledgement takes does not count: that
//! waits for the peer's process, and behind what the peer sends.

use super::packet_train::TimeRange;
use crate::rare::Empty;
use crate::time::Instant;

/// Least times are those of the present and the last window of so many nanoseconds: clocks drift apart, by 40 us in
/// this time if they are poor ones (20 parts in a million).
const WINDOW_NS: u64 = 2_000_000_000;
/// If the peer held the acknowledgement longer, in microseconds, its process may have been away when the frame arrived.
const MAX_WAIT_US: u16 = 64;

/// What is known of the peer's clock. Times are in microseconds, and wrap.
#[derive(Clone, Debug, Default)]
pub struct PeerClock {
    /// Any difference of the two clocks: others are close to it.
    base_us: Option<u32>,
    window_start: Instant,
    present_least_us: Option<i32>,
    last_least_us: Option<i32>,
}

impl Empty for PeerClock {
    const EMPTY: &'static Self =
        &PeerClock { base_us: None, window_start: Instant(0), present_least_us: None, last_least_us: None };
}

impl PeerClock {
    /// A frame that was sent at `handed`, and found nothing ahead of it, was there at `said_at_us` by the peer's
    /// clock, and has waited for `waited_us`.
    pub fn sample(&mut self, now: Instant, handed: Instant, round_trip_ns: u64, (said_at_us, waited_us): (u32, u16)) {
        if waited_us > MAX_WAIT_US {
            return;
        }
        let difference_us = difference_us(handed, round_trip_ns, said_at_us.wrapping_sub(waited_us.into()));
        let base_us = *self.base_us.get_or_insert(difference_us);
        if now.since_ns(self.window_start) >= WINDOW_NS {
            self.window_start = now;
            self.last_least_us = self.present_least_us.take();
        }
        let late_us = difference_us.wrapping_sub(base_us) as i32;
        self.present_least_us = Some(self.present_least_us.map_or(late_us, |min_us| min_us.min(late_us)));
    }

    /// A frame that was sent at `handed` was there at `said_at_us` by the peer's clock, and may have been there for
    /// `waited_us`. When it would have been acknowledged, at the earliest and at the latest, had that taken no longer than
    /// the way of a frame to an idle peer and back, `round_trip_ns`. `None`: nothing is known of that clock.
    pub fn arrival(
        &self,
        handed: Instant,
        round_trip_ns: u64,
        (said_at_us, waited_us): (u32, u16),
    ) -> Option<TimeRange> {
        let min_us = self.last_least_us.into_iter().chain(self.present_least_us).min()?;
        let difference_us = difference_us(handed, round_trip_ns, said_at_us).wrapping_sub(self.base_us?) as i32;
        let late_us = difference_us.saturating_sub(min_us).max(0) as u64;
        let waited_us = if waited_us == u16::MAX { late_us } else { u64::from(waited_us) };
        let after = |late_us: u64| handed.plus_ns(round_trip_ns + late_us * 1000);
        // Both clocks are read to a microsecond.
        Some((after(late_us.saturating_sub(waited_us + 1)), after(late_us + 1)))
    }
}

/// By how much the peer's clock is ahead if a frame took half of the round trip.
fn difference_us(handed: Instant, round_trip_ns: u64, said_at_us: u32) -> u32 {
    said_at_us.wrapping_sub(handed.plus_ns(round_trip_ns / 2).wrapping_us())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// What the peer's clock, which starts close to its end, says when a frame sent at `at_ms` has taken `took_us`.
    fn said_at_us(at_ms: u64, took_us: u32) -> u32 {
        (u32::MAX - 1_000_000).wrapping_add(Instant(at_ms * MS).wrapping_us()).wrapping_add(took_us)
    }

    fn sample(clock: &mut PeerClock, at_ms: u64, took_us: u32) {
        let handed = Instant(at_ms * MS);
        clock.sample(handed.plus_ns(MS), handed, 50_000, (said_at_us(at_ms, took_us + 10), 10));
    }

    fn arrival(clock: &PeerClock, at_ms: u64, took_us: u32, waited_us: u16) -> Option<(u64, u64)> {
        let handed = Instant(at_ms * MS);
        let between = clock.arrival(handed, 50_000, (said_at_us(at_ms, took_us), waited_us))?;
        Some((between.0.since_ns(handed), between.1.since_ns(handed)))
    }

    #[test]
    fn what_takes_longer_than_the_least_is_late_by_as_much() {
        let mut clock = PeerClock::default();
        assert_eq!(arrival(&clock, 0, 30, 0), None);
        sample(&mut clock, 0, 30);
        assert_eq!(arrival(&clock, 900, 530, 0), Some((549_000, 551_000)));
        assert_eq!(arrival(&clock, 1_200, 530, 200), Some((349_000, 551_000)));
        assert_eq!(arrival(&clock, 1_300, 530, u16::MAX), Some((50_000, 551_000)));
        sample(&mut clock, 1_400, 20);
        assert_eq!(arrival(&clock, 1_500, 530, 0), Some((559_000, 561_000)));
        sample(&mut clock, 1_600, 400);
        assert_eq!(arrival(&clock, 1_700, 530, 0), Some((559_000, 561_000)));
    }

    #[test]
    fn clocks_that_drift_apart_are_followed() {
        let mut clock = PeerClock::default();
        [(0, 30), (2_500, 130), (4_600, 130)]
            .into_iter()
            .for_each(|(at_ms, took_us)| sample(&mut clock, at_ms, took_us));
        assert_eq!(arrival(&clock, 4_700, 130, 0), Some((50_000, 51_000)));
    }
}
