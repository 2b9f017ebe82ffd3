//! Estimates of how long cells take: as long as the same cell before, else as its options say.

use std::collections::BTreeMap;
use std::time::Duration;

use super::benchmark::Benchmark;
use super::history;
use crate::record::{Cell, Completed};
use crate::simulation::sizes;

/// What programs measure for, in seconds a size, unless told.
const SECONDS: f64 = 0.5;
/// The same where iterations are counted; mostly they are few.
const SECONDS_OF_ITERATIONS: f64 = 0.1;
/// Time for warming up, as part of the time that is measured.
const WARM_UP: f64 = 0.1;
/// What stress takes, which has no sizes.
const SECONDS_OF_STRESS: f64 = 1.0;

/// What is known of durations.
#[derive(Default)]
pub struct Estimate {
    /// Seconds that a stack takes to start, in which nothing is measured.
    startup: BTreeMap<String, f64>,
    /// Sum and number of the seconds of complete cells, by their first rounds.
    seen: BTreeMap<Cell, (f64, u32)>,
}

impl Estimate {
    /// Records the time of starting `stack`.
    pub fn startup(&mut self, stack: &str, took: Duration) {
        self.startup.insert(stack.to_string(), took.as_secs_f64());
    }

    /// Records the time of a cell.
    pub fn took(&mut self, completed: &Completed) {
        let (sum, count) = self.seen.entry(completed.cell.first()).or_default();
        *sum += completed.seconds;
        *count += 1;
    }

    /// Seconds that a cell will take.
    pub fn of(&self, cell: &Cell, benchmark: &Benchmark) -> f64 {
        if let Some((sum, count)) = self.seen.get(&cell.first()) {
            return sum / f64::from(*count);
        }
        let startup = self.startup.get(&cell.stack).copied().unwrap_or_default();
        history::runs(benchmark, 0, cell.round).iter().map(|run| startup + seconds_asked(&run.benchmark)).sum()
    }
}

/// What a benchmark's options ask for.
fn seconds_asked(benchmark: &Benchmark) -> f64 {
    let options = &benchmark.options;
    let number = |name: &str| options.value(name).and_then(|value| value.parse::<f64>().ok());
    if let Some(duration) = number("--duration") {
        return duration;
    }
    let Some(default_sizes) = benchmark.program.default_sizes().or(benchmark.program.is_of_files().then_some("0"))
    else {
        return if benchmark.program.name() == "stress" { SECONDS_OF_STRESS } else { SECONDS };
    };
    let otherwise = if number("--iterations").is_some() { SECONDS_OF_ITERATIONS } else { SECONDS };
    let each = number("--seconds").unwrap_or(otherwise) * (1.0 + WARM_UP);
    let sizes = count_sizes(options.value("--sizes").unwrap_or(default_sizes));
    each * sizes as f64 * number("--repeats").unwrap_or(1.0) * values_of_files(benchmark)
}

/// How many values a benchmark of files has for each size: what it writes and what it reads, with each number of threads;
/// what it creates, asks for and removes.
fn values_of_files(benchmark: &Benchmark) -> f64 {
    let threads = || benchmark.options.value("--threads").and_then(|value| value.parse().ok()).unwrap_or(2.0);
    let operations = if benchmark.options.value("--operation").is_none_or(|value| value == "both") { 2.0 } else { 1.0 };
    match benchmark.program.name() {
        "io_metadata" => 3.0,
        "io_threads" => operations * threads(),
        "io_contiguous" | "io_tile" => operations,
        _ => 1.0,
    }
}

/// How many sizes a list has, such as `0,1:64K`.
fn count_sizes(list: &str) -> u32 {
    list.split(',').map(|part| sizes::parse(part).map_or(1, |sizes| sizes.len() as u32)).sum()
}

/// Seconds in words.
pub fn shown(seconds: f64) -> String {
    match seconds.round() as u64 {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..5940 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h {} min", (seconds + 30) / 3600, (seconds + 30) % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::program::Program;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn sizes_are_counted() {
        assert_eq!(count_sizes("1,64,1K,4M"), 4);
        assert_eq!(count_sizes("1:4M"), 23);
        assert_eq!(count_sizes("0,1:64K"), 18);
        assert_eq!(count_sizes("3:10"), 2);
    }

    #[test]
    fn what_was_seen_is_better_than_what_was_asked() {
        let words = "--sizes 1,2 --seconds 1 --repeats 3".split(' ').map(String::from).collect();
        let benchmark = Benchmark::of(Program::try_from("latency".to_string()).unwrap(), words);
        let cell = Cell { stack: "a".into(), link: "l".into(), benchmark: "latency".into(), round: 1 };
        let mut estimate = Estimate::default();
        estimate.startup("a", Duration::from_secs(2));
        assert!(near(estimate.of(&cell, &benchmark), 2.0 + 6.6), "{}", estimate.of(&cell, &benchmark));
        // Each of 2 sizes has 8 runs with 36 sizes in all.
        let histories = Benchmark { histories: true, ..benchmark.clone() };
        assert!(
            near(estimate.of(&cell, &histories), 2.0 * (8.0 * 2.0 + 36.0 * 3.3)),
            "{}",
            estimate.of(&cell, &histories)
        );
        for seconds in [4.0, 6.0] {
            estimate.took(&Completed { cell: cell.first(), load: 0.0, emulator_cpu: None, seconds });
        }
        assert!(near(estimate.of(&cell, &benchmark), 5.0));
    }

    #[test]
    fn seconds_read_well() {
        assert_eq!(shown(12.4), "12 s");
        assert_eq!(shown(150.0), "3 min");
        assert_eq!(shown(7_260.0), "2 h 1 min");
    }
}
