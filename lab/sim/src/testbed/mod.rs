//! Testbeds: machines as files. Every number says where it comes from.

mod build;
mod machine;
mod nodes;
mod parameter;
mod paths;
mod placement;
mod schema;
mod storage;

pub use machine::{Change, Machine};
pub use parameter::Parameter;
pub use placement::Placement;
pub use schema::{Emulation, Kind, Parts, Stack, Testbed};
pub use storage::Storage;

use fishplate_engine::Config;
use fishplate_engine::policy::{Multiplexing, Striping};

use crate::models::time::Time;
use crate::mpi::costs::Costs;
use crate::mpi::world;

/// Testbeds that come with the program: name and text.
pub const SHIPPED: &[(&str, &str)] = &[
    ("multirail-2004", include_str!("../../testbeds/multirail-2004.toml")),
    ("endapps-2006", include_str!("../../testbeds/endapps-2006.toml")),
    ("pecnit-2007-ib", include_str!("../../testbeds/pecnit-2007-ib.toml")),
    ("pecnit-2007-quadrics", include_str!("../../testbeds/pecnit-2007-quadrics.toml")),
    ("ib-2x400", include_str!("../../testbeds/ib-2x400.toml")),
    ("fat-tree", include_str!("../../testbeds/fat-tree.toml")),
    ("eth-100g-wan", include_str!("../../testbeds/eth-100g-wan.toml")),
    ("emulated", include_str!("../../testbeds/emulated.toml")),
    ("wan-2008", include_str!("../../testbeds/wan-2008.toml")),
];

/// The text of a testbed that comes with the program.
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// A testbed's file, whose numbers can be changed before it is used.
#[derive(Clone, Debug)]
pub struct Description {
    table: toml::Table,
}

impl Description {
    /// A testbed that comes with the program.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn shipped(name: &str) -> Result<Description, String> {
        Description::parse(shipped(name).ok_or_else(|| format!("there is no testbed {name}"))?)
    }

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
        parameter::all(&self.table)
    }

    /// This testbed with another value at `path`.
    ///
    /// # Errors
    /// If the path does not exist, or the value is invalid.
    pub fn with(&self, path: &str, value: &str) -> Result<Description, String> {
        let mut other = self.clone();
        parameter::set(&mut other.table, path, value)?;
        other.testbed()?;
        Ok(other)
    }

    /// Parses a testbed.
    ///
    /// # Errors
    /// If an entry is missing, unknown, or refers to a missing one.
    pub fn testbed(&self) -> Result<Testbed, String> {
        let mut testbed: Testbed = self.table.clone().try_into().map_err(|error: toml::de::Error| error.to_string())?;
        testbed.share_ports()?;
        testbed.check()?;
        Ok(testbed)
    }
}

impl Testbed {
    fn check(&self) -> Result<(), String> {
        if self.rail.is_empty() || self.cluster.is_empty() {
            return Err("a testbed has at least one cluster and one rail".into());
        }
        if let Some(rail) = self.rail.iter().find(|rail| rail.parts().is_none()) {
            return Err(format!("rail {}: it has either `emulated`, or bus, adapter, link and switch", rail.name));
        }
        if !self.stack.contains_key(&self.default_stack) {
            return Err(format!("default_stack: no stack {}", self.default_stack));
        }
        for (name, stack) in &self.stack {
            let problem = |what: String| Err(format!("stack.{name}: {what}"));
            if !self.transport.contains_key(&stack.transport) {
                return problem(format!("there is no transport {}", stack.transport));
            }
            if stack.rails.is_empty() || stack.rails.iter().any(|rail| *rail >= self.rail.len()) {
                return problem(format!("rails are numbered 0 to {}", self.rail.len() - 1));
            }
            if let Some(storage) = stack.storage.as_ref().filter(|storage| !self.storage.contains_key(*storage)) {
                return problem(format!("there is no storage {storage}"));
            }
            stack.config().map_err(|error| format!("stack.{name}: {error}"))?;
        }
        self.check_inner_links()?;
        for (name, storage) in &self.storage {
            storage.check().map_err(|error| format!("storage.{name}: {error}"))?;
        }
        Ok(())
    }

    /// This machine with emulated rails of these rates in Mbit/s, all used by all stacks, instead of its own rails.
    ///
    /// # Errors
    /// When its first rail is not emulated.
    pub fn with_rates(&self, mbit: &[f64]) -> Result<Testbed, String> {
        let mut other = self.clone();
        let rail = |mbit: &f64| {
            let mut rail = self.rail.first().cloned().ok_or("there is no rail")?;
            rail.emulated.as_mut().ok_or("the rail is not emulated")?.mbit.value = *mbit;
            Ok(rail)
        };
        other.rail = mbit.iter().map(rail).collect::<Result<_, String>>()?;
        let all: Vec<usize> = (0..mbit.len()).collect();
        other.stack.values_mut().for_each(|stack| stack.rails = all.clone());
        Ok(other)
    }

