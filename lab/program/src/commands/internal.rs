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

/// Becomes a host: makes its namespaces and keeps them until standard input ends.
#[derive(clap::Args)]
pub struct HoldHost {
    /// Its host name.
    name: String,
}

/// Becomes the emulator of a lab's links.
#[derive(clap::Args)]
pub struct EmulateLinks {}

/// Runs a command inside a host.
#[derive(clap::Args)]
pub struct EnterHost {
    /// Process that holds the host's namespaces, as /proc numbers it.
    holder: u32,
    /// Command with its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Looks at this host for `fishplate doctor` on another one, which asks on standard input.
#[derive(clap::Args)]
pub struct ExamineHost {}

/// Starts an MPI library and ends it.
#[derive(clap::Args)]
pub struct StartMpi {
    /// Its file.
    library: PathBuf,
}

/// Runs a command, and ends it when the parent of this process is gone.
#[derive(clap::Args)]
pub struct TieToParent {
    /// Command with its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Becomes a process of a lab's storage.
#[derive(clap::Args)]
pub struct StorageProcess {
    /// Its environment, in JSON.
    surroundings: String,
    /// Command with its arguments.
    #[arg(required = true, last = true)]
    command: Vec<OsString>,
}

/// Becomes the process that a lab lives in.
#[derive(clap::Args)]
pub struct LabDaemon {
    /// Name of the lab.
    name: String,
    /// Its folder.
    folder: PathBuf,
}

/// Sends datagrams back.
#[derive(clap::Args)]
pub struct ReflectDatagrams {
    /// Where to listen.
    address: IpAddr,
}

/// Measures round trips to who sends datagrams back.
#[derive(clap::Args)]
pub struct MeasureRoundTrips {
    /// Where that listens.
    address: IpAddr,
    /// How long.
    seconds: f64,
}

/// Receives one TCP stream at each address and says how fast they came.
#[derive(clap::Args)]
pub struct ReceiveStreams {
    /// Seconds to leave out at the beginning, while TCP finds its speed.
    #[arg(long)]
    warm_up: f64,
    /// Seconds to measure, after that.
    seconds: f64,
    /// Where to listen.
    #[arg(required = true)]
    addresses: Vec<IpAddr>,
}

/// Sends one TCP stream to each address until the receiver has had enough.
#[derive(clap::Args)]
pub struct SendStreams {
    /// Where to connect.
    #[arg(required = true)]
    addresses: Vec<IpAddr>,
}

/// `emulate-links`.
pub fn emulate(_: EmulateLinks) -> Result<ExitCode> {
    let own = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().context("cannot take a descriptor");
    fishplate_longbow::serve(own(std::io::stdin().as_fd())?, own(std::io::stdout().as_fd())?)?;
    Ok(ExitCode::SUCCESS)
}

/// `lab-daemon`.
pub fn lab_daemon(args: LabDaemon) -> Result<ExitCode> {
    start::live(&Slot { name: args.name, folder: args.folder })?;
    Ok(ExitCode::SUCCESS)
}

/// `enter-lab-host`.
pub fn enter_from_outside(args: EnterHost) -> Result<ExitCode> {
    enter::tie()?;
    match host::enter(args.holder, &args.command)? {}
}

/// `reflect-datagrams`.
pub fn reflect(args: ReflectDatagrams) -> Result<ExitCode> {
    probe::reflect(args.address)?;
    Ok(ExitCode::SUCCESS)
}

/// `measure-round-trips`.
pub fn round_trips(args: MeasureRoundTrips) -> Result<ExitCode> {
    let time = Duration::try_from_secs_f64(args.seconds).context("not a number of seconds")?;
    say!("{}", serde_json::to_string(&probe::round_trips(args.address, time)?)?);
    Ok(ExitCode::SUCCESS)
}

/// `hold-host`.
pub fn hold(args: HoldHost) -> Result<ExitCode> {
    host::hold(&args.name)?;
    Ok(ExitCode::SUCCESS)
}

/// `enter-host`.
pub fn enter(args: EnterHost) -> Result<ExitCode> {
    match host::enter(args.holder, &args.command)? {}
}

/// `examine-host`.
pub fn examine(_: ExamineHost) -> Result<ExitCode> {
    remote_host::examine()?;
    Ok(ExitCode::SUCCESS)
}

/// `start-mpi`.
pub fn start_mpi(args: StartMpi) -> Result<ExitCode> {
    trial::start(&args.library)?;
    Ok(ExitCode::SUCCESS)
}

/// `tie-to-parent`.
pub fn tie(args: TieToParent) -> Result<ExitCode> {
    prctl::set_pdeathsig(Signal::SIGTERM).context("cannot tie this process to its parent")?;
    match child_process::become_command(&args.command)? {}
}

/// `storage-process`.
pub fn storage_process(args: StorageProcess) -> Result<ExitCode> {
    match process::become_process(&serde_json::from_str(&args.surroundings)?, &args.command)? {}
}

/// `receive-streams`.
pub fn receive(args: ReceiveStreams) -> Result<ExitCode> {
    let seconds = Duration::try_from_secs_f64(args.seconds).context("not a number of seconds")?;
    let warm_up = Duration::try_from_secs_f64(args.warm_up).context("not a number of seconds")?;
    let rates = stream::receive(&args.addresses, warm_up, seconds)?;
    say!("{}", serde_json::to_string(&rates)?);
    Ok(ExitCode::SUCCESS)
}

/// `send-streams`.
pub fn send(args: SendStreams) -> Result<ExitCode> {
    stream::send(&args.addresses)?;
    Ok(ExitCode::SUCCESS)
}
