//! A link of a plan, emulated: hosts, rails, and a server of plain sockets on the second host.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use super::link::Link;
use super::plan::Plan;
use super::sockets;
use crate::lab::Lab;
use crate::record;
use crate::stacks::Hosts;
use crate::supervise::Signals;
use crate::testbed::host::Host;
use crate::testbed::launch::REMOTE_SHELL;
use crate::testbed::{MANAGEMENT, isolate, orphans, rail_name};

/// What an emulated link needs beside its plan.
#[derive(Clone)]
pub struct Surroundings {
    /// Folder of the testbed.
    pub folder: PathBuf,
    /// The program `sockets`.
    pub sockets: PathBuf,
    /// A stack wants multipath TCP.
    pub multipath: bool,
}

/// Hosts and rails of one link.
pub struct Emulated {
    link: Link,
    surroundings: Surroundings,
    lab: Lab,
    server: Child,
    environment: Vec<(String, OsString)>,
    measured: record::Link,
}

impl Emulated {
    /// Makes them, and measures each rail.
    pub fn build(plan: &Plan, link: &Link, surroundings: Surroundings, signals: &Signals) -> Result<Emulated> {
        let mut emulated = Emulated::start(plan, link, surroundings)?;
        emulated.measured = sockets::measure(&emulated, signals)?;
        Ok(emulated)
    }

    /// Ends everything that runs on the hosts, and makes them anew, the rails being what they were.
    pub fn renew(self, plan: &Plan) -> Result<Emulated> {
        let (link, surroundings, measured) = (self.link.clone(), self.surroundings.clone(), self.measured.clone());
        drop(self);
        let mut emulated = Emulated::start(plan, &link, surroundings)?;
        emulated.measured = measured;
        Ok(emulated)
    }

    fn start(plan: &Plan, link: &Link, surroundings: Surroundings) -> Result<Emulated> {
        isolate::begin_network()?;
        let about = || format!("link {}", link.name);
        let lab = Lab::build(&link.topology(plan.hosts), &surroundings.folder).with_context(about)?;
        let environment = lab.environment()?;
        if surroundings.multipath {
            sockets::join_paths(&lab).with_context(about)?;
        }
        let mut server = lab.command(1, &sockets::serve(&surroundings));
        server.stdin(Stdio::null()).stdout(Stdio::null());
        let server = server.spawn().context("cannot start the server of plain sockets")?;
        let measured = link.recorded();
        Ok(Emulated { link: link.clone(), surroundings, lab, server, environment, measured })
    }

    /// Folder for files.
    pub fn folder(&self) -> &Path {
        self.lab.folder()
    }

    /// The hosts and rails.
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// The same, to be changed.
    pub fn lab_mut(&mut self) -> &mut Lab {
        &mut self.lab
    }

    /// The program `sockets`.
    pub fn sockets(&self) -> &Path {
        &self.surroundings.sockets
    }

    /// What the link is, asked and measured.
    pub fn measured(&self) -> &record::Link {
        &self.measured
    }

    /// Environment of launchers.
    pub fn environment(&self) -> impl Iterator<Item = (String, OsString)> {
        self.environment.iter().cloned()
    }

    /// Part of a processor that the emulator took since this was last asked, if there is one.
    pub fn emulator_cpu(&mut self) -> Option<f64> {
        self.lab.emulator_cpu()
    }

    /// Where ranks go.
    pub fn hosts(&self) -> Hosts {
        let shell = self.environment.iter().find(|(name, _)| name == REMOTE_SHELL);
        Hosts {
            names: self.lab.hosts().iter().map(|host| host.name.clone()).collect(),
            remote_shell: shell.map(|(_, path)| path.into()),
            interface: Some(MANAGEMENT.to_string()),
        }
    }

    /// Interfaces, the fastest first.
    pub fn best_rails(&self) -> Vec<String> {
        self.link.best_first().into_iter().map(rail_name).collect()
    }

    /// The second host's address on the fastest rail.
    pub fn peer(&self) -> Ipv4Addr {
        self.lab.hosts()[1].rail_address(self.link.best_first().first().copied().unwrap_or(0))
    }

    /// A command on the first host.
    pub fn command(&self, line: &[OsString]) -> Command {
        self.lab.command(0, line)
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        // It may have been ended by others, and its status taken with that of what programs left.
        let _ = self.server.kill();
        let _ = self.server.wait();
        orphans::end(&self.lab.hosts().iter().map(Host::proc_id).collect::<Vec<_>>());
    }
}
