//! Medians over the rounds of what a record has.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use crate::record::{Record, Sample};
use crate::statistics::Spread;

/// Part of a frame of 1514 bytes that TCP carries: the rest is headers.
const PAYLOAD: f64 = 1448.0 / 1514.0;

/// Samples to choose from.
pub struct Values<'a> {
    record: &'a Record,
    /// Which were looked at.
    read: RefCell<BTreeSet<usize>>,
    spread: Cell<f64>,
}

/// Which time of an application is meant.
#[derive(Clone, Copy)]
pub struct AppTime<'a> {
    /// Benchmark.
    pub app: &'a str,
    pub stack: &'a str,
    pub link: &'a str,
    /// [`RUN`] or [`COMMUNICATION`].
    pub metric: &'a str,
}

/// From the moment that all ranks are ready until the last is done.
pub const RUN: &str = "run_time";
/// Time in MPI, mean over the ranks.
pub const COMMUNICATION: &str = "communication_time";

/// Which value is meant.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub benchmark: &'a str,
    pub link: &'a str,
    /// Message size in bytes; 0 where there is none.
    pub size: u64,
}

impl<'a> Values<'a> {
    /// The medians of a record.
    pub fn of(record: &'a Record) -> Values<'a> {
        Values { record, read: RefCell::default(), spread: Cell::default() }
    }

    /// Positions of the samples that were looked at.
    pub fn read(&self) -> BTreeSet<usize> {
        self.read.borrow().clone()
    }

    /// By how much rounds differ, as a part of their median: most of all values that were asked for.
    pub fn spread(&self) -> f64 {
        self.spread.get()
    }

    /// The median over the rounds; the error names the missing measurement.
    pub fn median(&self, stack: &str, at: At) -> Result<f64, String> {
        self.median_of_means(stack, at, |_| true)
    }

    /// The median of one metric of a benchmark with several metrics.
    pub fn median_of(&self, metric: &str, stack: &str, at: At) -> Result<f64, String> {
        self.median_of_means(stack, at, |sample| sample.metric == metric)
    }

    /// The median of samples with this option.
    pub fn median_with(&self, stack: &str, at: At, option: (&str, u64)) -> Result<f64, String> {
        let (name, value) = option;
        self.median_of_means(stack, at, |sample| sample.options.get(name).is_some_and(|given| *given == value))
    }

    /// The median over the rounds of the mean of what came in intervals that end after one time and not after another, in
    /// seconds since the program's begin.
    pub fn mean_between(&self, stack: &str, at: At, after_s: f64, until_s: f64) -> Result<f64, String> {
        let time = |sample: &Sample| sample.options.get("time").and_then(|time| time.as_f64());
        let inside = |sample: &Sample| time(sample).is_some_and(|time| time > after_s && time <= until_s);
        self.median_of_means(stack, at, inside)
    }

    /// The median over the rounds, in seconds; the error names the missing measurement.
    pub fn seconds(&self, AppTime { app, stack, link, metric }: AppTime) -> Result<f64, String> {
        let is_meant = |sample: &&Sample| {
            (sample.stack.as_str(), sample.benchmark.as_str(), sample.link.as_str()) == (stack, app, link)
                && sample.metric == metric
                && sample.size_bytes.is_none()
        };
        // Of several of one round the last counts.
        let rounds = self.chosen(is_meant).map(|sample| (sample.round, sample.value));
        let values: Vec<f64> = rounds.collect::<BTreeMap<_, _>>().into_values().collect();
        self.middle(&values).ok_or_else(|| format!("{stack} has no {metric} of {app} on {link}"))
    }

    /// Value of one stack over that of another.
    pub fn ratio(&self, above: &str, below: &str, at: At) -> Result<f64, String> {
        Ok(self.median(above, at)? / self.median(below, at)?)
    }

    /// Rate of TCP over each rail of a link as configured, in MB/s, the first rail first. Not the measured rate: other
    /// load on the machine in that half second would change the verdict.
    pub fn rails_mb_per_s(&self, link: &str) -> Result<Vec<f64>, String> {
        let found = self.record.links.iter().rfind(|known| known.name == link);
        let mb_per_s = |rate_mbit: f64| rate_mbit / 8.0 * PAYLOAD;
        let rails = found.map(|link| link.rails.iter().map(|rail| rail.rate_mbit.map(mb_per_s)).collect());
        rails.flatten().ok_or_else(|| format!("link {link} is not in the record"))
    }

    /// Samples of one round that differ in an option count together.
    fn median_of_means(&self, stack: &str, at: At, wanted: impl Fn(&Sample) -> bool) -> Result<f64, String> {
        let At { benchmark, link, size } = at;
        let matches = |sample: &&Sample| {
            sample.stack == stack
                && sample.benchmark == benchmark
                && sample.link == link
                && sample.size_bytes.unwrap_or(0) == size
                && wanted(sample)
        };
        // Of several of one round with the same options the last counts.
        let mut rounds: BTreeMap<u32, BTreeMap<String, f64>> = BTreeMap::new();
        for sample in self.chosen(matches) {
            rounds.entry(sample.round).or_default().insert(format!("{:?}", sample.options), sample.value);
        }
        let mean = |values: &BTreeMap<String, f64>| values.values().sum::<f64>() / values.len() as f64;
        let values: Vec<f64> = rounds.values().map(mean).filter(|value| *value > 0.0).collect();
        self.middle(&values).ok_or_else(|| format!("{stack} has no value of {benchmark} on {link} at {size} bytes"))
    }

    /// Samples of a kind; remembers them.
    fn chosen(&self, matches: impl Fn(&&Sample) -> bool) -> impl Iterator<Item = &'a Sample> {
        let chosen: Vec<(usize, &Sample)> =
            self.record.samples.iter().enumerate().filter(|(_, sample)| matches(sample)).collect();
        self.read.borrow_mut().extend(chosen.iter().map(|(position, _)| *position));
        chosen.into_iter().map(|(_, sample)| sample)
    }

    /// The median of rounds; remembers how far they are apart.
    fn middle(&self, rounds: &[f64]) -> Option<f64> {
        let Spread { median, least, greatest } = Spread::of(rounds)?;
        self.spread.set(self.spread.get().max((greatest - least) / median));
        Some(median)
    }
}
