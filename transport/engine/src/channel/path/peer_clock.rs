//! One-way delay: when frames arrive, by the peer's clock.
//!
//! The two clocks have different origins. Their difference is what the fastest frame of late shows, which takes half of its
//! path's least round trip; a frame that takes longer is late. How long its acknowledgement takes does not count: that
//! waits for the peer's process, and behind what the peer sends.

use crate::time::Instant;

/// Length of a window, in nanoseconds; a minimum is that of the present and the last window. Clocks drift apart: poor ones (20
/// parts in a million) by 40 us in this time.
const WINDOW_NS: u64 = 2_000_000_000;
/// A frame that is late by more than its round trip allows, by at least this time in nanoseconds, shows that the peer's clock has moved:
/// the clocks drifted apart while nothing was sent, or one of two virtual machines was paused. Delays of near paths differ by less.
const MOVED_NS: u64 = 100_000;
/// With a longer acknowledgement delay, in microseconds, the peer's process may have been away when the frame arrived.
const MAX_ACK_DELAY_US: u16 = 64;

/// The times in a header that carries an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckTiming {
    /// When the peer sent it, by its clock, in microseconds, wrapping.
    pub sent_at_us: u32,
    /// Acknowledgement delay: upper bound of the time between the arrival of the newest frame and this header, in microseconds;
    /// [`u16::MAX`]: that or longer.
    pub ack_delay_us: u16,
}

/// By how many nanoseconds a frame was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatenessRange {
    /// At least.
    pub min_ns: u64,
    /// At most.
    pub max_ns: u64,
}

/// Offset of the peer's clock. Times are in microseconds, and wrap.
#[derive(Clone, Debug, Default)]
pub struct PeerClock {
    /// The first measured difference of the two clocks, to which the minima below are relative.
    base_us: Option<u32>,
    window_start: Instant,
    window_min_us: Option<i32>,
    last_window_min_us: Option<i32>,
}

impl PeerClock {
    /// A frame that was sent at `sent_at`, found nothing ahead of it, and takes `least_ns` at least, is acknowledged.
    pub fn sample(&mut self, now: Instant, sent_at: Instant, least_ns: u64, ack: AckTiming) {
        if ack.ack_delay_us > MAX_ACK_DELAY_US {
            return;
        }
        let difference_us = difference_us(sent_at, least_ns, ack.sent_at_us.wrapping_sub(ack.ack_delay_us.into()));
        let base_us = *self.base_us.get_or_insert(difference_us);
        if now.since_ns(self.window_start) >= WINDOW_NS {
            let is_last = now.since_ns(self.window_start) < 2 * WINDOW_NS;
            self.window_start = now;
            self.last_window_min_us = self.window_min_us.take().filter(|_| is_last);
        }
        let late_us = difference_us.wrapping_sub(base_us) as i32;
        self.window_min_us = Some(self.window_min_us.map_or(late_us, |min_us| min_us.min(late_us)));
    }

    /// How late a frame was that was sent at `sent_at`, takes `least_ns` at least, and is acknowledged; by its round trip it was late
    /// by at most `most_ns`. `None`: nothing is known of the peer's clock. A frame that is earlier than the fastest one of late
    /// shows that this one was late itself.
    pub fn lateness(&mut self, sent_at: Instant, least_ns: u64, most_ns: u64, ack: AckTiming) -> Option<LatenessRange> {
        let min_us = self.last_window_min_us.into_iter().chain(self.window_min_us).min()?;
        let difference_us = difference_us(sent_at, least_ns, ack.sent_at_us).wrapping_sub(self.base_us?) as i32;
        if difference_us < min_us {
            self.window_min_us = Some(difference_us);
        }
        let late_us = difference_us.saturating_sub(min_us).max(0) as u64;
        let ack_delay_us = if ack.ack_delay_us == u16::MAX { late_us } else { u64::from(ack.ack_delay_us) };
        // Both clocks are read to a microsecond.
        let late =
            LatenessRange { min_ns: 1000 * late_us.saturating_sub(ack_delay_us + 1), max_ns: 1000 * (late_us + 1) };
        if late.min_ns > most_ns + MOVED_NS {
            let moved_us = ((late.min_ns - most_ns) / 1000) as i32;
            (self.window_min_us, self.last_window_min_us) = (Some(min_us.saturating_add(moved_us)), None);
            return None;
        }
        Some(late)
    }
}

/// By how much the peer's clock is ahead if a frame took `took_ns` and was there at `there_at_us`.
fn difference_us(sent_at: Instant, took_ns: u64, there_at_us: u32) -> u32 {
    there_at_us.wrapping_sub(sent_at.plus_ns(took_ns).wrapping_us())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The time by the peer's clock, which starts close to its end, when a frame sent at `at_ms` has taken `took_us`.
    fn sent_at_us(at_ms: u64, took_us: u32) -> u32 {
        (u32::MAX - 1_000_000).wrapping_add(Instant(at_ms * MS).wrapping_us()).wrapping_add(took_us)
    }

    fn sample(clock: &mut PeerClock, at_ms: u64, took_us: u32) {
        let sent_at = Instant(at_ms * MS);
        let ack = AckTiming { sent_at_us: sent_at_us(at_ms, took_us + 10), ack_delay_us: 10 };
        clock.sample(sent_at.plus_ns(MS), sent_at, 25_000, ack);
    }

    /// In microseconds.
    fn lateness(clock: &mut PeerClock, at_ms: u64, took_us: u32, ack_delay_us: u16) -> Option<(u64, u64)> {
        let ack = AckTiming { sent_at_us: sent_at_us(at_ms, took_us), ack_delay_us };
        let late = clock.lateness(Instant(at_ms * MS), 25_000, u64::MAX / 2, ack)?;
        Some((late.min_ns / 1000, late.max_ns / 1000))
    }

    #[test]
    fn a_frame_is_late_by_its_time_beyond_the_least() {
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
    fn a_frame_earlier_than_the_fastest_shows_that_the_fastest_was_late() {
        let mut clock = PeerClock::default();
        sample(&mut clock, 0, 900_000);
        assert_eq!(lateness(&mut clock, 1, 30, 0), Some((0, 1)));
        assert_eq!(lateness(&mut clock, 2, 530, 0), Some((499, 501)));
    }

    #[test]
    fn what_the_round_trip_excludes_is_a_clock_that_has_moved() {
        let mut clock = PeerClock::default();
        sample(&mut clock, 0, 30);
        let ack = AckTiming { sent_at_us: sent_at_us(60_000, 5_030), ack_delay_us: 0 };
        let mut late = |most_ns| clock.lateness(Instant(60_000 * MS), 25_000, most_ns, ack);
        assert!(late(10 * MS).is_some_and(|late| late.min_ns > 4 * MS), "it may have waited for 10 ms");
        assert_eq!(late(20_000), None);
        assert!(late(20_000).is_some_and(|late| late.max_ns <= 22_000));
    }

    #[test]
    fn what_was_measured_before_a_silence_counts_no_more() {
        let mut clock = PeerClock::default();
        sample(&mut clock, 0, 30);
        sample(&mut clock, 60_000, 1_230);
        assert_eq!(lateness(&mut clock, 60_001, 1_230, 0), Some((0, 1)));
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
