//! One host: a process that holds a network namespace, a host name and mounts.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;

use super::isolate;
use crate::say;
use crate::system::{child_process, programs};

/// Prefix of all addresses of testbeds: private (RFC 1918) and rarely used.
const NETWORK: [u8; 2] = [10, 77];
/// Third number of the addresses of the management network; rails count from 0.
const MANAGEMENT: u8 = 255;
/// Number of the host with the last address of a network of 256.
const LAST_INDEX: usize = 253;

/// A running host.
pub struct Host {
    pub name: String,
    index: usize,
    holder: Child,
    /// The holder as /proc numbers it, which differs from its own view where /proc is an outer one.
    proc_id: u32,
    program: PathBuf,
}

impl Host {
    /// Starts host number `index`, with nothing but a loopback interface.
    pub fn start(index: usize) -> Result<Host> {
        Host::start_as(name(index), index)
    }

    /// Starts the switch of a cluster: a host too, whose addresses are the last of each network.
    pub fn start_switch(cluster: usize) -> Result<Host> {
        Host::start_as(format!("switch{cluster}"), LAST_INDEX - cluster)
    }

    fn start_as(name: String, index: usize) -> Result<Host> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(&program);
        // A group of its own, so that Ctrl-C leaves it to the testbed to end it.
        command.args(["hold-host", &name]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut holder = command.spawn().context("cannot start a host")?;
        let mut line = String::new();
        if let Some(stdout) = holder.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).context("cannot read from a host")?;
        }
        match line.trim().parse() {
            Ok(proc_id) => Ok(Host { name, index, holder, proc_id, program }),
            Err(_) => bail!("host {name} did not start"),
        }
    }

    /// Number of the process whose network this host has.
    pub fn pid(&self) -> u32 {
        self.holder.id()
    }

    /// The process that holds it, as /proc numbers it.
    pub fn proc_id(&self) -> u32 {
        self.proc_id
    }

    pub fn rail_address(&self, rail: usize) -> Ipv4Addr {
        address(rail as u8, self.index)
    }

    /// Its address on the management network.
    pub fn management_address(&self) -> Ipv4Addr {
        management_address(self.index)
    }

    /// A command line to run here.
    pub fn command(&self, line: &[OsString]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("enter-host").arg(self.proc_id.to_string()).arg("--").args(line);
        command
    }

    /// The shell words with which a script runs something here.
    pub fn shell_prefix(&self) -> Result<String> {
        let program = self.program.to_str().context("the path of this program is not UTF-8")?;
        Ok(format!("{} enter-host {} --", crate::system::programs::shell_quote(program), self.proc_id))
    }

    /// Runs an iproute2 program here with a batch of lines.
    pub fn batch(&self, tool: &str, lines: &str) -> Result<()> {
        let tool = programs::iproute2(tool)?;
        programs::run_quietly(&mut self.command(&[tool.into(), "-batch".into(), "-".into()]), lines)?;
        Ok(())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The holder ends with its input; both can only fail if it is gone already.
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

/// Name of host number `index`.
pub fn name(index: usize) -> String {
    format!("node{index}")
}

/// Address of host number `index` on the management network.
pub fn management_address(index: usize) -> Ipv4Addr {
    address(MANAGEMENT, index)
}

fn address(third: u8, host: usize) -> Ipv4Addr {
    Ipv4Addr::new(NETWORK[0], NETWORK[1], third, host as u8 + 1)
}

/// Makes this process a host and keeps it one until standard input ends.
pub fn hold(name: &str) -> Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL).context("cannot tie this process to its parent")?;
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWUTS | CloneFlags::CLONE_NEWNS)
        .context("cannot make a host's namespaces")?;
    nix::unistd::sethostname(name).context("cannot set a host name")?;
    isolate::make_mounts_private()?;
    // /sys shows the interfaces of the namespace that mounted it. Containers may refuse: then speeds are unknown.
    let _ = mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), None::<&str>);
    // Shared memory that another host could open would be no emulation; and it goes away with this process.
    let _ = mount(Some("tmpfs"), "/dev/shm", Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, None::<&str>);
    isolate::bring_up_loopback()?;

    let own = std::fs::read_link("/proc/self").context("cannot read /proc/self")?;
    say!("{}", own.display());
    std::io::stdout().flush().context("cannot report")?;
    std::io::stdin().read_to_end(&mut Vec::new()).context("cannot read standard input")?;
    Ok(())
}

/// Turns this process into `command` on the host that `holder` holds.
pub fn enter(holder: u32, command: &[OsString]) -> Result<Infallible> {
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    let open = |kind: &str| {
        File::open(format!("/proc/{holder}/ns/{kind}")).with_context(|| format!("host of process {holder} is gone"))
    };
    let namespaces = [
        (open("net")?, CloneFlags::CLONE_NEWNET),
        (open("uts")?, CloneFlags::CLONE_NEWUTS),
        (open("mnt")?, CloneFlags::CLONE_NEWNS),
    ];
    for (namespace, kind) in namespaces {
        setns(namespace, kind).context("cannot enter a host")?;
    }
    std::env::set_current_dir(&folder).with_context(|| format!("cannot return to {}", folder.display()))?;
    child_process::become_command(command)
}
