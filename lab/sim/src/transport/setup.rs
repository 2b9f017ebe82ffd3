//! The setup of a simulation: everything that a run depends on.

use std::fmt;

use fishplate_engine::Config;
use fishplate_link::{Rate, Settings};

use super::data::Contents;
use super::faults::Fault;
use super::flow::Socket;
use super::ids::HostId;
use super::mix::Mix;
use super::mutation::Mutation;
use super::shared_memory::SharedMemory;
use super::stream_changes::Change;
use crate::events::Time;

/// A rail, equal between all hosts and in both directions.
#[derive(Clone, Debug)]
pub struct Rail {
    /// The link.
    pub link: Settings,
    /// Engines know the rate from the driver.
    pub rate_known: bool,
}

/// Everything that a run depends on.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Of all random numbers.
    pub seed: u64,
    /// How many.
    pub hosts: usize,
    /// In their order.
    pub rails: Vec<Rail>,
    /// Connections over each rail between two hosts.
    pub streams: usize,
    /// Of every engine.
    pub config: Config,
    /// Of every connection.
    pub socket: Socket,
    /// Memory that hosts share, if any do.
    pub shared_memory: Option<SharedMemory>,
    /// How payloads are kept.
    pub contents: Contents,
    /// The users' commands.
    pub mix: Mix,
    /// Faults, in order of time.
    pub faults: Vec<(Time, Fault)>,
    /// Additional streams that are set up and retired, in order of time.
    pub changes: Vec<(Time, Change)>,
    /// Does not keep to the protocol.
    pub hostile: Option<HostId>,
    /// A bug that is planted to see whether it is found.
    pub mutation: Option<Mutation>,
}

impl Setup {
    /// Two hosts with idle users and without faults.
    pub fn quiet_pair(rails: Vec<Rail>, config: Config, socket: Socket) -> Setup {
        Setup {
            seed: 0,
            hosts: 2,
            rails,
            streams: 1,
            config,
            socket,
            shared_memory: None,
            contents: Contents::Origins,
            mix: Mix::default(),
            faults: Vec::new(),
            changes: Vec::new(),
            hostile: None,
            mutation: None,
        }
    }
}

impl fmt::Display for Rail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mbit_per_s = self.link.rate.map_or(0, Rate::bits_per_s) / 1_000_000;
        let us = self.link.delay_ns / 1_000;
        write!(
            f,
            "{mbit_per_s} Mbit/s, {us} us, jitter {} us, loss {:?}",
            self.link.jitter_ns / 1_000,
            self.link.loss
        )?;
        if self.rate_known { Ok(()) } else { write!(f, ", rate unknown") }
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {} hosts, {} streams a rail", self.seed, self.hosts, self.streams)?;
        self.rails.iter().enumerate().try_for_each(|(at, rail)| writeln!(f, "  rail {at}: {rail}"))?;
        self.shared_memory.iter().try_for_each(|memory| writeln!(f, "  rail {}: {memory}", self.rails.len()))?;
        writeln!(f, "  {:?}", self.config)?;
        writeln!(f, "  {:?}, payloads as {:?}", self.socket, self.contents)?;
        writeln!(f, "  {:?}", self.mix)?;
        self.faults.iter().try_for_each(|(at, fault)| writeln!(f, "  fault at {at}: {fault}"))?;
        self.changes.iter().try_for_each(|(at, change)| writeln!(f, "  at {at}: {change}"))?;
        self.hostile.iter().try_for_each(|host| writeln!(f, "  {host} does not keep to the protocol"))?;
        self.mutation.iter().try_for_each(|mutation| writeln!(f, "  planted bug: {mutation}"))
    }
}
