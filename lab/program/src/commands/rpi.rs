//! `fishplate rpi`: the gain of a program from better networks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::bench::execute::Interrupted;
use crate::bench::plan::Plan;
use crate::bench::{self, conditions, selection};
use crate::mpi::stacks;
use crate::record;
use crate::rpi::measure::Measurement;
use crate::rpi::networks::{self, Named, Network};
use crate::rpi::{Asked, Evaluation, print};
use crate::system::child_process::Signals;
use crate::system::output_file;
use crate::testbed::isolate;
use crate::{say, tell};

/// Exit code when all runs were tried and some failed.
const SOME_FAILED: u8 = 3;
/// Ending of the page.
const PAGE: &str = "html";
/// Greatest time limit of a run, in seconds.
const MAX_SECONDS: f64 = 86_400.0;

/// Measures the gain of a program from better networks.
///
/// Runs COMMAND on each network in turn, with a library in front of MPI that measures the time in MPI. Prints, for each
/// network between a base and the best one, its share of the best one's gain (relative performance improvement), with
/// its confidence interval; and the program's run time with an infinitely fast network. Writes a record and a page.
/// Networks are emulated by hosts and rails that exist only for the measurement; with --hosts they are interfaces of
/// real hosts. Exit codes: 0 success; 3 some runs failed; 1 another error; 128 + N ended by signal N.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Plan (as of `fishplate bench`) whose links --networks can name, for rails with delay, loss, clusters
    plan: Option<PathBuf>,

    /// Three or more networks: rates of rails in Mbit/s, links of the plan; with --hosts, interfaces, or a name alone
    #[arg(long, value_name = "NAME=RATE+RATE...|LINK,...", value_delimiter = ',', required_unless_present = "read")]
    networks: Vec<String>,

    /// Stack of all networks, or of one network [default: fishplate-mpich]
    #[arg(long, value_name = "STACK|NETWORK:STACK,...", value_delimiter = ',')]
    stacks: Vec<String>,

    /// File, or folder of files, that describes stacks of your own (may be repeated)
    #[arg(long, value_name = "FILE")]
    stack_file: Vec<PathBuf>,

    /// The network that others are compared with [default: the first]
    #[arg(long, value_name = "NETWORK")]
    base: Option<String>,

    /// The network whose gain is 100 % [default: the last]
    #[arg(long, value_name = "NETWORK")]
    best: Option<String>,

    /// Number of ranks
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=65536))]
    ranks: u32,

    /// Number of runs on each network
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,

    /// Time limit of one run, in seconds
    #[arg(long, value_name = "S", default_value_t = 600.0)]
    timeout: f64,

    /// Without emulation, run on these hosts, or on those of this Slurm job ("slurm")
    #[arg(long, value_name = "NAME,...|slurm", value_delimiter = ',', conflicts_with = "hostfile")]
    hosts: Vec<String>,

    /// Without emulation, run on the hosts in this file, one a line
    #[arg(long, value_name = "FILE")]
    hostfile: Option<PathBuf>,

    /// File of the record; with --hosts, in a folder that all hosts can write to
    #[arg(long, value_name = "FILE", default_value = "rpi.jsonl")]
    record: PathBuf,

    /// File of the page [default: beside the record]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Show a record again
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["networks", "command", "plan"])]
    read: Option<PathBuf>,

    /// Program with its arguments, without a launcher
    #[arg(last = true, required_unless_present = "read", value_name = "COMMAND")]
    command: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  fishplate rpi --networks one=100,two=100+100,fast=800 -- ./app input
  fishplate rpi links.toml --networks near,far,fast=1000 --ranks 8 --repeats 10 -- ./app
  fishplate rpi --networks tcp=1000,ucx=1000,ours=1000+250 --stacks tcp:mpich-tcp,ucx:mpich-ucx -- ./app
  fishplate rpi --hosts a,b --networks one=eth0,two=eth0+eth1,fast=eth2 -- ./app
  fishplate rpi --read rpi.jsonl";

pub fn run(args: Args, inside: Option<PathBuf>) -> Result<ExitCode> {
    if let Some(read) = &args.read {
        show(read, args.output.as_deref())?;
        return Ok(ExitCode::SUCCESS);
    }
    let measurement = args.measurement()?;
    if inside.is_none() {
        args.check(&measurement)?;
        if measurement.is_emulated() {
            return isolate::run_again_inside();
        }
    }
    let signals = Signals::take()?;
    if measurement.is_emulated() {
        isolate::settle()?;
    }
    let failures = match measurement.run(inside, &signals) {
        Ok(failures) => failures,
        Err(error) => {
            let interrupted: Interrupted = error.downcast()?;
            tell!("fishplate: {interrupted}; the measurements are in {}", args.record.display());
            return Ok(interrupted.exit_code());
        }
    };
    show(&args.record, args.output.as_deref())?;
    Ok(if failures > 0 { ExitCode::from(SOME_FAILED) } else { ExitCode::SUCCESS })
}

impl Args {
    fn measurement(&self) -> Result<Measurement> {
        let mut plan = self.plan.as_deref().map_or_else(|| Ok(Plan::default()), Plan::load)?;
        plan.stack_files.extend(self.stack_file.iter().cloned());
        let hosts = selection::hosts(&self.hosts, self.hostfile.as_deref())?;
        ensure!(hosts.len() != 1, "a network has at least 2 hosts: --hosts a,b");
        let named = Named { networks: &self.networks, stacks: &self.stacks, links: &plan.links, hosts: &hosts };
        let networks = named.find(&plan.catalog()?)?;
        let (base, best) = networks::ends(&networks, self.base.as_deref(), self.best.as_deref())?;
        ensure!(
            self.timeout > 0.0 && self.timeout <= MAX_SECONDS,
            "--timeout is above 0 and at most {MAX_SECONDS} seconds, not {}",
            self.timeout
        );
        let machines = hosts.len().max(1) as u32;
        let asked = Asked {
            command: self.command.clone(),
            ranks: self.ranks,
            networks: networks.iter().map(Network::asked).collect(),
            base,
            best,
            oversubscribed: self.ranks.div_ceil(machines) > conditions::cores(),
        };
        let (repeats, timeout) = (self.repeats, Duration::from_secs_f64(self.timeout));
        Ok(Measurement { asked, networks, plan, repeats, timeout, record: self.record.clone() })
    }

    /// Reports problems before the first run.
    fn check(&self, measurement: &Measurement) -> Result<()> {
        measurement.check()?;
        let file = self.record.display();
        bench::check_new(&self.record, &format!("--read {file} shows it, --record names another one"))?;
        let program = &self.command[0];
        if program.contains('/') {
            let found = fs::metadata(program).with_context(|| format!("cannot find the program {program}"))?;
            ensure!(found.is_file(), "{program} is no program");
        } else if Path::new(program).is_file() {
            tell!("fishplate: {program} is looked for in PATH; the one in this folder is ./{program}");
        }
        Ok(())
    }
}

/// Prints a record's evaluation, and makes its page.
fn show(file: &Path, output: Option<&Path>) -> Result<()> {
    let record = record::read(file)?;
    if let Some(note) = record.torn_note() {
        tell!("fishplate: {note}");
    }
    let evaluation = Evaluation::of(&record)?;
    say!("{}", print::table::render(&evaluation));
    let page = output.map_or_else(|| file.with_extension(PAGE), Path::to_path_buf);
    output_file::put(&page, print::page::render(&evaluation, &record))?;
    say!("\nrecord: {}\npage: {}", stacks::absolute(file)?.display(), stacks::absolute(&page)?.display());
    Ok(())
}
