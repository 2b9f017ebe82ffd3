//! One point, simulated.

use anyhow::{Context, Result, anyhow};
use fishplate_sim::models::time::Time;
use fishplate_sim::suite::{Benchmark, Options, intervals, run};
use fishplate_sim::testbed::Change;

use super::calibrate::Calibrated;
use super::machine;
use super::point::Point;
use crate::bench::Plan;
use crate::lab::change;

/// Bytes that go one way in the iterations that count, about: short messages are repeated more often.
const BYTES: u64 = 32 << 20;
/// Iterations that count, at least and at most.
const ITERATIONS: (u64, u64) = (6, 24);
/// Window of programs unless the record says.
const WINDOW: u32 = 64;

/// What the model says of a point.
pub fn value(plan: &Plan, calibrated: &[Calibrated], point: &Point) -> Result<f64> {
    let sample = &point.sample;
    let problem = || format!("{} on {} at {} bytes", sample.benchmark, sample.link, point.size());
    let machine = machine::of(plan, calibrated, &sample.link, &sample.stack, sample.ranks).with_context(problem)?;
    let asked = sample.options.get("window").and_then(|window| window.as_u64()).map(|window| window as u32);
    let window = asked.unwrap_or(WINDOW);
    if let Some(time_s) = point.time_s {
        let interval_s = sample.options.get("interval").and_then(|interval| interval.as_f64()).unwrap_or(1.0);
        let changes = changes(plan, &sample.benchmark, interval_s);
        let until = Time::ns((time_s + 0.5 * interval_s) * 1e9);
        let times = (Time::ns(interval_s * 1e9), until);
        let seconds = intervals(&machine, (point.size(), window), times, &changes);
        let seconds = seconds.map_err(|error| anyhow!("{error}")).with_context(problem)?;
        let found = seconds.iter().find(|second| (second.end_s - time_s).abs() < 1e-6);
        return found.map(|second| second.value).with_context(problem);
    }
    let benchmark = Benchmark::of(&point.program).with_context(|| format!("{} has no model", point.program))?;
    let each = point.size().max(1) * u64::from(asked.unwrap_or(1));
    let iterations = (BYTES / each).clamp(ITERATIONS.0, ITERATIONS.1) as u32;
    let options = Options {
        size: point.size(),
        window,
        iterations,
        warmup: iterations,
        by_host: true,
        middle: true,
        ..Options::default()
    };
    let outcome = run(&machine, benchmark, &options).map_err(|error| anyhow!("{error}")).with_context(problem)?;
    Ok(outcome.value)
}

/// What a schedule does to rates; it counts from the first result, which comes after one interval.
fn changes(plan: &Plan, benchmark: &str, interval_s: f64) -> Vec<Change> {
    let found = plan.benchmarks.iter().find(|known| known.name == benchmark);
    let entries = found.and_then(|known| known.schedule.as_ref()).into_iter().flat_map(|schedule| &schedule.entries);
    let changed = |entry: &crate::lab::schedule::Entry| {
        let change::Change::Rail(update) = &entry.change else { return None };
        let mbit = update.applied_to(crate::lab::Rail::default()).rate_mbit.mbit()?;
        let at = Time::ns((interval_s + entry.at.as_secs_f64()) * 1e9);
        Some(Change { at, rail: entry.target.rail, mbit })
    };
    entries.filter_map(changed).collect()
}
