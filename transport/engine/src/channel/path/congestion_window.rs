//! The congestion window of a path, as the driver measures it.

use crate::time::Instant;

/// A window that has grown by this factor within one to two round trips is in slow start.
const GROWTH: f64 = 1.25;
/// A sender that delivers this part of a window each round trip may be limited by the window.
const WINDOW_LIMITED_PART: f64 = 0.8;

/// In bytes; `u64::MAX`: not known.
#[derive(Clone, Debug)]
pub struct CongestionWindow {
    now: u64,
    /// Its value one to two round trips before.
    earlier: u64,
    /// Its value less than a round trip before, and when it was measured.
    latest: (u64, Instant),
}

impl CongestionWindow {
    pub const UNKNOWN: CongestionWindow =
        CongestionWindow { now: u64::MAX, earlier: u64::MAX, latest: (u64::MAX, Instant(0)) };

    pub fn driver_measured(&mut self, now: Instant, window: u64, round_trip_ns: u64) {
        if now.since_ns(self.latest.1) >= round_trip_ns {
            self.earlier = self.latest.0;
            self.latest = (self.now, now);
        }
        self.now = window.max(1);
    }

    pub fn bytes(&self) -> u64 {
        self.now
    }

    /// Whether the window, rather than the path's rate, may be the reason why `bytes`, of which the last has just been
    /// acknowledged, took `took_ns`.
    pub fn explains(&self, bytes: u64, took_ns: u64, round_trip_ns: u64) -> bool {
        let windows = bytes as f64 / self.now.min(self.latest.0) as f64;
        // While it opens, a sender also paces itself, and each window waits for the one before, however few bytes it is.
        let round_trips = if self.is_growing() { windows.max(1.0) } else { windows };
        took_ns as f64 <= round_trips * round_trip_ns as f64 / WINDOW_LIMITED_PART
    }

    /// Whether the sender is still in slow start.
    fn is_growing(&self) -> bool {
        self.now != u64::MAX && (self.earlier == u64::MAX || self.now as f64 > self.earlier as f64 * GROWTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP_NS: u64 = 20_000_000;

    fn driver_measured(windows: &[u64]) -> CongestionWindow {
        let mut window = CongestionWindow::UNKNOWN;
        let times = (1..).map(|round| Instant(round * ROUND_TRIP_NS));
        windows.iter().zip(times).for_each(|(bytes, now)| window.driver_measured(now, *bytes, ROUND_TRIP_NS));
        window
    }

    #[test]
    fn a_window_explains_a_rate_of_one_each_round_trip_and_no_slower_one() {
        let window = driver_measured(&[100_000; 4]);
        assert!(window.explains(100_000, ROUND_TRIP_NS, ROUND_TRIP_NS));
        assert!(!window.explains(100_000, 2 * ROUND_TRIP_NS, ROUND_TRIP_NS));
        assert!(!window.explains(10_000, ROUND_TRIP_NS, ROUND_TRIP_NS));
    }

    #[test]
    fn while_it_opens_it_explains_any_pause_of_a_round_trip_but_no_longer_one() {
        let window = driver_measured(&[20_000, 40_000, 80_000, 160_000]);
        assert!(window.explains(4_000, ROUND_TRIP_NS, ROUND_TRIP_NS));
        assert!(!window.explains(4_000, 2 * ROUND_TRIP_NS, ROUND_TRIP_NS));
    }

    #[test]
    fn a_path_whose_driver_says_nothing_is_not_held_back_by_a_window() {
        assert!(!CongestionWindow::UNKNOWN.explains(100_000, ROUND_TRIP_NS, ROUND_TRIP_NS));
    }
}
