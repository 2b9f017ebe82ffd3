//! `fishplate lab`: hosts and rails that stay until `down`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

use super::experiment;
use crate::lab::control::{self, Description, Request, Response};
use crate::lab::measure::Measured;
use crate::lab::registry::Slot;
use crate::lab::{Choice, Delay, Flip, Loss, Rail, Size, Topology, enter, print, start};
use crate::storage::Asked;
use crate::testbed::{FlowLimit, Rate};
use crate::{say, tell};

/// Makes clusters of hosts and rails that stay until `down`.
///
/// The hosts are network namespaces on this machine; rails have rates, delays, queues and loss. Labs stay up until
/// `down`; nothing outside of them is changed. Works as root, and as a user where the system lets users make namespaces.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "\
Examples:
  fishplate lab up --rails 1000,250
  fishplate lab up --clusters 2 --hosts 1 --rails 1000,1000 --delay 1ms
  fishplate lab up --rails 400,400 --delay 500us,5ms --port 1000
  fishplate lab up lab.toml --name sea
  fishplate lab up --clusters 2 --delay 1ms --storage nfs
  fishplate lab exec -- mpiexec -n 2 ./program
  fishplate lab exec node1 -- ip address
  fishplate lab set r0=250,delay=10ms r1=down
  fishplate lab set --schedule '4s r0=250; 8s r0=1000'
  fishplate lab status
  fishplate lab down";

#[derive(clap::Subcommand)]
enum Action {
    /// Makes a lab, measures it, and leaves it up.
    Up(Box<Up>),
    /// Changes rails while traffic runs.
    Set(Set),
    /// Shows hosts, links, counters and measurements.
    Status(Which),
    /// Measures each rail's rate and round trip again.
    Verify(Verify),
    /// Runs a command on a host.
    Exec(Exec),
    /// Ends a lab, and everything in it.
    Down(Which),
    /// Runs a ready experiment: measures, judges published statements, makes a page.
    Run(Box<experiment::Args>),
    /// Judges records of ready experiments again, and prints the verdicts as Markdown.
    Verdicts(experiment::Verdicts),
}

/// Name of a lab.
#[derive(clap::Args)]
struct Which {
    /// The lab.
    #[arg(default_value = "lab")]
    name: String,
}

#[derive(clap::Args)]
struct Up {
    /// Description of the lab in TOML, instead of the options below.
    #[arg(conflicts_with_all = ["clusters", "hosts", "rails", "wan", "delay", "jitter", "loss", "flip", "path_mtu", "queue", "flow_limit", "port"])]
    file: Option<PathBuf>,

    /// Name of the lab.
    #[arg(long, default_value = "lab")]
    name: String,

    /// Number of clusters.
    #[arg(long, default_value_t = 1)]
    clusters: usize,

    /// Number of hosts of each cluster [default: 2 in a lab of one cluster, otherwise 1].
    #[arg(long)]
    hosts: Option<usize>,

    /// Rate of each rail in Mbit/s; 0 or "unshaped": as fast as this machine can.
    #[arg(long, value_name = "RATE,...", default_value = "1000,250", value_delimiter = ',')]
    rails: Vec<Rate>,

    /// Rate of each link between clusters in Mbit/s, which all hosts share [default: as --rails].
    #[arg(long, value_name = "RATE,...", value_delimiter = ',')]
    wan: Vec<Rate>,

    /// Give each host one port of this rate in Mbit/s; the rails between two clusters are paths over it.
    #[arg(long, value_name = "RATE", conflicts_with_all = ["clusters", "wan", "storage"])]
    port: Option<Rate>,

    /// Delay one way: of the links between clusters, or of the rails of a single cluster. One value for all, or one for
    /// each rail.
    #[arg(long, value_name = "TIME,...", value_delimiter = ',')]
    delay: Vec<Delay>,

    /// Greatest random extra delay, uniformly distributed.
    #[arg(long, value_name = "TIME,...", value_delimiter = ',')]
    jitter: Vec<Delay>,

    /// Probability that a packet is lost.
    #[arg(long, value_name = "P,...", value_delimiter = ',')]
    loss: Vec<Loss>,

    /// Probability that a bit of a packet is changed, and its checksum with it.
    #[arg(long, value_name = "P,...", value_delimiter = ',')]
    flip: Vec<Flip>,

