//! Where programs run: ranks of a stack on nodes of a testbed.

use std::rc::Rc;

use super::build::Fabric;
use super::{Description, Placement, Stack, Testbed};
use crate::models::network::Network;
use crate::models::time::Time;
use crate::mpi::world::World;

/// Where programs run.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The testbed.
    pub testbed: Rc<Testbed>,
    /// The stack's name.
    pub stack: String,
    /// Ranks on nodes.
    pub placement: Placement,
    /// Seed of all that is random.
    pub seed: u64,
}

/// An emulated rail has another rate from some time on, in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// From then on.
    pub at: Time,
    /// Which rail, by its position in the testbed.
    pub rail: usize,
    /// Mbit/s.
    pub mbit: u32,
}

impl Machine {
    /// Ranks of a testbed's default stack, `per_node` on each node, in equal parts on all clusters.
    pub fn new(testbed: impl Into<Rc<Testbed>>, (ranks, per_node): (u32, u32), seed: u64) -> Machine {
        let testbed = testbed.into();
        let (stack, placement) =
            (testbed.default_stack.clone(), Placement::new(ranks, per_node, testbed.cluster.len()));
        Machine { testbed, stack, placement, seed }
    }

    /// The same with a testbed that comes with the program, and other values of some of its parameters, by path.
    ///
    /// # Errors
    /// When there is no such testbed or parameter.
    pub fn shipped(name: &str, changes: &[(&str, &str)], ranks: (u32, u32), seed: u64) -> Result<Machine, String> {
        let with = |description: Description, (path, value): &(&str, &str)| description.with(path, value);
        let description = changes.iter().try_fold(Description::shipped(name)?, with)?;
        Ok(Machine::new(description.testbed()?, ranks, seed))
    }

    /// With another stack.
    pub fn with_stack(self, stack: &str) -> Machine {
        Machine { stack: stack.into(), ..self }
    }

    /// The stack.
    ///
    /// # Errors
    /// When there is none of this name; says which there are.
    pub fn stack(&self) -> Result<&Stack, String> {
        self.testbed.stack(&self.stack)
    }

    /// Processes of the stack.
    ///
    /// # Errors
    /// When there is no such stack, or its policies are unknown.
    pub fn world(&self) -> Result<World, String> {
        self.changing_world(&[])
    }

    /// Like [`Machine::world`], with rails that change over time.
    ///
    /// # Errors
    /// As [`Machine::world`], and when a rail that changes is not emulated.
    pub fn changing_world(&self, changes: &[Change]) -> Result<World, String> {
        let (stack, placement) = (self.stack()?, &self.placement);
        let config = stack.config()?;
        let mut network = Network::default();
        let fabric = Fabric::new(&mut network, self.testbed.clone(), stack.clone(), placement.clone(), self.seed);
        let mut places = Vec::new();
        for change in changes {
            for node in 0..placement.nodes() {
                let parts = fabric.emulated(node, change.rail);
                let parts = parts.ok_or_else(|| format!("rail {} is not emulated: it cannot change", change.rail))?;
                places.extend(parts.into_iter().map(|place| (change.at, place, change.mbit)));
            }
        }
        let processes = (placement.ranks(), self.seed);
        let mut world = World::new(network, Box::new(fabric), processes, &config, (stack.costs(), stack.kind()));
        places.into_iter().for_each(|(at, place, mbit)| world.change(at, place, mbit));
        Ok(world)
    }
}
