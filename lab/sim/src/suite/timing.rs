//! Times of iterations, and the values that ranks report.

use std::cell::RefCell;
use std::rc::Rc;

use super::options::Options;
use crate::models::time::Time;
use crate::mpi::program::Mpi;

/// When iterations began that count, and the last one ended.
pub(super) struct IterationTimes(Vec<Time>);

/// Does something for each iteration.
pub(super) async fn iterate(mpi: &Mpi, options: &Options, turn: impl AsyncFn()) -> IterationTimes {
    let mut times = Vec::new();
    for iteration in 0..options.warmup + options.iterations {
        if iteration >= options.warmup {
            times.push(mpi.time());
        }
        turn().await;
    }
    times.push(mpi.time());
    IterationTimes(times)
}

impl IterationTimes {
    /// How long one took, as the options ask.
    pub fn each(&self, options: &Options) -> Time {
        typical(self.0.windows(2).map(|pair| pair[1] - pair[0]).collect(), options)
    }

    /// How long all that count took together.
    pub fn all(&self) -> Time {
        self.0[self.0.len() - 1] - self.0[0]
    }
}

/// The mean of times, or their median.
pub(super) fn typical(mut times: Vec<Time>, options: &Options) -> Time {
    times.sort();
    let left_out = if options.median { times.len().saturating_sub(1) / 2 } else { 0 };
    let counted = &times[left_out..times.len() - left_out];
    Time(counted.iter().map(|time| time.0).sum::<u64>() / (counted.len() as u64).max(1))
}

/// Values that programs report while they run: (name of the part, value).
pub(super) type Measurements = Rc<RefCell<Vec<(u64, f64)>>>;
