//! Simulated values as a record, with the lines of measured ones. They have no wall-clock times, so equal runs give
//! equal records.

use std::collections::{BTreeMap, BTreeSet};

use fishplate_sim::reproduce::{Curve, Judged, Kind, number};
use fishplate_sim::suite::{Benchmark, Unit};

use crate::record::{self, Line, Link, Machine, Manifest, Rail, SCHEMA, Sample, Stack, Statement, Verdict};

/// Simulations have no wall-clock time.
const STARTED: &str = "1970-01-01T00:00:00Z";

/// A simulated record's first line.
pub fn manifest(title: &str, samples: &[Sample], seed: u64) -> Manifest {
    let unique = |names: Vec<&String>| -> Vec<String> {
        let mut seen = BTreeSet::new();
        names.into_iter().filter(|name| seen.insert(*name)).cloned().collect()
    };
    let benchmark = |name| record::Benchmark { name, ..Default::default() };
    let stack = |name| Stack { name, version: "a model".into() };
    Manifest {
        schema: SCHEMA.into(),
        fishplate: env!("CARGO_PKG_VERSION").into(),
        started: STARTED.into(),
        title: Some(title.into()),
        machine: Machine {
            cpu: "modelled".into(),
            kernel: "virtual time".into(),
            hostname: "simulation".into(),
            ..Machine::default()
        },
        stacks: unique(samples.iter().map(|sample| &sample.stack).collect()).into_iter().map(stack).collect(),
        links: unique(samples.iter().map(|sample| &sample.link).collect()),
        benchmarks: unique(samples.iter().map(|sample| &sample.benchmark).collect())
            .into_iter()
            .map(benchmark)
            .collect(),
        rounds: 1,
        seeds: BTreeMap::from([("simulation".into(), seed)]),
        ..Manifest::default()
    }
}

/// A link's line: what a testbed is called in records.
pub fn link(name: &str) -> Line {
    let rail = Rail { name: "as the testbed says".into(), ..Rail::default() };
    Line::Link(Link { name: name.into(), rails: vec![rail], emulator_cpu: None, storage: None })
}

/// The metric of a benchmark, and its unit.
pub fn metric(benchmark: Benchmark) -> (&'static str, &'static str) {
    match benchmark.unit() {
        Unit::Us => ("latency", "us"),
        Unit::MbS => ("bandwidth", "MB/s"),
        Unit::Messages => ("message rate", "messages/s"),
    }
}

/// One simulated value.
pub fn sample(
    benchmark: Benchmark,
    named: &str,
    (stack, link): (&str, &str),
    ranks: u32,
    (size, value): (u64, f64),
) -> Sample {
    let (metric, unit) = metric(benchmark);
    Sample {
        stack: stack.into(),
        link: link.into(),
        benchmark: named.into(),
        ranks,
        size_bytes: Some(size),
        metric: metric.into(),
        unit: unit.into(),
        value,
        ..Sample::default()
    }
}

/// The points of curves. What a figure shows twice stands once.
pub fn samples(curves: &[Curve]) -> Vec<Sample> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for curve in curves {
        let named = format!("{}, {}: {}", curve.testbed, curve.figure, curve.benchmark.name());
        let stack =
            if curve.setting.is_empty() { curve.stack.clone() } else { format!("{} ({})", curve.stack, curve.setting) };
        for point in &curve.points {
            if seen.insert((named.clone(), stack.clone(), curve.ranks, point.0)) {
                all.push(sample(curve.benchmark, &named, (&stack, &curve.testbed), curve.ranks, *point));
            }
        }
    }
    all
}

pub fn statement(row: &Judged) -> Statement {
    let verdict = match (row.holds(), row.fact.is_given()) {
        (true, true) => Verdict::ByConstruction,
        (true, false) => Verdict::Holds,
        (false, _) => Verdict::DoesNotHold,
    };
    let values: Vec<String> = row
        .checks
        .iter()
        .map(|check| {
            format!("{}: {} (paper: {})", check.check.what, check.simulated.map_or("-".into(), number), check.paper())
        })
        .collect();
    let mut why = values.join("; ");
    if row.fact.kind == Kind::C {
        why.insert_str(0, "calibration, no success: ");
    }
    if let Some(reason) = &row.fact.by_construction {
        let given: Vec<&str> =
            row.checks.iter().filter(|check| check.check.given).map(|check| check.check.what.as_str()).collect();
        why.push_str(&format!(" - by construction, as {reason}: {}", given.join(", ")));
    }
    if let Some(reason) = row.fact.why_not.as_ref().filter(|_| !row.holds()) {
        why.push_str(" - ");
        why.push_str(reason);
    }
    let values = row.values.iter().map(|(name, value)| (name.clone(), (*value).into())).collect();
    Statement { id: row.fact.id.clone(), text: row.fact.text.clone(), verdict, why, values }
}
