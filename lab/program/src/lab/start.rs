//! Bringing a lab up: its daemon is started as the first process of new namespaces.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::registry::Slot;
use super::{Topology, daemon, enter};
use crate::system::programs;
use crate::testbed::isolate;

/// Description of the lab, for the daemon.
const PLAN: &str = "topology.json";

/// Brings a lab up, which lives on. Before any thread is started.
pub fn start(slot: &Slot, topology: &Topology) -> Result<()> {
    programs::iproute2("ip")?;
    programs::iproute2("tc")?;
    let lock = slot.take()?;
    let started = start_daemon(slot, topology, lock);
    if started.is_err() {
        // The first error is the one to tell.
        let _ = slot.clear();
    }
    started
}

fn start_daemon(slot: &Slot, topology: &Topology, lock: File) -> Result<()> {
    let problem = || format!("cannot write into {}", slot.folder.display());
    fs::write(slot.folder.join(PLAN), serde_json::to_vec(topology)?).with_context(problem)?;
    let log = File::create(slot.log()).with_context(problem)?;
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    isolate::become_parent_of_namespaces()?;
    let mut command = Command::new(program);
    // The daemon has the lock as its standard input, so it is free when the daemon is gone, however it ends.
    command.arg("lab-daemon").arg(&slot.name).arg(&slot.folder).stdin(lock).stdout(Stdio::piped()).stderr(log);
    let mut child = command.spawn().context("cannot start a lab")?;
    drop(command);
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).context("cannot read from a lab")?;
    }
    if line.trim() != "ready" {
        child.wait().context("cannot wait for a lab")?;
        let log = fs::read_to_string(slot.log()).unwrap_or_default();
        bail!("{}", log.trim().trim_start_matches("fishplate: "));
    }
    Ok(())
}

/// The daemon.
pub fn live(slot: &Slot) -> Result<()> {
    nix::unistd::setsid().context("cannot leave the session")?;
    // Until the lab is up: nobody would know of half a lab.
    enter::tie()?;
    isolate::settle_alone()?;
    let plan = fs::read(slot.folder.join(PLAN)).context("cannot read the description")?;
    daemon::run(slot, &serde_json::from_slice(&plan)?)?;
    // Best effort: the command that waits, or the next lab of this name, removes the rest.
    let _ = fs::remove_dir_all(&slot.folder);
    Ok(())
}