    /// The stack of that name.
    ///
    /// # Errors
    /// When there is none; says which there are.
    pub fn stack(&self, name: &str) -> Result<&Stack, String> {
        let known = || self.stack.keys().cloned().collect::<Vec<_>>().join(", ");
        self.stack.get(name).ok_or_else(|| format!("{} has no stack {name}; there are {}", self.name, known()))
    }

    /// The file system of a stack.
    ///
    /// # Errors
    /// When there is no such stack, or it has none; says which have.
    pub fn storage_of(&self, stack: &str) -> Result<&Storage, String> {
        let named = self.stack(stack)?.storage.as_ref().and_then(|name| self.storage.get(name));
        named.ok_or_else(|| {
            let having = self.stack.iter().filter(|(_, stack)| stack.storage.is_some());
            let known: Vec<&str> = having.map(|(name, _)| name.as_str()).collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            format!("stack {stack} of {} has no file system; stacks with one: {known}", self.name)
        })
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
        let defaults = match &self.grant_bytes {
            Some(grant) => Config { grant: grant.value as u64, ..Config::default() },
            None => engine_defaults(),
        };
        // The papers' libraries do not measure rates; Fishplate does, and a policy that needs them.
        let weighs_rates = multiplexing == Multiplexing::Earliest || striping == Striping::Earliest;
        let measures_rates = !self.without_padding && (self.acknowledges || weighs_rates);
        Ok(Config { multiplexing, striping, eager_limit, measures_rates, ..defaults })
    }

    /// Bytes of unexpected messages that a peer takes at first.
    pub fn grant(&self) -> u64 {
        self.grant_bytes.as_ref().map_or(GRANT, |grant| grant.value as u64)
    }

    /// Longest message that its sender does not wait for.
    fn unawaited_bytes(&self) -> u64 {
        let injected = || self.inject_bytes.as_ref().map_or(0, |most| most.value as u64);
        self.eager_limit().unwrap_or_else(injected)
    }

    /// Longest message without a rendezvous, where that is fixed.
    pub fn eager_limit(&self) -> Option<u64> {
        self.eager_limit_bytes.as_ref().map(|limit| limit.value as u64)
    }

    /// How it uses its network.
    fn kind(&self) -> world::Kind {
        let (headers, acknowledges) = (!self.native, self.acknowledges);
        world::Kind { headers, acknowledges, unawaited_bytes: self.unawaited_bytes() }
    }

    /// Costs of its code.
    pub fn costs(&self) -> Costs {
        let ns = |parameter: &Parameter| Time::ns(parameter.value);
        let optional = |parameter: &Option<Parameter>| parameter.as_ref().map_or(Time::default(), ns);
        let bytes = |parameter: &Option<Parameter>| parameter.as_ref().map_or(0, |most| most.value as u64);
        Costs {
            synchronise: optional(&self.synchronise_ns),
            read: optional(&self.read_ns),
            reads_in_flight: self.reads_in_flight.as_ref().map_or(u32::MAX, |most| (most.value as u32).max(1)),
            put_by_message: bytes(&self.put_by_message_bytes),
            get_by_message: bytes(&self.get_by_message_bytes),
            accumulate: optional(&self.accumulate_ns),
            call: ns(&self.call_ns),
            transmit: optional(&self.transmit_ns),
            fetch: optional(&self.fetch_ns),
            send_byte_ps: self.send_byte_ps.as_ref().map_or(0.0, |cost| cost.value),
            receive_byte_ps: self.receive_byte_ps.as_ref().map_or(0.0, |cost| cost.value),
            noise: (optional(&self.interruption_every_ns), optional(&self.interruption_ns)),
            burst: self.burst_messages.as_ref().map(|most| most.value as u32),
            eager_send: ns(&self.eager_send_ns),
            eager_receive: ns(&self.eager_receive_ns),
            copy_byte_ps: self.copy_mb_s.as_ref().map_or(0.0, |rate| 1e6 / rate.value),
            own_byte_ps: self.own_part_mb_s.as_ref().map_or(0.0, |rate| 1e6 / rate.value),
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
    Config { grant: GRANT, max_grant: GRANT, memory: u64::MAX, max_announced: 1 << 16, ..Config::default() }
}
