//! Calibration: a few points set the costs of this machine's processors and emulator in the model. They count for nothing
//! else.

use anyhow::{Context, Result};

use super::parameter::{Calibrated, Parameter};
use super::point::{Point, Role, is_time};
use super::simulate;
use crate::bench::Plan;

/// A parameter, the point that determines it, and the range of the search.
struct Rule {
    parameter: Parameter,
    program: &'static str,
    size: u64,
    /// On a link with a delay, or one without.
    delayed: bool,
    range: (f64, f64),
}

/// In the order in which they are looked for.
const RULES: [Rule; 6] = [
    Rule { parameter: Parameter::Fetch, program: "latency", size: 64, delayed: false, range: (0.0, 50_000.0) },
    Rule { parameter: Parameter::Transmit, program: "bandwidth", size: 16, delayed: false, range: (0.0, 50_000.0) },
    // Of longer ones the rail carries no more.
    Rule { parameter: Parameter::Messages, program: "message_rate", size: 16, delayed: false, range: (0.0, 20_000.0) },
    Rule { parameter: Parameter::Timer, program: "latency", size: 65536, delayed: false, range: (0.0, 200.0) },
    Rule { parameter: Parameter::Lateness, program: "latency", size: 64, delayed: true, range: (0.0, 2_000.0) },
    Rule { parameter: Parameter::Frames, program: "bandwidth", size: 64, delayed: true, range: (0.0, 200.0) },
];

/// A parameter moves the points of others a little: so often all are looked for at most,
const MAX_ROUNDS: usize = 16;
/// each going this part of the way to what was found, as what one gains another loses,
const STEP: f64 = 0.5;
/// and not again when none has moved by more than this part of its range.
const SETTLED: f64 = 1e-4;
/// Halvings of a range: to a part of 16384.
const HALVINGS: usize = 14;

/// Finds all parameters, and marks the points that set them.
///
/// # Errors
/// When such a point was not measured.
pub fn run(plan: &Plan, points: &mut [Point]) -> Result<Vec<Calibrated>> {
    let mut calibrated: Vec<Calibrated> = Vec::new();
    let mut chosen = Vec::new();
    for rule in &RULES {
        let delayed = plan.links.iter().any(|link| is_delayed(plan, &link.name));
        if rule.delayed && !delayed {
            continue;
        }
        let kind = if rule.delayed { "with a delay" } else { "without a delay" };
        let missing =
            || format!("no {} at {} bytes on a link {kind}: nothing to calibrate by", rule.program, rule.size);
        let index = points.iter().position(|point| rule.fits(plan, point)).with_context(missing)?;
        points[index].role = Role::Calibration;
        calibrated.push(Calibrated { parameter: rule.parameter, value: rule.range.0 });
        chosen.push((rule, index));
    }
    for round in 0..MAX_ROUNDS {
        let mut moved: f64 = 0.0;
        for (at, (rule, index)) in chosen.iter().enumerate() {
            let found = rule.search(plan, &mut calibrated.clone(), at, &points[*index])?;
            let before = calibrated[at].value;
            let value = if round == 0 { found } else { before + STEP * (found - before) };
            moved = moved.max((value - before).abs() / (rule.range.1 - rule.range.0));
            calibrated[at].value = value;
        }
        if moved <= SETTLED {
            break;
        }
    }
    Ok(calibrated)
}

impl Rule {
    fn fits(&self, plan: &Plan, point: &Point) -> bool {
        point.program == self.program
            && point.size() == self.size
            && point.time_s.is_none()
            && is_delayed(plan, &point.sample.link) == self.delayed
    }

    /// Halves the range: every parameter is a cost, and more of it makes every point slower.
    fn search(&self, plan: &Plan, calibrated: &mut [Calibrated], at: usize, point: &Point) -> Result<f64> {
        let (mut low, mut high) = self.range;
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            calibrated[at].value = middle;
            let simulated = simulate::value(plan, calibrated, point)?;
            let more = simulated > point.measured.median;
            let slower = more == is_time(&point.sample);
            if slower { high = middle } else { low = middle }
        }
        Ok(0.5 * (low + high))
    }
}

fn is_delayed(plan: &Plan, link: &str) -> bool {
    let found = plan.links.iter().find(|known| known.name == link);
    found.is_some_and(|link| link.rails.iter().any(|rail| !rail.delay.is_zero()))
}
