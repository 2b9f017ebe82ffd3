//! The modelled machine of a link: the testbed `emulated` with the link's rails.

use std::rc::Rc;

use anyhow::{Context, Result, anyhow, ensure};
use fishplate_sim::suite::Machine;
use fishplate_sim::testbed::{Emulation, Placement, Testbed};

use super::parameter::Calibrated;
use crate::bench::Plan;
use crate::lab::Choice;
use crate::simulation;

/// The testbed that stands for this kind of machine.
const TESTBED: &str = "emulated";
/// The emulator's longest frame takes so long, in seconds.
const LONGEST_FRAME_S: f64 = 500e-6;
/// What the emulator counts of each packet beside the frame: check sequence, preamble, gap.
const GAP_BYTES: f64 = 24.0;
/// Emulated links have two hosts.
const HOSTS: u32 = 2;
/// Of the simulation.
const SEED: u64 = 1;

/// Ranks of a stack on a link of the plan.
pub fn of(plan: &Plan, calibrated: &[Calibrated], link: &str, stack: &str, ranks: u32) -> Result<Machine> {
    let asked = plan.links.iter().find(|known| known.name == link);
    let asked = asked.with_context(|| format!("the plan has no link {link}"))?;
    let mut testbed = simulation::open(TESTBED)?.testbed().map_err(|error| anyhow!("{TESTBED}: {error}"))?;
    let rate_alone = asked.rails.iter().all(|rail| rail.is_rate_alone()) && asked.emulator == Choice::Auto;
    let model = testbed.rail.first().cloned().context("the testbed has no rail")?;
    testbed.rail = Vec::new();
    for rail in &asked.rails {
        let mut model = model.clone();
        let emulated = model.emulated.as_mut().context("the testbed's rail is not emulated")?;
        let mbit = rail.rate_mbit.mbit().with_context(|| format!("link {link}: a rail without a rate"))?;
        ensure!(!rail.settings().can_lose(), "link {link}: rails that lose packets are not simulated");
        emulated.by = if rate_alone { Emulation::Shaper } else { Emulation::Emulator };
        emulated.mbit.value = f64::from(mbit);
        emulated.delay_us.value = rail.delay.us();
        if !rate_alone {
            emulated.gap_bytes.value = GAP_BYTES;
            let longest = f64::from(mbit) * 1e6 / 8.0 * LONGEST_FRAME_S;
            emulated.frame_bytes.value = emulated.frame_bytes.value.min(longest);
        }
        testbed.rail.push(model);
    }
    let rails: Vec<usize> = (0..testbed.rail.len()).collect();
    testbed.stack.values_mut().for_each(|stack| stack.rails = rails.clone());
    calibrated.iter().for_each(|set| set.apply(&mut testbed));
    testbed.stack(stack).map_err(|error| anyhow!("{error}"))?;
    let placement = Placement::new(ranks, ranks.div_ceil(HOSTS), clusters(&testbed));
    Ok(Machine { testbed: Rc::new(testbed), stack: stack.into(), placement, seed: SEED })
}

/// Hosts that are far from each other are clusters of their own.
fn clusters(testbed: &Testbed) -> usize {
    testbed.cluster.len()
}
