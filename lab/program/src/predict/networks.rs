//! The networks that a program is predicted for.

use std::rc::Rc;

use anyhow::{Context, Result, anyhow, ensure};
use fishplate_sim::testbed::{Placement, Testbed};

use crate::bench::link::Link;
use crate::lab::Delay;
use crate::simulation::{self, emulated};

/// A machine that a program might run on.
#[derive(Clone)]
pub struct Network {
    pub name: String,
    pub testbed: Rc<Testbed>,
    pub stack: String,
    /// Placement of the ranks.
    pub placement: Placement,
}

/// Question for all networks.
pub struct Asked<'a> {
    /// Ranks of the trace.
    pub ranks: u32,
    /// Ranks of a node.
    pub per_node: u32,
    /// The stack, where it is not the machine's default.
    pub stack: Option<&'a str>,
    /// Parameters with other values, `PATH=VALUE`.
    pub changes: &'a [String],
}

impl Asked<'_> {
    /// A network, from `TESTBED`, `TESTBED:STACK`, or `NAME=RATE+RATE...` with `/DELAY` behind it.
    ///
    /// # Errors
    /// When there is none, or the ranks do not fit.
    pub fn network(&self, text: &str) -> Result<Network> {
        let (name, testbed, stack) = match text.split_once('=') {
            Some((name, rails)) => {
                ensure!(!name.is_empty(), "\"{text}\": the network has no name");
                ensure!(
                    self.changes.is_empty(),
                    "--set changes parameters of testbeds; \"{text}\" is one of rates: copy the testbed `emulated` to a \
                     file instead"
                );
                (name.to_string(), emulated(text, name, rails)?, None)
            }
            None => self.testbed(text)?,
        };
        let stack = stack.or(self.stack).unwrap_or(&testbed.default_stack).to_string();
        testbed.stack(&stack).map_err(|error| anyhow!("{error}"))?;
        let placement = Placement::new(self.ranks, self.per_node, testbed.cluster.len());
        for (cluster, used) in testbed.cluster.iter().zip(placement.clusters()) {
            let there = cluster.nodes.value as usize;
            ensure!(
                *used <= there,
                "{name}: {} ranks, {} on a node, need {used} nodes in cluster {}, which has {there}: more with \
                 --ranks-per-node, or a larger one (cluster.{}.nodes)",
                self.ranks,
                self.per_node,
                cluster.name,
                cluster.name
            );
        }
        Ok(Network { name, testbed: Rc::new(testbed), stack, placement })
    }

    fn testbed<'t>(&self, text: &'t str) -> Result<(String, Testbed, Option<&'t str>)> {
        let (name, stack) = match text.split_once(':') {
            Some((name, stack)) => (name, Some(stack)),
            None => (text, None),
        };
        let testbed = simulation::changed(name, self.changes)?;
        Ok((text.to_string(), testbed, stack))
    }
}

/// Rails as `fishplate lab` emulates them, on as many hosts as are needed.
fn emulated(text: &str, name: &str, rails: &str) -> Result<Testbed> {
    let (rates, delay) = match rails.split_once('/') {
        Some((rates, delay)) => (rates, Some(delay)),
        None => (rails, None),
    };
    let mut link = Link::parse(&format!("{name}={rates}"))?;
    if let Some(delay) = delay {
        let delay: Delay = delay.parse().map_err(|why: String| anyhow!("\"{text}\": {why}"))?;
        link.rails.iter_mut().for_each(|rail| rail.delay = delay);
    }
    let mut testbed = emulated::testbed(&link).with_context(|| format!("\"{text}\""))?;
    testbed.cluster.iter_mut().for_each(|cluster| cluster.nodes.value = f64::from(u32::MAX));
    Ok(testbed)
}
