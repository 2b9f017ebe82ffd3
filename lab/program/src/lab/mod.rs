//! Laboratories: clusters of hosts on one machine, whose rails have rates, delays, queues and loss.
//!
//! [`Topology`] says what to build; a [`Lab`] is it, until dropped, in the namespaces of the calling process
//! ([`crate::testbed::isolate`]).

pub mod change;
pub mod control;
mod daemon;
pub mod enter;
pub mod launch;
mod link;
pub mod measure;
mod network;
pub mod print;
pub mod probe;
mod rail;
pub mod registry;
pub mod schedule;
mod shape;
pub mod start;
pub mod stream;
mod topology;
mod units;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, anyhow};
use fishplate_longbow::{Backend, Status};

use crate::storage::{self, Storage};
use crate::testbed::host::Host;
use crate::testbed::orphans;
use change::{Change, Target};
use link::Link;
use shape::Emulation;

pub use fishplate_longbow::link::Loss;
pub use rail::{Flip, Rail};
pub use topology::{Choice, Cluster, Topology, Wan};
pub use units::{Delay, Size};

/// Hosts and rails, until it is dropped.
pub struct Lab {
    topology: Topology,
    hosts: Vec<Host>,
    /// One for each cluster, if there are any.
    switches: Vec<Host>,
    links: Vec<Link>,
    emulation: Option<Emulation>,
    folder: PathBuf,
    notes: Vec<String>,
    storage: Option<Storage>,
    /// Names of links whose ends drop all that comes.
    deaf: BTreeSet<String>,
}

impl Lab {
    /// Makes hosts and rails. Only inside [`crate::testbed::isolate`]; `folder` is for files that live as long as the
    /// lab.
    pub fn build(topology: &Topology, folder: &Path) -> Result<Lab> {
        topology.check()?;
        launch::publish_names(topology.hosts(), folder)?;
        let storage = topology.storage.as_ref();
        let storage = storage.map(|asked| Storage::prepare(asked, folder)).transpose()?;
        let hosts = (0..topology.hosts()).map(Host::start).collect::<Result<Vec<_>>>()?;
        let clusters = if link::is_switched(topology) { topology.clusters.len() } else { 0 };
        let mut lab = Lab {
            links: link::links(topology),
            topology: topology.clone(),
            hosts,
            switches: (0..clusters).map(Host::start_switch).collect::<Result<_>>()?,
            emulation: None,
            folder: folder.to_path_buf(),
            notes: Vec::new(),
            storage,
            deaf: BTreeSet::new(),
        };
        lab.make_management()?;
        lab.make_rails()?;
        let hosts = storage::Hosts { all: &lab.hosts, rails: lab.topology.rails(), folder };
        lab.storage.as_mut().map_or(Ok(()), |storage| storage.start(&hosts))?;
        Ok(lab)
    }

    fn make_rails(&mut self) -> Result<()> {
        let backend = self.choose_backend()?;
        if backend.is_some() || !self.switches.is_empty() {
            self.tune()?;
        }
        let for_emulator = |link: &&Link| backend.is_some() && Lab::is_for_emulator(link);
        let emulated: Vec<String> = self.links.iter().filter(for_emulator).map(|link| link.name.clone()).collect();
        let made_by_emulator = |link: &Link| backend == Some(Backend::Tap) && emulated.contains(&link.name);
        for link in self.links.iter().filter(|link| !made_by_emulator(link)) {
            self.make_pair(link)?;
        }
        if let Some(backend) = backend {
            self.start_emulator(backend, emulated)?;
        }
        self.connect()?;
        for number in 0..self.links.len() {
            if !self.links[number].asked.is_plain() {
                self.apply(number)?;
            }
        }
        (0..self.rails()).try_for_each(|rail| self.limit_offload(rail))
    }

    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The hosts that programs run on: those that serve no storage.
    pub fn clients(&self) -> &[Host] {
        &self.hosts[..self.topology.clients()]
    }

    /// The storage, if there is one.
    pub fn storage(&self) -> Option<&Storage> {
        self.storage.as_ref()
    }

    /// Error of the storage.
    pub fn storage_failures(&mut self) -> Vec<String> {
        self.storage.as_mut().map(Storage::failures).unwrap_or_default()
    }

    pub fn rails(&self) -> usize {
        self.topology.rails()
    }

    /// Folder for files that live as long as the lab.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Notes for the user about the emulation on this machine.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How rails are emulated.
    pub fn shaping(&self) -> &'static str {
        match self.emulation.as_ref().map(|emulation| emulation.backend) {
            None => "HTB",
            Some(Backend::Nfqueue) => "NFQUEUE",
            Some(Backend::Tap) => "TAP",
        }
    }

    /// Whether the hosts' rails are TAP devices.
    pub fn rails_are_tunnels(&self) -> bool {
        self.emulation.as_ref().is_some_and(|emulation| emulation.backend == Backend::Tap)
    }

    /// A command line to run on a host.
    pub fn command(&self, host: usize, line: &[OsString]) -> Command {
        self.hosts[host].command(line)
    }

    /// Environment in which a plain `mpiexec` spreads its ranks over the hosts.
    pub fn environment(&self) -> Result<Vec<(String, OsString)>> {
        launch::environment(self)
    }

    /// Changes a rail at once.
    pub fn set(&mut self, target: &Target, change: &Change) -> Result<()> {
        let numbers = self.find(target)?;
        for number in numbers {
            match change {
                Change::Down | Change::Up => {
                    let up = *change == Change::Up;
                    let link = self.links[number].clone();
                    if up {
                        self.bring_up(&link)?
                    } else {
                        self.take_down(&link)?
                    }
                    self.links[number].up = up;
                }
                Change::Reset => self.reset_connections(&self.links[number])?,
                Change::Rail(update) => {
                    let before = self.links[number].asked;
                    self.links[number].asked = update.applied_to(before);
                    if let Err(error) = self.apply(number) {
                        self.links[number].asked = before;
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes all rails again what they were built to be.
    pub fn restore(&mut self) -> Result<()> {
        for (number, built) in link::links(&self.topology).into_iter().enumerate() {
            if !self.links[number].up {
                self.bring_up(&built)?;
                self.links[number].up = true;
            }
            if self.links[number].asked != built.asked {
                self.links[number].asked = built.asked;
                self.apply(number)?;
            }
        }
        Ok(())
    }

    /// Says whether there is such a rail.
    pub fn find(&self, target: &Target) -> Result<Vec<usize>> {
        link::find(&self.links, target)
    }

    /// Counters of the emulator, if there is one.
    pub fn emulator_status(&mut self, reset: bool) -> Result<Option<Status>> {
        match &mut self.emulation {
            Some(emulation) => {
                let problem = |error| anyhow!("{error:#}: its rails are cut; start the lab again");
                emulation.emulator.status(reset).map(Some).map_err(problem)
            }
            None => Ok(None),
        }
    }

    /// Share of one core that the emulator took since this was last asked, if there is one.
    pub fn emulator_cpu(&mut self) -> Option<f64> {
        let status = self.emulator_status(false).ok()??;
        let emulation = self.emulation.as_mut()?;
        let (busy, running) = (status.user_s + status.system_s, status.running_s);
        let share = (busy - emulation.last_usage.0) / (running - emulation.last_usage.1).max(f64::MIN_POSITIVE);
        emulation.last_usage = (busy, running);
        Some(share)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // It says good-bye over the rails.
        self.storage = None;
        self.emulation = None;
        let holders: Vec<u32> = self.hosts.iter().chain(&self.switches).map(Host::proc_id).collect();
        orphans::await_end(&holders);
    }
}
