//! Simulation of the points that were measured.

use anyhow::{Context, Result, anyhow};
use fishplate_sim::models::time::Time;
use fishplate_sim::suite::{Benchmark, Options, intervals, run, sweep};
use fishplate_sim::testbed::{Change, Machine};

use super::parameter::Calibrated;
use super::point::Point;
use crate::bench::Plan;
use crate::lab::change;
use crate::simulation::emulated;

/// Bytes that go one way in the iterations that count, about: short messages are repeated more often.
const BYTES: u64 = 32 << 20;
/// Iterations that count, at least and at most.
const ITERATIONS: (u64, u64) = (6, 24);
/// Window of programs unless the record says.
const WINDOW: u32 = 64;

/// The model's values of all points.
pub fn all(plan: &Plan, calibrated: &[Calibrated], points: &mut [Point]) -> Result<()> {
    let is_alone = |point: &Point| point.time_s.is_some() || rails(plan, &point.sample.link) < 2;
    for point in points.iter_mut().filter(|point| is_alone(point)) {
        point.simulated = value(plan, calibrated, point)?;
    }
    // Over several rails it matters what a program has learned before.
    let program = |a: &Point, b: &Point| {
        let name =
            |point: &Point| (point.sample.benchmark.clone(), point.sample.link.clone(), point.sample.stack.clone());
        name(a) == name(b)
    };
    for measured in points.chunk_by_mut(program).filter(|measured| !is_alone(&measured[0])) {
        let values = in_turn(plan, calibrated, &measured.iter().collect::<Vec<_>>())?;
        measured.iter_mut().zip(values).for_each(|(point, value)| point.simulated = value);
    }
    Ok(())
}

fn rails(plan: &Plan, link: &str) -> usize {
    plan.links.iter().find(|known| known.name == link).map_or(0, |link| link.rails.len())
}

/// The model's value of a point.
pub fn value(plan: &Plan, calibrated: &[Calibrated], point: &Point) -> Result<f64> {
    let sample = &point.sample;
    let problem = || format!("{} on {} at {} bytes", sample.benchmark, sample.link, point.size());
    let machine = machine(plan, calibrated, &sample.link, &sample.stack, sample.ranks).with_context(problem)?;
    let window = options(point).window;
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
    let outcome = run(&machine, benchmark(point)?, &options(point)).map_err(|error| anyhow!("{error}"));
    Ok(outcome.with_context(problem)?.value)
}

/// Sizes that one program measures, the shortest first: what it learns of its rails while it does it keeps, so each
/// lasts as long as it was measured.
fn in_turn(plan: &Plan, calibrated: &[Calibrated], points: &[&Point]) -> Result<Vec<f64>> {
    let Some(first) = points.first() else { return Ok(Vec::new()) };
    let sample = &first.sample;
    let problem = || format!("{} on {}", sample.benchmark, sample.link);
    let machine = machine(plan, calibrated, &sample.link, &sample.stack, sample.ranks).with_context(problem)?;
    let benchmark = benchmark(first)?;
    let turn = |point: &&Point| {
        let alone = options(point);
        let outcome = run(&machine, benchmark, &alone)?;
        let each_s = outcome.end.as_ns() / 1e9 / f64::from(alone.iterations + alone.warmup);
        let asked = point.sample.options.get("seconds").and_then(|seconds| seconds.as_f64());
        let fitting = asked.map_or(0, |seconds| (seconds / each_s) as u32);
        Ok(Options { iterations: fitting.max(alone.iterations), warmup: 0, ..alone })
    };
    let turns: Result<Vec<Options>, String> = points.iter().map(turn).collect();
    let outcomes = turns.and_then(|turns| sweep(&machine, benchmark, &turns));
    let outcomes = outcomes.map_err(|error| anyhow!("{error}")).with_context(problem)?;
    Ok(outcomes.into_iter().map(|outcome| outcome.value).collect())
}

fn benchmark(point: &Point) -> Result<Benchmark> {
    Benchmark::of(&point.program).with_context(|| format!("{} has no model", point.program))
}

/// How a point is simulated by itself.
fn options(point: &Point) -> Options {
    let asked = point.sample.options.get("window").and_then(|window| window.as_u64()).map(|window| window as u32);
    let each = point.size().max(1) * u64::from(asked.unwrap_or(1));
    let iterations = (BYTES / each).clamp(ITERATIONS.0, ITERATIONS.1) as u32;
    Options {
        size: point.size(),
        window: asked.unwrap_or(WINDOW),
        iterations,
        warmup: iterations,
        by_host: true,
        median: true,
        ..Options::default()
    }
}

/// Rate changes of a schedule. Its time begins at the first result, which follows one interval.
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

/// Emulated links have two hosts.
const HOSTS: u32 = 2;
/// Of the simulation.
const SEED: u64 = 1;

/// Ranks of a stack on a link of the plan.
fn machine(plan: &Plan, calibrated: &[Calibrated], link: &str, stack: &str, ranks: u32) -> Result<Machine> {
    let asked = plan.links.iter().find(|known| known.name == link);
    let mut testbed = emulated::testbed(asked.with_context(|| format!("the plan has no link {link}"))?)?;
    calibrated.iter().for_each(|set| set.apply(&mut testbed));
    testbed.stack(stack).map_err(|error| anyhow!("{error}"))?;
    // Hosts that are far from each other are clusters of their own.
    Ok(Machine::new(testbed, (ranks, ranks.div_ceil(HOSTS)), SEED).with_stack(stack))
}
