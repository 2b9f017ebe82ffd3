//! Hosts and rails on one machine: network namespaces joined by shaped virtual Ethernet links.
//!
//! The program starts itself again in process, mount and network namespaces of its own ([`isolate`]), so that the kernel
//! removes every process, link and mount when it ends, even by SIGKILL. In there each host is a process that holds a
//! network and a host name ([`host`]); [`link`] joins them.

pub mod host;
pub mod isolate;
pub mod launch;
pub mod link;
mod orphans;
pub mod rate;
pub mod schedule;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use host::Host;
pub use rate::Rate;

/// Most rails: as many as an endpoint of the provider has.
const MAX_RAILS: usize = 8;

/// What to build.
pub struct Spec {
    /// Number of hosts.
    pub hosts: usize,
    /// Rate of each rail.
    pub rails: Vec<Rate>,
}

/// Hosts and rails, until it is dropped.
pub struct Testbed {
    hosts: Vec<Host>,
    rails: usize,
    folder: PathBuf,
}

impl Spec {
    /// Says what cannot be built.
    pub fn check(&self) -> Result<()> {
        ensure!(!self.rails.is_empty() && self.rails.len() <= MAX_RAILS, "--rails takes 1 to {MAX_RAILS} rates");
        Ok(())
    }
}

impl Testbed {
    /// Makes hosts and rails. Only inside [`isolate`]; `folder` is for files that live as long as the testbed.
    pub fn build(spec: &Spec, folder: &Path) -> Result<Testbed> {
        launch::publish_names(spec.hosts, folder)?;
        let hosts = (0..spec.hosts).map(Host::start).collect::<Result<Vec<_>>>()?;
        let testbed = Testbed { hosts, rails: spec.rails.len(), folder: folder.to_path_buf() };
        link::management(&testbed)?;
        for (rail, rate) in spec.rails.iter().enumerate() {
            link::join(&testbed, rail)?;
            testbed.set_rate(rail, *rate)?;
        }
        link::await_carriers(&testbed)?;
        Ok(testbed)
    }

    /// The hosts.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Number of rails.
    pub fn rails(&self) -> usize {
        self.rails
    }

    /// Folder for files that live as long as the testbed.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A command line to run on a host.
    pub fn command(&self, host: usize, line: &[OsString]) -> Command {
        self.hosts[host].command(line)
    }

    /// Changes the rate of a rail, in both directions, at once.
    pub fn set_rate(&self, rail: usize, rate: Rate) -> Result<()> {
        link::shape(self, rail, rate)
    }

    /// Takes a rail's links down or up on all hosts.
    pub fn set_up(&self, rail: usize, up: bool) -> Result<()> {
        link::set_up(self, rail, up)
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        let holders: Vec<u32> = self.hosts.iter().map(Host::proc_id).collect();
        orphans::await_end(&holders);
    }
}

/// Name of a rail's interface on every host.
pub fn rail_name(rail: usize) -> String {
    format!("r{rail}")
}

/// Names of the first `rails` rails, as settings take them.
pub fn rail_names(rails: usize) -> String {
    (0..rails).map(rail_name).collect::<Vec<_>>().join(",")
}
