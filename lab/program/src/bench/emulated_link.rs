//! A link of a plan, emulated: hosts, rails, and a server of plain sockets.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result};

use super::link::Link;
use super::plan::Plan;
use crate::lab::Lab;
use crate::lab::launch::REMOTE_SHELL;
use crate::mpi::stacks::Hosts;
use crate::record;
use crate::testbed::host::Host;
use crate::testbed::{MANAGEMENT, isolate, multipath, orphans};

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
    pub asked: Link,
    pub setup: EmulationSetup,
    pub lab: Lab,
    /// Environment of launchers.
    pub environment: Vec<(String, OsString)>,
    server: Option<Child>,
}

impl Emulated {
    /// Makes them.
    pub fn start(plan: &Plan, asked: &Link, setup: EmulationSetup) -> Result<Emulated> {
        isolate::begin_network()?;
        let about = || format!("link {}", asked.name);
        let lab = Lab::build(&asked.topology(plan.hosts, plan.seed), &setup.folder).with_context(about)?;
        let environment = lab.environment()?;
        // A storage that uses multipath TCP has let its hosts use all rails already.
        let joined = asked.storage.as_ref().is_some_and(|storage| storage.mptcp);
        if setup.multipath && !joined {
            join_paths(&lab).with_context(about)?;
        }
        let server = setup.sockets.as_ref().map(|program| {
            let mut server = lab.command(server_host(&lab), &serve_sockets(program, setup.multipath));
            server.stdin(Stdio::null()).stdout(Stdio::null());
            server.spawn().context("cannot start the server of plain sockets")
        });
        let server = server.transpose()?;
        Ok(Emulated { asked: asked.clone(), setup, lab, environment, server })
    }

    /// What the link is, asked and measured.
    pub fn measure(&mut self) -> Result<record::Link> {
        let mut link = self.asked.recorded();
        // The share of processor time counts from here on.
        self.lab.emulator_cpu();
        let measured = self.lab.measure(MEASURED_S);
        let measured = measured.with_context(|| format!("link {} cannot be measured", self.asked.name))?;
        link.emulator_cpu = self.lab.emulator_cpu();
        self.asked.add_measured(&mut link, &measured);
        Ok(link)
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

    /// Address of the server of plain sockets on the fastest rail.
    pub fn peer(&self) -> Ipv4Addr {
        self.lab.hosts()[server_host(&self.lab)].rail_address(self.asked.best_first().first().copied().unwrap_or(0))
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