    /// Longest packet that comes through, in bytes; longer ones are dropped, without an ICMP error.
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',')]
    path_mtu: Vec<u32>,

    /// Length of the queue, in bytes.
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',')]
    queue: Vec<Size>,

    /// Rate of one flow in Mbit/s, and the number of classes of flows (default: 16): 500:2 is a bond of two ports.
    #[arg(long, value_name = "RATE[:CLASSES],...", value_delimiter = ',')]
    flow_limit: Vec<FlowLimit>,

    /// Storage of the lab, which the last hosts serve: tmpfs, nfs, nfs3, glusterfs, moosefs, path:FOLDER.
    #[arg(long, value_name = "NAME[:servers=N][:size_mib=N][:mptcp]", value_parser = Asked::from_str)]
    storage: Option<Asked>,

    /// Emulator of the rails.
    #[arg(long, value_enum)]
    emulator: Option<Choice>,

    /// Do not measure.
    #[arg(long)]
    unverified: bool,
}

#[derive(clap::Args)]
struct Set {
    /// The lab.
    #[arg(long, default_value = "lab")]
    name: String,

    /// Changes from now on, in place of an earlier schedule: "SECONDSs RAIL=CHANGE ...; ...".
    #[arg(long, value_name = "CHANGES", conflicts_with = "changes", required_unless_present = "changes")]
    schedule: Option<String>,

    /// RAIL=RATE, RAIL=down, RAIL=up, RAIL=reset, RAIL=delay=TIME,loss=P,...; RAIL is r0 or PLACE.r0.
    #[arg(value_name = "CHANGE")]
    changes: Vec<String>,
}

#[derive(clap::Args)]
struct Verify {
    /// The lab.
    #[arg(default_value = "lab")]
    name: String,

    /// Duration of the measurement of each rate, in seconds; round trips take half as long.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
}

#[derive(clap::Args)]
struct Exec {
    /// The lab.
    #[arg(long, default_value = "lab")]
    name: String,

    /// The host [default: the first].
    host: Option<String>,

