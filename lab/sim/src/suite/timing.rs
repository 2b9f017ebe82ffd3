//! Times of iterations, and the values that ranks report.

use std::cell::RefCell;
use std::rc::Rc;

use super::options::Options;
use crate::models::time::Time;

/// When iterations began that count, and the last one ended.
#[derive(Default)]
pub(super) struct IterationTimes {
    times: Vec<Time>,
}

impl IterationTimes {
    /// An iteration ends, or the first begins.
    pub fn mark(&mut self, now: Time) {
        self.times.push(now);
    }

    /// How long one took, as the options ask.
    pub fn each(&self, options: &Options) -> Time {
        typical(self.times.windows(2).map(|pair| pair[1] - pair[0]).collect(), options)
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
