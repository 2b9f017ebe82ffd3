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

/// Files by the names of applications.
macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_bytes!(concat!("../../applications/", $name, ".cycle")))),*]
    };
}

/// Name, class and ranks as one word, and the file.
const RECORDED: &[(&str, &[u8])] = files! {
    "bt.B-4" "cg.B-64" "cg.B-8" "ep.B-8" "ft.A-16" "ft.A-8" "ft.B-16" "ft.B-64" "ft.B-8" "is.A-16" "is.A-8" "is.B-16"
    "is.B-64" "is.B-8" "lu.B-8" "mg.B-8" "sp.B-4" "visualization-8"
};

/// Time of an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
pub fn run(experiments: &Experiments, setting: &Setting, name: &str) -> Iteration {
    let program = name.split(['.', '-']).next().unwrap_or_default();
    let trace = recorded(name).map(|cycle| cycle.repeated(ITERATIONS));
    experiments.or_fail(trace.and_then(|trace| run_trace(experiments, setting, program, trace, ITERATIONS)))
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
