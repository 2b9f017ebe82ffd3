//! Finds idle processors among those that this process may use: a thread there disturbs no other.

use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity};

/// Period of reading the kernel's idle times: they advance by 10 ms, and their file takes the kernel some microseconds for each
/// processor.
pub const PERIOD: Duration = Duration::from_millis(50);
/// A processor is free if it was idle for this part of the time. One on which another rank polls never is.
const FREE_PART: f64 = 0.5;
/// The kernel counts in units of this length (`USER_HZ`).
const UNIT: Duration = Duration::from_millis(10);

/// Idle times at the last sample.
#[derive(Default)]
pub struct IdleProcessors {
    sampled_at: Option<Instant>,
    /// By processor, in units.
    idle: Vec<Option<u64>>,
    free: usize,
}

impl IdleProcessors {
    /// Whether a processor was free between the last two samples.
    pub fn is_any(&mut self) -> bool {
        self.sample();
        self.free > 0
    }

    /// Takes a sample if one is due, and returns the number of free processors.
    pub fn sample(&mut self) -> Option<usize> {
        let now = Instant::now();
        let passed = self.sampled_at.map(|before| now - before);
        if passed.is_some_and(|passed| passed < PERIOD) {
            return None;
        }
        let idle = idle_times(&std::fs::read_to_string("/proc/stat").unwrap_or_default());
        self.free = passed.map_or(0, |passed| self.were_idle(&idle, passed));
        (self.sampled_at, self.idle) = (Some(now), idle);
        passed.map(|_| self.free)
    }

    fn were_idle(&self, idle: &[Option<u64>], passed: Duration) -> usize {
        let Ok(allowed) = sched_getaffinity(None) else { return 0 };
        let least = passed.as_secs_f64() / UNIT.as_secs_f64() * FREE_PART;
        let was_idle = |at: usize| match (self.idle.get(at), idle.get(at)) {
            (Some(Some(before)), Some(Some(now))) => now.saturating_sub(*before) as f64 >= least,
            _ => false,
        };
        (0..idle.len().min(CpuSet::MAX_CPU)).filter(|at| allowed.is_set(*at) && was_idle(*at)).count()
    }
}

/// How long each processor was idle, in units, as `/proc/stat` says (proc_stat(5)).
fn idle_times(stat: &str) -> Vec<Option<u64>> {
    let mut times = Vec::new();
    for line in stat.lines() {
        let mut words = line.split_ascii_whitespace();
        let number =
            words.next().and_then(|word| word.strip_prefix("cpu")).and_then(|number| number.parse::<usize>().ok());
        let Some(number) = number.filter(|number| *number < CpuSet::MAX_CPU) else { continue };
        if times.len() <= number {
            times.resize(number + 1, None);
        }
        // User, nice, system, idle.
        times[number] = words.nth(3).and_then(|word| word.parse().ok());
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_times_are_read_by_number_of_the_processor() {
        let stat = "cpu  9 9 9 99 0 0\ncpu0 1 2 3 40 5 6\ncpu2 1 2 3 70 5 6\ncpux 1 1 1 1\nintr 5 6 7 8 9\n";
        assert_eq!(idle_times(stat), [Some(40), None, Some(70)]);
        assert!(idle_times("").is_empty());
    }

    #[test]
    fn one_that_was_idle_for_half_of_the_time_is_free() {
        let allowed = sched_getaffinity(None).unwrap();
        let own = (0..CpuSet::MAX_CPU).find(|at| allowed.is_set(*at)).unwrap();
        let at = |idle: u64| (0..=own).map(|at| (at == own).then_some(idle)).collect::<Vec<_>>();
        let cores = IdleProcessors { idle: at(100), ..IdleProcessors::default() };
        assert_eq!(cores.were_idle(&at(105), Duration::from_millis(100)), 1);
        assert_eq!(cores.were_idle(&at(104), Duration::from_millis(100)), 0);
        assert_eq!(cores.were_idle(&[], Duration::from_millis(100)), 0);
    }
}
