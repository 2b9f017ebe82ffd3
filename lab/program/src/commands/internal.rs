//! Hidden subcommands with which the program starts itself inside a testbed.

use std::ffi::OsString;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};

use nix::sys::prctl;
use nix::sys::signal::Signal;

use crate::doctor::checks::mpi::trial;
use crate::doctor::remote_host;
use crate::lab::registry::Slot;
use crate::lab::{enter, probe, start, stream};
use crate::say;
use crate::storage::process;
use crate::system::child_process;
use crate::testbed::host;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Becomes a host: makes its namespaces and keeps them until standard input ends.
    #[command(hide = true)]
    HoldHost {
        /// Its host name.
        name: String,
    },
    /// Becomes the emulator of a lab's links.
    #[command(hide = true)]
    EmulateLinks,
    /// Runs a command inside a host.
    #[command(hide = true)]
    EnterHost(EnterHost),
    /// Runs a command inside a host of a lab, and ends it when the parent of this process is gone.
    #[command(hide = true)]
    EnterLabHost(EnterHost),
    /// Looks at this host for `fishplate doctor` on another one, which asks on standard input.
    #[command(hide = true)]
    ExamineHost,
    /// Starts an MPI library and ends it.
    #[command(hide = true)]
    StartMpi {
        /// Its file.
        library: PathBuf,
    },
    /// Runs a command, and ends it when the parent of this process is gone.
    #[command(hide = true)]
    TieToParent {
        /// Command with its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Becomes a process of a lab's storage.
    #[command(hide = true)]
    StorageProcess {
        /// Its environment, in JSON.
        surroundings: String,
        /// Command with its arguments.
        #[arg(required = true, last = true)]
        command: Vec<OsString>,
    },
    /// Becomes the process that a lab lives in.
    #[command(hide = true)]
    LabDaemon {
        /// Name of the lab.
        name: String,
        /// Its folder.
        folder: PathBuf,
    },
    /// Sends datagrams back.
    #[command(hide = true)]
    ReflectDatagrams {
        /// Where to listen.
        address: IpAddr,
    },
    /// Measures round trips to who sends datagrams back.
    #[command(hide = true)]
    MeasureRoundTrips {
        /// Where that listens.
        address: IpAddr,
        /// How long.
        seconds: f64,
    },
    /// Receives one TCP stream at each address and says how fast they came.
    #[command(hide = true)]
    ReceiveStreams {
        /// Seconds to leave out at the beginning, while TCP finds its speed.
        #[arg(long)]
        warm_up: f64,
        /// Seconds to measure, after that.
        seconds: f64,
        /// Where to listen.
        #[arg(required = true)]
        addresses: Vec<IpAddr>,
    },
    /// Sends one TCP stream to each address until the receiver has had enough.
    #[command(hide = true)]
    SendStreams {
        /// Where to connect.
        #[arg(required = true)]
        addresses: Vec<IpAddr>,
    },
}

#[derive(clap::Args)]
pub struct EnterHost {
    /// Process that holds the host's namespaces, as /proc numbers it.
    holder: u32,
    /// Command with its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

pub fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::HoldHost { name } => host::hold(&name)?,
        Command::EmulateLinks => {
            let own = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().context("cannot take a descriptor");
            fishplate_longbow::serve(own(std::io::stdin().as_fd())?, own(std::io::stdout().as_fd())?)?;
        }
        Command::EnterHost(EnterHost { holder, command }) => match host::enter(holder, &command)? {},
        Command::EnterLabHost(EnterHost { holder, command }) => {
            enter::tie()?;
            match host::enter(holder, &command)? {}
        }
        Command::ExamineHost => remote_host::examine()?,
        Command::StartMpi { library } => trial::start(&library)?,
        Command::TieToParent { command } => {
            prctl::set_pdeathsig(Signal::SIGTERM).context("cannot tie this process to its parent")?;
            match child_process::become_command(&command)? {}
        }
        Command::StorageProcess { surroundings, command } => {
            match process::become_process(&serde_json::from_str(&surroundings)?, &command)? {}
        }
        Command::LabDaemon { name, folder } => start::live(&Slot { name, folder })?,
        Command::ReflectDatagrams { address } => probe::reflect(address)?,
        Command::MeasureRoundTrips { address, seconds } => {
            say!("{}", serde_json::to_string(&probe::round_trips(address, duration(seconds)?)?)?);
        }
        Command::ReceiveStreams { warm_up, seconds, addresses } => {
            let rates = stream::receive(&addresses, duration(warm_up)?, duration(seconds)?)?;
            say!("{}", serde_json::to_string(&rates)?);
        }
        Command::SendStreams { addresses } => stream::send(&addresses)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn duration(seconds: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(seconds).context("not a number of seconds")
}
