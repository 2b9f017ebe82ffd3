//! Testbeds: machines as files. Every number says where it comes from.

mod build;
mod parameter;
mod placement;
mod schema;
mod shipped;

use std::rc::Rc;

use fishplate_engine::Config;
use fishplate_engine::policy::{Multiplexing, Striping};

pub use build::Fabric;
pub use parameter::{Parameter, all as all_parameters, set};
pub use placement::Placement;
pub use schema::{Kind, Stack, Testbed};
pub use shipped::{SHIPPED, shipped};

use crate::models::network::Network;
use crate::models::time::Time;
use crate::mpi::costs::Costs;
use crate::mpi::world::World;

/// A testbed's file, whose numbers can be changed before it is used.
#[derive(Clone, Debug)]
pub struct Description {
    table: toml::Table,
}

impl Description {
    /// Reads a text.
    ///
    /// # Errors
    /// When it is no testbed, with the place.
    pub fn parse(text: &str) -> Result<Description, String> {
        let table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
        let description = Description { table };
        description.parameters()?;
        description.testbed()?;
        Ok(description)
    }

    /// Every parameter with its path.
    ///
    /// # Errors
    /// When one has neither source nor assumption.
    pub fn parameters(&self) -> Result<Vec<(String, Parameter)>, String> {
        all_parameters(&self.table)
    }

    /// The same testbed with another value at `path`.
    ///
    /// # Errors
    /// When there is nothing of that name, or the value does not fit.
    pub fn with(&self, path: &str, value: &str) -> Result<Description, String> {
        let mut other = self.clone();
        set(&mut other.table, path, value)?;
        other.testbed()?;
        Ok(other)
    }

    /// What it says.
    ///
    /// # Errors
    /// When something is missing, unknown, or refers to what is not there.
    pub fn testbed(&self) -> Result<Testbed, String> {
        let testbed: Testbed = self.table.clone().try_into().map_err(|error: toml::de::Error| error.to_string())?;
        testbed.check()?;
        Ok(testbed)
    }
}

impl Testbed {
    fn check(&self) -> Result<(), String> {
        if self.rail.is_empty() || self.cluster.is_empty() {
            return Err("a testbed has at least one cluster and one rail".into());
        }
        if !self.stack.contains_key(&self.default_stack) {
            return Err(format!("default_stack: there is no stack {}", self.default_stack));
        }
        for (name, stack) in &self.stack {
            let problem = |what: String| Err(format!("stack.{name}: {what}"));
            if !self.transport.contains_key(&stack.transport) {
                return problem(format!("there is no transport {}", stack.transport));
            }
            if stack.rails.is_empty() || stack.rails.iter().any(|rail| *rail >= self.rail.len()) {
                return problem(format!("rails are numbered 0 to {}", self.rail.len() - 1));
            }
            stack.config().map_err(|error| format!("stack.{name}: {error}"))?;
        }
        Ok(())
    }

    /// The stack of that name.
    ///
    /// # Errors
    /// When there is none; says which there are.
    pub fn stack(&self, name: &str) -> Result<&Stack, String> {
        let known = || self.stack.keys().cloned().collect::<Vec<_>>().join(", ");
        self.stack.get(name).ok_or_else(|| format!("{} has no stack {name}; there are {}", self.name, known()))
    }
}

impl Stack {
    /// Settings of its engines.
    ///
    /// # Errors
    /// When a policy is unknown.
    pub fn config(&self) -> Result<Config, String> {
        let multiplexing: Multiplexing = self
            .multiplexing
            .as_deref()
            .unwrap_or("binding")
            .parse()
            .map_err(|error| format!("multiplexing: {error}"))?;
        let striping: Striping =
            self.striping.as_deref().unwrap_or("binding").parse().map_err(|error| format!("striping: {error}"))?;
        let eager_limit = self.eager_limit();
        Ok(Config { multiplexing, striping, eager_limit, ..engine_defaults() })
    }

    /// Longest message without a rendezvous, where that is fixed.
    pub fn eager_limit(&self) -> Option<u64> {
        self.eager_limit_bytes.as_ref().map(|limit| limit.value as u64)
    }

    /// What its code costs.
    pub fn costs(&self) -> Costs {
        let ns = |parameter: &Parameter| Time::ns(parameter.value);
        let optional = |parameter: &Option<Parameter>| parameter.as_ref().map_or(Time::default(), ns);
        Costs {
            synchronise: optional(&self.synchronise_ns),
            read: optional(&self.read_ns),
            reads_in_flight: self.reads_in_flight.as_ref().map_or(u32::MAX, |most| (most.value as u32).max(1)),
            accumulate: optional(&self.accumulate_ns),
            call: ns(&self.call_ns),
            eager_send: ns(&self.eager_send_ns),
            eager_receive: ns(&self.eager_receive_ns),
            copy_byte_ps: self.copy_mb_s.as_ref().map_or(0.0, |rate| 1e6 / rate.value),
            control: ns(&self.control_ns),
            rdma_send: ns(&self.rdma_send_ns),
            rdma_receive: ns(&self.rdma_receive_ns),
            register: ns(&self.register_ns),
        }
    }
}

/// Bytes of unexpected messages that a rank takes from each peer: the papers' libraries have their own flow control,
/// which benchmarks that post their receives do not meet.
const GRANT: u64 = 512 << 20;

fn engine_defaults() -> Config {
    Config { grant: GRANT, most_grant: GRANT, memory: u64::MAX, most_announced: 1 << 16, ..Config::default() }
}

/// Processes of `stack` on a testbed.
///
/// # Errors
/// When the stack's policies are unknown.
pub fn world(testbed: &Rc<Testbed>, stack: &Stack, placement: &Placement, seed: u64) -> Result<World, String> {
    let config = stack.config()?;
    let mut network = Network::default();
    let fabric = Fabric::new(&mut network, testbed.clone(), stack.clone(), placement.clone(), seed);
    Ok(World::new(network, Box::new(fabric), placement.ranks(), &config, (stack.costs(), !stack.native)))
}
