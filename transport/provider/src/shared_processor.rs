//! Finds out whether ranks share a processor: then a rank that does not call MPI may just wait to be scheduled.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Shortest time of an observation.
const PERIOD: Duration = Duration::from_millis(50);
/// The processor counts as shared if a rank was ready to run, and others ran, for this part of the time. Of two polling ranks each
/// waits half of the time; other processes of a system take some percent.
const SHARED_PART: f64 = 0.25;

/// Lower bound of the assumed scheduling wait: some dozens of ranks that take less than a millisecond each.
const MIN_SCHEDULING_WAIT: Duration = Duration::from_millis(50);
/// Scheduling wait for each process that wants the processor: a tick of kernels with 250 ticks a second.
const TURN: Duration = Duration::from_millis(4);
/// Upper bound: more than a hundred processes on one processor get little done in any order.
const MAX_SCHEDULING_WAIT: Duration = Duration::from_millis(500);

/// The last result.
static IS_SHARED: AtomicBool = AtomicBool::new(false);
static SCHEDULING_WAIT_MS: AtomicU64 = AtomicU64::new(MIN_SCHEDULING_WAIT.as_millis() as u64);

/// Whether ranks share the processor that this process polls on, as [`SharedProcessor`] has found.
pub fn is_processor_shared() -> bool {
    IS_SHARED.load(Ordering::Relaxed)
}

/// Where ranks share a processor, one that has not called MPI for less than this may just wait to be scheduled.
pub fn scheduling_wait() -> Duration {
    Duration::from_millis(SCHEDULING_WAIT_MS.load(Ordering::Relaxed))
}

/// The scheduling wait where a rank that is ready waits for this part of the time: of n ranks, each waits for 1 - 1/n.
fn scheduling_wait_at(share: f64) -> Duration {
    let others = 1.0 / (1.0 - share).max(0.001);
    TURN.mul_f64(others).clamp(MIN_SCHEDULING_WAIT, MAX_SCHEDULING_WAIT)
}

/// State of the observation.
#[derive(Default)]
pub struct SharedProcessor {
    looked_at: Option<Instant>,
    /// How long the application's thread had waited for a processor until then.
    waited: Duration,
    /// How long the thread that looks had run by then: the application's may have waited for it.
    ran: Duration,
}

impl SharedProcessor {
    /// Ends the observation if it is long enough.
    pub fn look(&mut self) {
        let now = Instant::now();
        let passed = self.looked_at.map(|before| now - before);
        if passed.is_some_and(|passed| passed < PERIOD) {
            return;
        }
        // The process's first thread stands for all threads that call MPI.
        let waited = Schedstat::of("self").waited;
        let ran = Schedstat::of("thread-self").ran;
        let for_others = waited.saturating_sub(self.waited).saturating_sub(ran.saturating_sub(self.ran));
        let share = |passed: Duration| for_others.as_secs_f64() / passed.as_secs_f64();
        if let Some(share) = passed.map(share) {
            IS_SHARED.store(share >= SHARED_PART, Ordering::Relaxed);
            SCHEDULING_WAIT_MS.store(scheduling_wait_at(share).as_millis() as u64, Ordering::Relaxed);
        }
        (self.looked_at, self.waited, self.ran) = (Some(now), waited, ran);
    }
}

/// Times of a thread, from its `schedstat` (Documentation/scheduler/sched-stats.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Schedstat {
    /// How long it ran: the first number, in nanoseconds.
    ran: Duration,
    /// How long it was ready without running: the second number.
    waited: Duration,
}

impl Schedstat {
    /// Zero if the kernel does not tell.
    fn of(thread: &str) -> Schedstat {
        let text = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap_or_default();
        Schedstat::parse(&text).unwrap_or_default()
    }

    fn parse(text: &str) -> Option<Schedstat> {
        let mut times = text.split_ascii_whitespace().map(|number| number.parse().map(Duration::from_nanos).ok());
        Some(Schedstat { ran: times.next()??, waited: times.next()?? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_shares_a_processor_with_many_waits_longer() {
        let waits = [0.0, 0.5, 0.9, 0.98, 1.0, 1.02].map(|share| scheduling_wait_at(share).as_millis());
        assert_eq!(waits, [50, 50, 50, 200, 500, 500]);
    }

    #[test]
    fn times_of_a_thread_are_the_first_two_numbers() {
        let (ran, waited) = (Duration::from_nanos(9_731_234), Duration::from_micros(1500));
        assert_eq!(Schedstat::parse("9731234 1500000 42\n"), Some(Schedstat { ran, waited }));
        assert_eq!(["", "1", "1 x 3"].map(Schedstat::parse), [None; 3]);
    }
}
