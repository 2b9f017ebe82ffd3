//! Points of a record: a measured value for each benchmark, link, stack, size and time.

use std::collections::BTreeMap;

use crate::bench::Plan;
use crate::record::{Better, Record, Sample};
use crate::statistics::Spread;

/// A point whose rounds differ by more than this part of their median cannot tell whether a prediction is as near as the
/// goal wants.
pub const STEADY: f64 = 0.12;

/// Use of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The model was set by it: it is no success.
    Calibration,
    Predicted,
    /// It was predicted, and its own rounds differ too much to tell how well.
    Unsteady,
}

/// A measured value and a simulated one.
#[derive(Clone, Debug)]
pub struct Point {
    /// A sample of it, which has all that identifies it.
    pub sample: Sample,
    pub program: String,
    /// End of the interval, in seconds, where it is one.
    pub time_s: Option<f64>,
    /// Over the rounds.
    pub measured: Spread,
    /// The model's value.
    pub simulated: f64,
    /// Use of the point.
    pub role: Role,
}

impl Point {
    /// How far the model is off, as a part of what was measured.
    pub fn deviation(&self) -> f64 {
        self.simulated / self.measured.median - 1.0
    }

    /// Message size in bytes.
    pub fn size(&self) -> u64 {
        self.sample.size_bytes.unwrap_or(0)
    }
}

/// The value of a sample: the median of the iterations, if known, as other programs disturb some of them.
fn value(sample: &Sample) -> f64 {
    let median = sample.percentiles.as_ref().and_then(|values| values.get("p50")).copied();
    median.filter(|median| *median > 0.0).unwrap_or(sample.value)
}

/// Whether it is a time, not a rate.
pub fn is_time(sample: &Sample) -> bool {
    sample.better() == Better::Lower
}

/// The points of a record, in its order.
pub fn of(record: &Record, plan: &Plan) -> Vec<Point> {
    let mut keys: Vec<String> = Vec::new();
    let mut rounds: BTreeMap<String, (Sample, BTreeMap<u32, f64>)> = BTreeMap::new();
    for sample in record.samples.iter().filter(|sample| sample.value > 0.0) {
        let Sample { benchmark, link, stack, ranks, size_bytes, .. } = sample;
        let key = format!("{benchmark}\n{link}\n{stack}\n{ranks}\n{size_bytes:?}\n{:?}", sample.options.get("time"));
        if !rounds.contains_key(&key) {
            keys.push(key.clone());
        }
        let found = rounds.entry(key).or_insert_with(|| (sample.clone(), BTreeMap::new()));
        found.1.insert(sample.round, value(sample));
    }
    let point = |key| {
        let (sample, values) = rounds.remove(&key)?;
        let program = plan.benchmarks.iter().find(|benchmark| benchmark.name == sample.benchmark)?;
        let program = program.program.name().to_string();
        let measured = Spread::of(&values.into_values().collect::<Vec<_>>())?;
        let steady = measured.greatest - measured.least <= STEADY * measured.median;
        let role = if steady { Role::Predicted } else { Role::Unsteady };
        let time_s = sample.options.get("time").and_then(|time| time.as_f64());
        Some(Point { sample, program, time_s, measured, simulated: 0.0, role })
    };
    keys.into_iter().filter_map(point).collect()
}
