//! Going into a lab from outside.

use std::ffi::OsString;
use std::fs::{self, File};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, setns};
use nix::sys::prctl;
use nix::sys::signal::Signal;

use super::control::{DescribedHost, Description};
use super::launch;
use crate::system::child_process::{self, Signals};

/// Runs a command on a host of the lab whose daemon is process `daemon`, as this process numbers it. Passes on
/// signals and the exit code. Before any thread is started.
pub fn run(daemon: i32, lab: &Description, host: &DescribedHost, line: &[OsString]) -> Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    enter(daemon)?;
    std::env::set_current_dir(&folder).with_context(|| format!("cannot return to {}", folder.display()))?;
    let signals = Signals::take()?;
    let mut command = Command::new(program);
    command.arg("enter-lab-host").arg(host.proc_id.to_string()).arg("--").args(line);
    launch::apply(&mut command, lab.environment.iter().cloned());
    let mut child = child_process::spawn(&mut command, &line[0])?;
    Ok(signals.wait(&mut child, None)?.exit_code())
}

/// Enters the namespaces of a process; processes only from the next child on.
fn enter(process: i32) -> Result<()> {
    let path = |kind: &str| format!("/proc/{process}/ns/{kind}");
    let same_user = fs::read_link(path("user")).ok() == fs::read_link("/proc/self/ns/user").ok();
    let kinds = [
        ("user", CloneFlags::CLONE_NEWUSER),
        ("pid", CloneFlags::CLONE_NEWPID),
        ("net", CloneFlags::CLONE_NEWNET),
        ("mnt", CloneFlags::CLONE_NEWNS),
    ];
    let mut files = Vec::new();
    for (kind, flag) in kinds.into_iter().filter(|(kind, _)| *kind != "user" || !same_user) {
        files.push((File::open(path(kind)).context("cannot open the namespaces of the lab")?, flag));
    }
    for (file, flag) in files {
        setns(file, flag).context("cannot enter the lab: only the user who made it can")?;
    }
    Ok(())
}

/// Ends this process, or the command that it becomes, with its parent.
pub fn tie() -> Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL).context("cannot tie this process to its parent")
}

/// Lets this process outlive its parent again.
pub fn untie() -> Result<()> {
    prctl::set_pdeathsig(None).context("cannot untie this process from its parent")
}
