//! The round trip time of a subchannel's path: minimum and smoothed.

use crate::time::Instant;

/// Length of a window, in nanoseconds; the minimum is that of the present and the last window, as a path may change.
const WINDOW_NS: u64 = 5_000_000_000;
/// A path has changed if acknowledgements have taken twice the driver's minimum plus this time, in nanoseconds, for a whole
/// window. Processes that share a core are as late now and then, but not for a whole window.
const CHANGED_NS: u64 = 1_000_000;

/// All times are in nanoseconds; 0: not known.
#[derive(Clone, Debug, Default)]
pub struct RoundTrip {
    /// The driver's measurement: more exact than acknowledgements, where there is one.
    driver_min_ns: u64,
    driver_smoothed_ns: u64,
    /// Minimum of earlier connections over the same path: the first packets of this one may have been queued.
    before_ns: u64,
    smoothed: u64,
    window_start: Instant,
    window_min: u64,
    last_window_min: u64,
}

impl RoundTrip {
    pub fn min_ns(&self) -> u64 {
        let seen = least(self.window_min, self.last_window_min);
        let changed =
            self.last_window_min > 2 * self.driver_min_ns + CHANGED_NS && seen > 2 * self.driver_min_ns + CHANGED_NS;
        if self.driver_min_ns == 0 || changed { seen } else { self.driver_min_ns }
    }

    pub fn smoothed_ns(&self) -> u64 {
        if self.driver_smoothed_ns > 0 { self.driver_smoothed_ns } else { self.smoothed }
    }

    pub fn driver_measured(&mut self, smoothed_ns: u64, min_ns: u64) {
        (self.driver_smoothed_ns, self.driver_min_ns) = (smoothed_ns, least(min_ns, self.before_ns));
    }

    /// Starts from the times of another connection over the same path.
    pub fn inherit(&mut self, before: &RoundTrip) {
        self.before_ns = before.min_ns();
        self.driver_min_ns = least(self.driver_min_ns, self.before_ns);
    }

    /// A short frame with nothing queued ahead of it was acknowledged after `ns`.
    pub fn sample(&mut self, now: Instant, ns: u64) {
        // As TCP does (RFC 6298).
        self.smoothed = if self.smoothed == 0 { ns } else { (7 * self.smoothed + ns) / 8 };
        if now.since_ns(self.window_start) >= WINDOW_NS {
            self.window_start = now;
            self.last_window_min = std::mem::take(&mut self.window_min);
        }
        self.window_min = least(self.window_min, ns);
    }

    /// A frame with others queued ahead of it was acknowledged after `ns`: an upper bound of the round trip. Without it, one sample
    /// of a busy peer would remain for as long as the queue is never empty.
    pub fn bound(&mut self, ns: u64) {
        if ns < least(self.window_min, self.last_window_min) {
            self.window_min = ns;
        }
    }
}

/// The smaller one; 0 counts as not known.
fn least(a: u64, b: u64) -> u64 {
    if a == 0 || b == 0 { a.max(b) } else { a.min(b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_measure_a_path_that_changes_and_one_that_the_driver_cannot_measure() {
        let mut path = RoundTrip::default();
        let at = |seconds: u64, ms: u64, path: &mut RoundTrip| {
            (0..5).for_each(|late| path.sample(Instant(seconds * 1_000_000_000), (ms + late) * 1_000_000));
        };
        at(1, 2, &mut path);
        assert_eq!(path.min_ns(), 2_000_000);
        path.driver_measured(1_500_000, 1_000_000);
        at(7, 20, &mut path);
        assert_eq!(path.min_ns(), 1_000_000, "once is not enough");
        at(13, 20, &mut path);
        assert_eq!(path.min_ns(), 20_000_000);
        at(14, 1, &mut path);
        assert_eq!((path.min_ns(), path.smoothed_ns()), (1_000_000, 1_500_000), "it is as before");
    }

    #[test]
    fn frames_acknowledged_behind_others_bound_samples_of_a_busy_peer() {
        let mut path = RoundTrip::default();
        path.bound(1_000_000);
        assert_eq!(path.min_ns(), 0, "it may be much shorter");
        path.sample(Instant(1_000_000_000), 1_300_000_000);
        path.bound(2_000_000);
        path.bound(3_000_000);
        assert_eq!(path.min_ns(), 2_000_000);
    }
}
