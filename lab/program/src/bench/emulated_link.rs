//! A link of a plan, emulated: hosts, rails, and a server of plain sockets.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use super::link::Link;
use super::plan::Plan;
use crate::lab::Lab;
use crate::lab::launch::REMOTE_SHELL;
use crate::mpi::stacks::Hosts;
use crate::record;
use crate::testbed::host::Host;
use crate::testbed::{MANAGEMENT, isolate, multipath, orphans, rail_name};

/// Seconds for which each place of a link is measured.
const MEASURED_S: f64 = 0.5;

/// What an emulated link needs beside its plan.
#[derive(Clone)]
pub struct EmulationSetup {
    /// Folder of the testbed.
    pub folder: PathBuf,
    /// The program `sockets`, where plain sockets are measured too.
    pub sockets: Option<PathBuf>,
    /// A stack wants multipath TCP.
    pub multipath: bool,
}

/// Hosts and rails of one link.
pub struct Emulated {
    link: Link,
    surroundings: EmulationSetup,
    lab: Lab,
    server: Option<Child>,
    environment: Vec<(String, OsString)>,
    measured: record::Link,
}

impl Emulated {
    /// Makes them, and measures each rail.
    pub fn build(plan: &Plan, link: &Link, surroundings: EmulationSetup) -> Result<Emulated> {
        let mut emulated = Emulated::start(plan, link, surroundings)?;
        let lab = &mut emulated.lab;
        // The share of processor time counts from here on.
        lab.emulator_cpu();
        let measured = lab.measure(MEASURED_S).with_context(|| format!("link {} cannot be measured", link.name))?;
        emulated.measured.emulator_cpu = lab.emulator_cpu();
        link.add_measured(&mut emulated.measured, &measured);
        Ok(emulated)
    }

    /// Makes them anew, the rails being what they were when they were measured.
    pub fn again(plan: &Plan, link: &Link, surroundings: EmulationSetup, measured: record::Link) -> Result<Emulated> {
        let mut emulated = Emulated::start(plan, link, surroundings)?;
        emulated.measured = measured;
        Ok(emulated)
    }

    /// Ends everything that runs on the hosts, and makes them anew.
    pub fn renew(self, plan: &Plan) -> Result<Emulated> {
        let (link, surroundings, measured) = (self.link.clone(), self.surroundings.clone(), self.measured.clone());
        drop(self);
        Emulated::again(plan, &link, surroundings, measured)
    }

    fn start(plan: &Plan, link: &Link, surroundings: EmulationSetup) -> Result<Emulated> {
        isolate::begin_network()?;
        let about = || format!("link {}", link.name);
        let lab = Lab::build(&link.topology(plan.hosts, plan.seed), &surroundings.folder).with_context(about)?;
        let environment = lab.environment()?;
        // A storage that uses multipath TCP has let its hosts use all rails already.
        let joined = link.storage.as_ref().is_some_and(|storage| storage.mptcp);
        if surroundings.multipath && !joined {
            join_paths(&lab).with_context(about)?;
        }
        let server = surroundings.sockets.as_ref().map(|program| {
            let mut server = lab.command(server_host(&lab), &serve_sockets(program, surroundings.multipath));
            server.stdin(Stdio::null()).stdout(Stdio::null());
            server.spawn().context("cannot start the server of plain sockets")
        });
        let server = server.transpose()?;
        let measured = link.recorded();
        Ok(Emulated { link: link.clone(), surroundings, lab, server, environment, measured })
    }

    pub fn folder(&self) -> &Path {
        self.lab.folder()
    }

    /// The hosts and rails.
    pub fn lab_mut(&mut self) -> &mut Lab {
        &mut self.lab
    }

    /// What the link is, asked and measured.
    pub fn measured(&self) -> &record::Link {
        &self.measured
    }

    /// Environment of launchers.
    pub fn environment(&self) -> impl Iterator<Item = (String, OsString)> {
        self.environment.iter().cloned()
    }

    /// Variables for programs that say where storage is.
    pub fn storage_variables(&self) -> impl Iterator<Item = (String, String)> {
        let variables = self.lab.storage().into_iter().flat_map(|storage| storage.variables());
        variables.map(|(name, value)| (name.clone(), value.to_string_lossy().into_owned()))
    }

    /// Part of a processor that the emulator took since this was last asked, if there is one.
    pub fn emulator_cpu(&mut self) -> Option<f64> {
        self.lab.emulator_cpu()
    }

    /// Placement of `ranks` ranks, of which hosts have as many as `by_host` says, unless it is empty.
    pub fn hosts(&self, ranks: u32, by_host: Vec<u32>) -> Hosts {
        let count = if by_host.is_empty() { ranks as usize } else { by_host.len() };
        let chosen = self.lab.topology().spread(count);
        let shell = self.environment.iter().find(|(name, _)| name == REMOTE_SHELL);
        Hosts {
            names: chosen.iter().map(|host| self.lab.hosts()[*host].name.clone()).collect(),
            ranks: by_host,
            remote_shell: shell.map(|(_, path)| path.into()),
            interface: Some(MANAGEMENT.to_string()),
        }
    }

    /// Interfaces, the fastest first.
    pub fn best_rails(&self) -> Vec<String> {
        self.link.best_first().into_iter().map(rail_name).collect()
    }

    /// Address of the server of plain sockets on the fastest rail.
    pub fn peer(&self) -> Ipv4Addr {
        self.lab.hosts()[server_host(&self.lab)].rail_address(self.link.best_first().first().copied().unwrap_or(0))
    }

    /// A command on the first host.
    pub fn command(&self, line: &[OsString]) -> Command {
        self.lab.command(0, line)
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            // It may have been ended by others, and its status taken with that of what programs left.
            let _ = server.kill();
            let _ = server.wait();
        }
        orphans::end(&self.lab.hosts().iter().map(Host::proc_id).collect::<Vec<_>>());
    }
}

/// The host of the server: the second of two that are as far apart as can be. The client is on the first.
fn server_host(lab: &Lab) -> usize {
    lab.topology().spread(2).last().copied().unwrap_or_default()
}

/// The command line of the server.
fn serve_sockets(program: &Path, multipath: bool) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec![program.into(), "serve".into()];
    if multipath {
        line.push("--mptcp".into());
    }
    line
}

/// Lets multipath TCP use all rails: the server tells its addresses, the client uses its own.
fn join_paths(lab: &Lab) -> Result<()> {
    for (host, role) in [(server_host(lab), "signal"), (0, "subflow")] {
        multipath::use_all_rails(&lab.hosts()[host], lab.rails(), role)?;
    }
    Ok(())
}
