//! The modelled machine of an emulated link: the testbed `emulated` with the link's rails.

use anyhow::{Context, Result, ensure};
use fishplate_sim::testbed::{Emulation, Testbed};

use crate::bench::link::Link;
use crate::lab::Choice;

/// The testbed that stands for this kind of machine.
pub const TESTBED: &str = "emulated";
/// Duration of the emulator's longest frame, in seconds.
const MAX_FRAME_S: f64 = 500e-6;
/// Bytes of each packet that the emulator counts beside the frame: check sequence, preamble, gap.
const GAP_BYTES: f64 = 24.0;

/// The machine. All its stacks use all rails.
///
/// # Errors
/// When a rail has no rate, or loses packets.
pub fn testbed(link: &Link) -> Result<Testbed> {
    let mut testbed = super::changed(TESTBED, &[])?;
    let rate_alone = link.rails.iter().all(|rail| rail.is_rate_alone()) && link.emulator == Choice::Auto;
    let model = testbed.rail.first().cloned().context("the testbed has no rail")?;
    testbed.rail = Vec::new();
    for (number, rail) in link.rails.iter().enumerate() {
        let mut model = model.clone();
        model.name = format!("r{number}");
        let emulated = model.emulated.as_mut().context("the testbed's rail is not emulated")?;
        let mbit = rail.rate_mbit.mbit().with_context(|| format!("link {}: a rail without a rate", link.name))?;
        ensure!(!rail.settings().can_lose(), "link {}: rails that lose packets are not simulated", link.name);
        emulated.by = if rate_alone { Emulation::Shaper } else { Emulation::Emulator };
        emulated.mbit.value = f64::from(mbit);
        emulated.delay_us.value = rail.delay.us();
        if !rate_alone {
            emulated.gap_bytes.value = GAP_BYTES;
            let longest = f64::from(mbit) * 1e6 / 8.0 * MAX_FRAME_S;
            emulated.frame_bytes.value = emulated.frame_bytes.value.min(longest);
        }
        testbed.rail.push(model);
    }
    let rails: Vec<usize> = (0..testbed.rail.len()).collect();
    testbed.stack.values_mut().for_each(|stack| stack.rails = rails.clone());
    Ok(testbed)
}