    /// Command with its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Seconds that `up` measures rates for.
const GLANCE_S: f64 = 1.0;

pub fn run(args: Args, inside: Option<PathBuf>) -> Result<ExitCode> {
    match args.action {
        Action::Up(args) => up(&args)?,
        Action::Set(args) => set(args)?,
        Action::Status(args) => status(&args)?,
        Action::Verify(args) => return verify(&Slot::new(&args.name)?, args.seconds),
        Action::Exec(args) => return exec(&args),
        Action::Down(args) => down(&Slot::new(&args.name)?)?,
        Action::Run(args) => return experiment::run(*args, inside),
        Action::Verdicts(args) => experiment::verdicts(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn up(args: &Up) -> Result<()> {
    let mut topology = match &args.file {
        Some(file) => Topology::read(file)?,
        None => args.topology()?,
    };
    if let Some(emulator) = args.emulator {
        topology.emulator = emulator;
    }
    topology.storage = args.storage.clone().or(topology.storage);
    topology.check()?;
    topology.storage.as_ref().map_or(Ok(()), Asked::check_ready)?;
    let slot = Slot::new(&args.name)?;
    start::start(&slot, &topology)?;
    if !args.unverified {
        measure(&slot, GLANCE_S)?;
    }
    let Response::Status(status) = ask(&slot, &Request::Status)? else { bail!("an unexpected answer") };
    for note in &status.notes {
        tell!("note: {note}");
    }
    let (hosts, name) = (status.hosts.len(), &args.name);
    say!("{name} is up: {hosts} hosts, links by {}; `fishplate lab down {name}` ends it", status.shaping);
    Ok(())
}

impl Up {
    fn topology(&self) -> Result<Topology> {
        let several = self.clusters > 1;
        let hosts = self.hosts.unwrap_or(if several { 1 } else { 2 });
        let rates = if several && !self.wan.is_empty() { &self.wan } else { &self.rails };
        ensure!(several || self.wan.is_empty(), "--wan is for --clusters of 2 and more");
        let mut outer: Vec<Rail> = rates.iter().copied().map(Rail::of_rate).collect();
        each(&mut outer, "--delay", &self.delay, |rail, delay| rail.delay = delay)?;
        each(&mut outer, "--jitter", &self.jitter, |rail, jitter| rail.jitter = jitter)?;
        each(&mut outer, "--loss", &self.loss, |rail, loss| rail.loss = loss)?;
        each(&mut outer, "--flip", &self.flip, |rail, flip| rail.flip = flip)?;
        each(&mut outer, "--path-mtu", &self.path_mtu, |rail, mtu| rail.path_mtu = Some(mtu))?;
        each(&mut outer, "--queue", &self.queue, |rail, queue| rail.queue = Some(queue))?;
        each(&mut outer, "--flow-limit", &self.flow_limit, |rail, limit| rail.flow_limit = Some(limit))?;
        if let Some(port) = self.port {
            return Ok(Topology::paths(self.hosts.unwrap_or(1), Rail::of_rate(port), outer));
        }
        if !several {
            return Ok(Topology::cluster(hosts, outer));
        }
        let limited = hosts > 1 || !self.wan.is_empty();
        let inner = if limited { self.rails.iter().copied().map(Rail::of_rate).collect() } else { Vec::new() };
        Ok(Topology::clusters(self.clusters, hosts, inner, outer))
    }
}

/// Sets a property of each rail, from no values, one for all, or one for each.
fn each<T: Copy>(rails: &mut [Rail], option: &str, values: &[T], set: impl Fn(&mut Rail, T)) -> Result<()> {
    let count = values.len();
    ensure!(count <= 1 || count == rails.len(), "{option}: {count} values for {} rails", rails.len());
    for (number, rail) in rails.iter_mut().enumerate() {
        if let Some(value) = values.get(number).or(values.first()) {
            set(rail, *value);
        }
    }
    Ok(())
}

fn set(args: Set) -> Result<()> {
    let request = args.schedule.map_or(Request::Set(args.changes), Request::Schedule);
    let Response::Done(done) = ask(&Slot::new(&args.name)?, &request)? else { bail!("an unexpected answer") };
    done.iter().for_each(|line| say!("{line}"));
    Ok(())
}

fn status(args: &Which) -> Result<()> {
    let slot = Slot::new(&args.name)?;
    let Response::Status(status) = ask(&slot, &Request::Status)? else { bail!("an unexpected answer") };
    say!("{}", print::status(&status));
    for note in &status.notes {
        say!("note: {note}");
    }
    for failure in &status.storage_failures {
        tell!("warning: {failure}");
    }
    status.emulator_error.map_or(Ok(()), |error| Err(anyhow::anyhow!(error)))
}

fn verify(slot: &Slot, seconds: f64) -> Result<ExitCode> {
    ensure!((0.1..=600.0).contains(&seconds), "--seconds takes 0.1 to 600");
    let fine = measure(slot, seconds)?;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures, and shows the measurements. Returns whether all rails are as configured.
fn measure(slot: &Slot, seconds: f64) -> Result<bool> {
    let Response::Measured { rails, emulator_cpu } = ask(slot, &Request::Measure(seconds))? else {
        bail!("an unexpected answer")
    };
    say!("{}", print::measured(&rails));
    if let Some(share) = emulator_cpu {
        say!("the emulator took {:.1} % of a core meanwhile", share * 100.0);
    }
    let deviations: Vec<String> = rails.iter().flat_map(Measured::deviations).collect();
    for deviation in &deviations {
        tell!("warning: {deviation} (the machine may be busy)");
    }
    Ok(deviations.is_empty())
}

fn exec(args: &Exec) -> Result<ExitCode> {
    let (lab, daemon) = describe(&Slot::new(&args.name)?)?;
    let host = match &args.host {
        None => lab.hosts.first().context("a lab without hosts")?,
        Some(name) => {
            let names = || lab.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(", ");
            let found = lab.hosts.iter().find(|host| host.name == *name);
            found.with_context(|| format!("there is no host {name}; there are: {}", names()))?
        }
    };
    enter::run(daemon, &lab, host, &args.command)
}

fn describe(slot: &Slot) -> Result<(Description, i32)> {
    match control::ask(slot, &Request::Describe)? {
        (Response::Description(lab), daemon) => Ok((lab, daemon)),
        _ => bail!("an unexpected answer"),
    }
}

fn down(slot: &Slot) -> Result<()> {
    if !slot.folder.exists() {
        return slot.expect_up();
    }
    if slot.is_up() {
        ask(slot, &Request::Down)?;
    }
    slot.clear()
}

fn ask(slot: &Slot, request: &Request) -> Result<Response> {
    Ok(control::ask(slot, request)?.0)
}
