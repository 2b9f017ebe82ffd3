//! Whether ranks share a processor: then one that does not call MPI may just wait for its turn.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time over which it is judged, at least.
const PERIOD: Duration = Duration::from_millis(50);
/// Part of the time in which a rank could have run and others ran, where ranks share a processor. Two that poll have half of
/// it each; what else a system runs takes some percent.
const SHARED_PART: f64 = 0.25;

/// What was found last.
static IS_SHARED: AtomicBool = AtomicBool::new(false);

/// Whether ranks share the processor that this process polls on, as [`SharedProcessor`] has found.
pub fn is_processor_shared() -> bool {
    IS_SHARED.load(Ordering::Relaxed)
}

/// What was known at the last look.
#[derive(Default)]
pub struct SharedProcessor {
    looked_at: Option<Instant>,
    /// How long the application's thread had waited for a processor by then.
    waited: Duration,
}

impl SharedProcessor {
    /// Looks, if there is enough to judge by.
    pub fn look(&mut self) {
        let now = Instant::now();
        let passed = self.looked_at.map(|before| now - before);
        if passed.is_some_and(|passed| passed < PERIOD) {
            return;
        }
        // The process's first thread; others that call MPI are in the same position.
        let waited = waited(&std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default()).unwrap_or_default();
        let share = |passed: Duration| waited.saturating_sub(self.waited).as_secs_f64() / passed.as_secs_f64();
        IS_SHARED.store(passed.is_some_and(|passed| share(passed) >= SHARED_PART), Ordering::Relaxed);
        (self.looked_at, self.waited) = (Some(now), waited);
    }
}

/// How long a thread was ready to run and did not, as its `schedstat` says: the second number, in nanoseconds
/// (Documentation/scheduler/sched-stats.rst).
fn waited(schedstat: &str) -> Option<Duration> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_waiting_is_the_second_number() {
        assert_eq!(waited("9731234 1500000 42\n"), Some(Duration::from_micros(1500)));
        assert_eq!(waited(""), None);
        assert_eq!(waited("1 x 3"), None);
    }
}
