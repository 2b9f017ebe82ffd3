//! One-way delay: when frames arrive, by the peer's clock.
//!
//! The two clocks have different origins. Their difference is what the fastest frame of late shows, which takes half of its
//! path's least round trip; a frame that takes longer is late. How long its acknowledgement takes does not count: that
//! waits for the peer's process, and behind what the peer sends.

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
    /// A frame that was sent at `handed`, found nothing ahead of it, and takes `least_ns` at least, was there at
    /// `said_at_us` by the peer's clock, and has waited for `waited_us`.
    pub fn sample(&mut self, now: Instant, handed: Instant, least_ns: u64, (said_at_us, waited_us): (u32, u16)) {
        if waited_us > MAX_WAIT_US {
            return;
        }
        let difference_us = difference_us(handed, least_ns, said_at_us.wrapping_sub(waited_us.into()));
        let base_us = *self.base_us.get_or_insert(difference_us);
        if now.since_ns(self.window_start) >= WINDOW_NS {
            self.window_start = now;
            self.last_least_us = self.present_least_us.take();
        }
        let late_us = difference_us.wrapping_sub(base_us) as i32;
        self.present_least_us = Some(self.present_least_us.map_or(late_us, |min_us| min_us.min(late_us)));
    }

    /// By how many nanoseconds a frame was late, at least and at most, that was sent at `handed`, takes `least_ns` at least,
    /// was there at `said_at_us` by the peer's clock, and may have been there for `waited_us`. `None`: nothing is known of
    /// that clock. A frame that is earlier than the fastest one of late shows that this one was late itself.
    pub fn lateness(
        &mut self,
        handed: Instant,
        least_ns: u64,
        (said_at_us, waited_us): (u32, u16),
    ) -> Option<(u64, u64)> {
        let min_us = self.last_least_us.into_iter().chain(self.present_least_us).min()?;
        let difference_us = difference_us(handed, least_ns, said_at_us).wrapping_sub(self.base_us?) as i32;
        if difference_us < min_us {
            self.present_least_us = Some(difference_us);
        }
        let late_us = difference_us.saturating_sub(min_us).max(0) as u64;
        let waited_us = if waited_us == u16::MAX { late_us } else { u64::from(waited_us) };
        // Both clocks are read to a microsecond.
        Some((1000 * late_us.saturating_sub(waited_us + 1), 1000 * (late_us + 1)))
    }
}

/// By how much the peer's clock is ahead if a frame took so long.
fn difference_us(handed: Instant, took_ns: u64, said_at_us: u32) -> u32 {
    said_at_us.wrapping_sub(handed.plus_ns(took_ns).wrapping_us())
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
        clock.sample(handed.plus_ns(MS), handed, 25_000, (said_at_us(at_ms, took_us + 10), 10));
    }

    /// In microseconds.
    fn lateness(clock: &mut PeerClock, at_ms: u64, took_us: u32, waited_us: u16) -> Option<(u64, u64)> {
        let (least, most) = clock.lateness(Instant(at_ms * MS), 25_000, (said_at_us(at_ms, took_us), waited_us))?;
        Some((least / 1000, most / 1000))
    }

    #[test]
    fn what_takes_longer_than_the_least_is_late_by_as_much() {
        let mut clock = PeerClock::default();
        assert_eq!(lateness(&mut clock, 0, 30, 0), None);
        sample(&mut clock, 0, 30);
        assert_eq!(lateness(&mut clock, 900, 530, 0), Some((499, 501)));
        assert_eq!(lateness(&mut clock, 1_200, 530, 200), Some((299, 501)));
        assert_eq!(lateness(&mut clock, 1_300, 530, u16::MAX), Some((0, 501)));
        sample(&mut clock, 1_400, 20);
        assert_eq!(lateness(&mut clock, 1_500, 530, 0), Some((509, 511)));
        sample(&mut clock, 1_600, 400);
        assert_eq!(lateness(&mut clock, 1_700, 530, 0), Some((509, 511)));
    }

    #[test]
    fn what_is_earlier_than_the_fastest_frame_shows_that_this_one_was_late() {
        let mut clock = PeerClock::default();
        sample(&mut clock, 0, 900_000);
        assert_eq!(lateness(&mut clock, 1, 30, 0), Some((0, 1)));
        assert_eq!(lateness(&mut clock, 2, 530, 0), Some((499, 501)));
    }

    #[test]
    fn clocks_that_drift_apart_are_followed() {
        let mut clock = PeerClock::default();
        [(0, 30), (2_500, 130), (4_600, 130)]
            .into_iter()
            .for_each(|(at_ms, took_us)| sample(&mut clock, at_ms, took_us));
        assert_eq!(lateness(&mut clock, 4_700, 130, 0), Some((0, 1)));
    }
}
