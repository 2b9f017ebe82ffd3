//! For how long other processes had the processor of this one.

use std::time::Duration;

use fishplate_engine::Instant;
use rustix::time::{ClockId, clock_gettime};

/// Processor time that this process has taken so far, in nanoseconds.
pub fn own_processor_time_ns() -> u64 {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).map_or(0, |taken| taken.as_nanos() as u64)
}

/// Time without the processor, between two looks. A process that computes has it.
#[derive(Debug, Default)]
pub struct Absence {
    /// The last look, and the processor time until then.
    before: Option<(Instant, u64)>,
}

impl Absence {
    /// Nanoseconds without the processor since the last look; 0 at the first one. `taken_ns`: processor time until now.
    pub fn observe(&mut self, now: Instant, taken_ns: u64) -> u64 {
        let before = self.before.replace((now, taken_ns));
        before.map_or(0, |(at, taken)| now.since_ns(at).saturating_sub(taken_ns.saturating_sub(taken)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_of_this_process_is_no_absence() {
        let mut absence = Absence::default();
        assert_eq!(absence.observe(Instant(5), 100), 0, "nothing was seen before");
        assert_eq!(absence.observe(Instant(1005), 1100), 0, "it has computed");
        assert_eq!(absence.observe(Instant(9005), 2100), 7000);
        assert_eq!(absence.observe(Instant(9105), 2600), 0, "with several threads");
    }

    #[test]
    fn a_process_that_computes_takes_processor_time() {
        let before = own_processor_time_ns();
        let mut sum = 0u64;
        while own_processor_time_ns() == before {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(own_processor_time_ns() > before);
    }
}
