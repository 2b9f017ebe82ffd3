//! Measured against simulated: the modelled machine `emulated`, set up as the links of a record are, against what was
//! measured on these (docs/papers/validate.md). [`calibrate`] sets [`parameter`]s of the model, [`simulate`] predicts
//! all other [`point`]s, [`accuracy`] judges, [`print`](mod@print) shows. `fishplate validate` calls this.

mod accuracy;
mod calibrate;
mod parameter;
mod point;
mod print;
mod simulate;

use anyhow::{Context, Result, ensure};

use crate::bench;
use crate::record::Record;
pub use accuracy::Verdict;
pub use parameter::Calibrated;
pub use point::Point;
pub use print::table::text;

/// The plan that is measured.
pub const PLAN: &str = "validate";

/// A record, held against the model.
pub struct Validation {
    /// All that was measured, in the order of the record.
    pub points: Vec<Point>,
    /// Parameters set by the calibration points.
    pub calibrated: Vec<Calibrated>,
    /// Accuracy of the predictions.
    pub verdict: Verdict,
}

impl Validation {
    /// Simulates the measurements of a record. Deterministic.
    ///
    /// # Errors
    /// If the record is not of emulated links, or has no calibration points.
    pub fn of(record: &Record) -> Result<Validation> {
        let file = record.file.display();
        let plan = bench::plan_of(record)?;
        ensure!(
            plan.network.is_none() && plan.links.iter().all(|link| !link.rails.is_empty()),
            "{file}: only links between two hosts, which were emulated, can be simulated"
        );
        let mut points = point::of(record, &plan);
        ensure!(!points.is_empty(), "{file}: nothing was measured");
        let calibrated = calibrate::run(&plan, &mut points).with_context(|| file.to_string())?;
        simulate::all(&plan, &calibrated, &mut points).with_context(|| file.to_string())?;
        let verdict = Verdict::of(&points);
        Ok(Validation { points, calibrated, verdict })
    }

    /// A page with the table and curves of both.
    pub fn page(&self, record: &Record) -> Result<String> {
        print::page::render(self, record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{self, ready_plan};
    use crate::record::Sample;
    use serde_json::{Value, json};
    use std::sync::LazyLock;

    /// A sample of the plan's first stack.
    fn sample(benchmark: &str, link: &str, size: u64, value: f64) -> Sample {
        let unit = match benchmark {
            "latency" => "us",
            "message_rate" => "1/s",
            _ => "MB/s",
        };
        let sample = json!({"stack": "earliest", "link": link, "benchmark": benchmark, "round": 0, "ranks": 2,
            "size_bytes": size, "metric": "any", "unit": unit, "value": value,
            "options": {"window": if benchmark == "message_rate" { 64 } else { 16 }}});
        serde_json::from_value(sample).unwrap()
    }

    /// Calibration points of the model.
    fn calibration() -> Vec<Sample> {
        vec![
            sample("latency", "one rail", 64, 7.4),
            sample("bandwidth", "one rail", 16, 5.5),
            sample("message_rate", "one rail", 16, 850_000.0),
            sample("latency", "one rail", 65536, 383.0),
            sample("latency", "1 ms", 64, 1040.0),
            sample("bandwidth", "1 ms", 64, 0.45),
        ]
    }

    fn record(samples: Vec<Sample>) -> Record {
        let (plan, _) = ready_plan(PLAN, false).unwrap();
        let options = json!({(bench::PLAN): plan});
        Record { samples, ..Record::synthetic(options) }
    }

    /// Rounds of what is no calibration point.
    fn rounds(values: [f64; 3]) -> impl Iterator<Item = Sample> {
        let sample = |(round, value)| Sample { round, ..sample("bandwidth", "10 ms", 1 << 20, value) };
        (0..).zip(values).map(sample)
    }

    /// Of rails that change in the middle, so many seconds after the start.
    fn interval(time: f64) -> Sample {
        let options = [("interval", json!(1.0)), ("time", json!(time)), ("window", json!(8))];
        let options = options.map(|(name, value): (&str, Value)| (name.to_string(), value)).into();
        Sample { options, ..sample("a rail falls", "two rails", 1 << 20, 100.0) }
    }

    /// Each takes seconds, so all tests have the same two: of calibration points and three rounds, behind which the first has
    /// three intervals.
    static STEADY: LazyLock<Validation> = LazyLock::new(|| {
        let samples = calibration().into_iter().chain(rounds([55.0, 54.0, 60.0]));
        Validation::of(&record(samples.chain([2.0, 5.0, 8.0].map(interval)).collect())).unwrap()
    });
    static UNSTEADY: LazyLock<Validation> = LazyLock::new(|| {
        let samples = calibration().into_iter().chain(rounds([25.0, 24.0, 62.0]));
        Validation::of(&record(samples.collect())).unwrap()
    });

    #[test]
    fn calibration_points_are_met_and_not_counted() {
        assert_eq!(STEADY.verdict.calibration, 6);
        for point in &STEADY.points[..6] {
            assert_eq!(point.role, point::Role::Calibration);
            assert!(point.deviation().abs() < 0.02, "{point:?}");
        }
    }

    /// Predictions depend on the calibration points alone, not on measurements at predicted points.
    #[test]
    fn predicted_points_set_nothing() {
        let [one, other] = [&STEADY, &UNSTEADY].map(|of| of.points[6].simulated);
        assert_eq!(one, other);
        assert!((one / 55.0 - 1.0).abs() < 0.1, "{one}");
    }

    #[test]
    fn rounds_that_differ_are_unsteady() {
        assert_eq!(STEADY.points[6].role, point::Role::Predicted);
        assert_eq!(STEADY.points[6].measured.median, 55.0);
        assert_eq!(UNSTEADY.points[6].role, point::Role::Unsteady);
        assert_eq!(UNSTEADY.verdict.predicted, None);
        assert!(STEADY.verdict.predicted.is_some() && UNSTEADY.verdict.all.is_some());
    }

    #[test]
    fn rails_change_in_the_model_when_they_do_in_the_plan() {
        let simulated: Vec<f64> = STEADY.points[7..].iter().map(|point| point.simulated).collect();
        // 1250 and 500 Mbit/s, of which TCP carries 1448 of 1514 bytes.
        assert!((simulated[0] / 149.4 - 1.0).abs() < 0.03, "{simulated:?}");
        assert!((simulated[1] / 59.8 - 1.0).abs() < 0.03, "{simulated:?}");
        assert!((simulated[2] / 149.4 - 1.0).abs() < 0.03, "{simulated:?}");
    }
}
