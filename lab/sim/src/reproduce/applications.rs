//! The papers' applications: one iteration of each, recorded with as many ranks as the papers had (`lab/sim/applications`),
//! on models of the papers' machines.

use std::sync::Arc;

use fishplate_trace::Trace;
use fishplate_trace::cycle::Cycle;

use super::experiments::{Experiments, Setting};
use crate::models::time::Time;
use crate::replay::{self, Computation};

/// Number of simulated iterations; the startup is independent of it.
const ITERATIONS: u32 = 3;

/// Name, class and ranks as one word, and the file.
const RECORDED: &[(&str, &[u8])] = &[
    ("bt.B-4", include_bytes!("../../applications/bt.B-4.cycle")),
    ("cg.B-64", include_bytes!("../../applications/cg.B-64.cycle")),
    ("cg.B-8", include_bytes!("../../applications/cg.B-8.cycle")),
    ("ep.B-8", include_bytes!("../../applications/ep.B-8.cycle")),
    ("ft.A-16", include_bytes!("../../applications/ft.A-16.cycle")),
    ("ft.A-8", include_bytes!("../../applications/ft.A-8.cycle")),
    ("ft.B-16", include_bytes!("../../applications/ft.B-16.cycle")),
    ("ft.B-64", include_bytes!("../../applications/ft.B-64.cycle")),
    ("ft.B-8", include_bytes!("../../applications/ft.B-8.cycle")),
    ("is.A-16", include_bytes!("../../applications/is.A-16.cycle")),
    ("is.A-8", include_bytes!("../../applications/is.A-8.cycle")),
    ("is.B-16", include_bytes!("../../applications/is.B-16.cycle")),
    ("is.B-64", include_bytes!("../../applications/is.B-64.cycle")),
    ("is.B-8", include_bytes!("../../applications/is.B-8.cycle")),
    ("lu.B-8", include_bytes!("../../applications/lu.B-8.cycle")),
    ("mg.B-8", include_bytes!("../../applications/mg.B-8.cycle")),
    ("sp.B-4", include_bytes!("../../applications/sp.B-4.cycle")),
    ("visualization-8", include_bytes!("../../applications/visualization-8.cycle")),
];

/// Time of an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// Until the last rank is done, in seconds.
    pub run_s: f64,
    /// Time in MPI, the mean of all ranks, in seconds.
    pub communication_s: f64,
}

impl Iteration {
    /// Which part of the run time is communication.
    pub fn share(&self) -> f64 {
        self.communication_s / self.run_s
    }
}

/// An application that was recorded: `is.B-8`.
///
/// # Errors
/// When there is none.
pub fn recorded(name: &str) -> Result<Cycle, String> {
    let (_, bytes) =
        RECORDED.iter().find(|(known, _)| *known == name).ok_or_else(|| format!("{name} was not recorded"))?;
    Cycle::decode(bytes).map_err(|error| format!("{name}: {error}"))
}

/// Runs an application as it was recorded; the setting's ranks must be as many.
///
/// # Errors
/// When there is none, or the testbed does not say how fast it computes.
pub fn run(experiments: &Experiments, setting: &Setting, name: &str) -> Result<Iteration, String> {
    let program = name.split(['.', '-']).next().unwrap_or_default();
    run_trace(experiments, setting, program, recorded(name)?.repeated(ITERATIONS), ITERATIONS)
}

/// Runs a trace of some iterations; `program`: as testbeds call it.
///
/// # Errors
/// When the testbed does not say how fast it computes, or ranks wait for ever.
pub fn run_trace(
    experiments: &Experiments,
    setting: &Setting,
    program: &str,
    trace: Trace,
    iterations: u32,
) -> Result<Iteration, String> {
    let machine = experiments.machine(setting)?;
    let scale = machine.testbed.computation.get(program);
    let scale = scale.ok_or_else(|| format!("{} has no computation.{program}", setting.testbed))?.value;
    let computation = Computation { with_idle: false, scale, processors: None };
    let outcome = replay::run(&machine, &Arc::new(trace), computation)?;
    let each = |time: Time| time.as_ns() / 1e9 / f64::from(iterations);
    Ok(Iteration { run_s: each(outcome.run), communication_s: each(outcome.communication()) })
}
