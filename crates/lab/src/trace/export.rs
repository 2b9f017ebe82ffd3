//! A trace in the format of others.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use fishplate_sim::replay::{Computation, export};
use fishplate_sim::suite::Machine;
use fishplate_sim::testbed::Placement;
use fishplate_trace::{Trace, goal};

use super::facts;
use crate::simulation::{self, emulated};

/// Of the simulation that expands collective operations.
const SEED: u64 = 1;

/// Writes it as a program in GOAL.
///
/// # Errors
/// When there is something that GOAL has no words for, or the file cannot be written.
pub fn goal(trace: Trace, output: &Path) -> Result<()> {
    let testbed = simulation::changed(emulated::TESTBED, &[])?;
    let ranks = trace.ranks.len() as u32;
    let placement = Placement::new(ranks, facts::ranks_per_host(&trace), testbed.cluster.len());
    let stack = testbed.default_stack.clone();
    let machine = Machine { testbed: Rc::new(testbed), stack, placement, seed: SEED };
    let with_idle = !facts::is_oversubscribed(&trace);
    let computation = Computation { with_idle, scale: 1.0, processors: None };
    let program = export::goal(&machine, &Arc::new(trace), computation).map_err(|error| anyhow!("{error}"))?;
    write(&program, output).inspect_err(|_| drop(fs::remove_file(output)))
}

fn write(program: &goal::Program, output: &Path) -> Result<()> {
    let problem = || format!("cannot write {}", output.display());
    let mut file = BufWriter::new(File::create(output).with_context(problem)?);
    goal::write(program, &mut file).with_context(problem)?;
    file.flush().with_context(problem)
}
