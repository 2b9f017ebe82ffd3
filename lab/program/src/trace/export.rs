//! A trace in the format of others.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use fishplate_sim::replay::{Computation, export};
use fishplate_sim::suite::Machine;
use fishplate_sim::testbed::Placement;
use fishplate_trace::{Trace, goal};

use super::facts;
use crate::simulation::{self, emulated};
use crate::system::whole_file;

/// Of the simulation that expands collective operations.
const SEED: u64 = 1;

/// Writes it as a program in GOAL.
///
/// # Errors
/// When GOAL cannot express a call, or the file cannot be written.
pub fn goal(trace: Trace, output: &Path) -> Result<()> {
    let testbed = simulation::changed(emulated::TESTBED, &[])?;
    let ranks = trace.ranks.len() as u32;
    let placement = Placement::new(ranks, facts::ranks_per_host(&trace), testbed.cluster.len());
    let stack = testbed.default_stack.clone();
    let machine = Machine { testbed: Rc::new(testbed), stack, placement, seed: SEED };
    let with_idle = !facts::is_oversubscribed(&trace);
    let computation = Computation { with_idle, scale: 1.0, processors: None };
    let program = export::goal(&machine, &Arc::new(trace), computation).map_err(|error| anyhow!("{error}"))?;
    whole_file::write(output, |mut to| Ok(goal::write(&program, &mut to)?))
}
