//! The modelled machine of a link of the plan, calibrated.

use std::rc::Rc;

use anyhow::{Context, Result, anyhow};
use fishplate_sim::suite::Machine;
use fishplate_sim::testbed::Placement;

use super::parameter::Calibrated;
use crate::bench::Plan;
use crate::simulation::emulated;

/// Emulated links have two hosts.
const HOSTS: u32 = 2;
/// Of the simulation.
const SEED: u64 = 1;

/// Ranks of a stack on a link of the plan.
pub fn of(plan: &Plan, calibrated: &[Calibrated], link: &str, stack: &str, ranks: u32) -> Result<Machine> {
    let asked = plan.links.iter().find(|known| known.name == link);
    let mut testbed = emulated::testbed(asked.with_context(|| format!("the plan has no link {link}"))?)?;
    calibrated.iter().for_each(|set| set.apply(&mut testbed));
    testbed.stack(stack).map_err(|error| anyhow!("{error}"))?;
    // Hosts that are far from each other are clusters of their own.
    let placement = Placement::new(ranks, ranks.div_ceil(HOSTS), testbed.cluster.len());
    Ok(Machine { testbed: Rc::new(testbed), stack: stack.into(), placement, seed: SEED })
}
