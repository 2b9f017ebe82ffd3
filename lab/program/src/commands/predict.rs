//! `fishplate predict`: run times of a recorded program on modelled networks.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use fishplate_sim::replay::Computation;

use crate::output::text;
use crate::predict::evaluate::{self, Question};
use crate::predict::networks::{Asked, Network};
use crate::predict::prediction::{Change, Prediction};
use crate::predict::results::{Results, Share};
use crate::predict::source::Source;
use crate::predict::{page, print};
use crate::system::whole_file;
use crate::{say, tell};

/// Predicts how long a recorded program takes on other networks.
///
/// Replays a trace (`fishplate profile --trace DIR`) in simulation: each rank computes for as long as it did, and
/// communicates over modelled hosts, adapters and links with Fishplate's own protocol engine. Prints run time, time in
/// MPI, and with --sensitivity the effects of faster components. Equal traces, networks and seeds give equal results.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folder with the traces of all ranks; or a program in GOAL (the format of LogGOPSim and ATLAHS), or a
    /// time-independent trace of SimGrid
    trace: PathBuf,

    /// Testbeds (`fishplate simulate --testbeds` lists them; a file; NAME:STACK), or emulated rails of these rates in
    /// Mbit/s, with their delay each way
    #[arg(required = true, value_name = "TESTBED|NAME=RATE+RATE...[/DELAY]")]
    networks: Vec<String>,

    /// Stack of all testbeds that are given without one [default: that of the testbed]
    #[arg(long, value_name = "STACK")]
    stack: Option<String>,

    /// Ranks of a node [default: as the trace was recorded]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: Option<u32>,

    /// Speed of processors, as a multiple of the speed of those of the trace
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    compute_scale: f64,

    /// Measure of computation between calls: processor time of the thread, or elapsed time [default: elapsed, where
    /// every rank had a processor of its own]
    #[arg(long, value_name = "KIND", value_parser = ["processor", "elapsed"])]
    computation: Option<String>,

    /// Number of processors that all ranks share, as on emulated hosts of one machine [default: one for each rank]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    processors: Option<u32>,

    /// Floating-point operations per second of a processor, for traces of SimGrid, which count these operations
    #[arg(long, value_name = "SPEED")]
    flops: Option<f64>,

    /// Also predict with twice the bandwidth, half the latency, half the software's time, twice as fast processors
    #[arg(long)]
    sensitivity: bool,

    /// Give a parameter of all testbeds another value: wan.delay_us=1000
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,

    /// Predict all testbeds with each of these values of a parameter (may be repeated: with all combinations)
    #[arg(long, value_name = "PATH=VALUE,VALUE...")]
    sweep: Vec<String>,

    /// Keep each prediction in this folder, and predict only those that are missing there. Processes that `srun` or
    /// `mpiexec` has started share the networks; a call without these shows all
    #[arg(long, value_name = "FOLDER", conflicts_with = "page")]
    results: Option<PathBuf>,

    /// Seed of random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Also write a page with the profile of each network, as `fishplate profile` shows it for a real run
    #[arg(long, value_name = "FILE.html")]
    page: Option<PathBuf>,

    /// JSON instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fishplate profile --trace run1 -- mpiexec -n 4 ./app
  fishplate predict run1 one=1000 two=1000+250 far=1000/10ms
  fishplate predict run1 ib-2x400 eth-100g-wan --sensitivity
  fishplate predict run1 one=1000 two=1000+250 three=1000+250+250 --page networks.html
  fishplate predict run1 eth-100g-wan --sweep wan.delay_us=0,1000,10000";

pub fn run(args: &Args) -> Result<ExitCode> {
    let scale = args.compute_scale;
    ensure!(scale.is_finite() && scale > 0.0, "--compute-scale {scale}: a factor greater than 0");
    let flops = args.flops.filter(|flops| !(flops.is_finite() && *flops > 0.0));
    ensure!(flops.is_none(), "--flops {}: a speed greater than 0, as 1e9", flops.unwrap_or_default());
    let source = Source::open(&args.trace, args.flops)?;
    source.check(args.processors, args.page.is_some())?;
    let per_node = args.ranks_per_node.unwrap_or_else(|| source.ranks_per_node());
    let networks = networks(args, source.ranks(), per_node)?;
    let with_idle = match args.computation.as_deref() {
        Some(kind) => kind == "elapsed",
        None => source.computes_all_the_time(),
    };
    let changes: &[Change] = if args.sensitivity { &Change::ALL } else { &[] };
    let computation = Computation { with_idle, scale: 1.0 / scale, processors: args.processors };
    let question = Question { computation, seed: args.seed, changes, is_detailed: args.page.is_some() };
    let predictions = match &args.results {
        None => evaluate::all(&source, &networks, question)?,
        Some(folder) => match kept(folder, (&source, question), &networks)? {
            Some(predictions) => predictions,
            None => return Ok(ExitCode::SUCCESS),
        },
    };
    let headline = headline(&source, per_node, with_idle);
    if let Some(file) = &args.page {
        let page = page::render(&source.name(), &headline, &source.notes(), &predictions);
        whole_file::write(file, |to| Ok(to.write_all(page.as_bytes())?))?;
        tell!("page: {}", file.display());
    }
    if args.json {
        say!("{}", print::json(&predictions));
        return Ok(ExitCode::SUCCESS);
    }
    say!("{headline}");
    say!("\n{}", print::all(&predictions));
    for note in source.notes() {
        say!("! {note}");
    }
    Ok(ExitCode::SUCCESS)
}

/// The networks of the command line, each with all swept values.
fn networks(args: &Args, ranks: u32, per_node: u32) -> Result<Vec<Network>> {
    let mut networks = Vec::new();
    for swept in combinations(&args.sweep)? {
        let changes = [args.set.clone(), swept.clone()].concat();
        let asked = Asked { ranks, per_node, stack: args.stack.as_deref(), changes: &changes };
        for text in &args.networks {
            let network = asked.network(text)?;
            let name = std::iter::once(network.name.as_str()).chain(swept.iter().map(String::as_str));
            networks.push(Network { name: name.collect::<Vec<_>>().join(" "), ..network });
        }
    }
    Ok(networks)
}

/// Predictions that are kept in `folder`; those that are missing are made. `None` where several processes share the
/// work: this one has then made and reported its share.
fn kept(folder: &Path, asked: (&Source, Question<'_>), networks: &[Network]) -> Result<Option<Vec<Prediction>>> {
    let results = Results::open(folder, asked.0, &asked.1)?;
    let share = Share::of_environment(|name| std::env::var(name).ok());
    let found = results.complete(asked, networks, share)?;
    if share.of > 1 {
        let Share { number, of } = share;
        say!("process {number} of {of}: {} predicted, in {}", text::plural(found as u64, "network"), folder.display());
        return Ok(None);
    }
    results.all(networks).map(Some)
}

/// All combinations of the values that parameters are swept over, each as changes `PATH=VALUE`.
fn combinations(sweeps: &[String]) -> Result<Vec<Vec<String>>> {
    let mut all = vec![Vec::new()];
    for sweep in sweeps {
        let parts = sweep.split_once('=').filter(|(_, values)| values.split(',').all(|value| !value.is_empty()));
        let Some((path, values)) = parts else { bail!("--sweep {sweep}: PATH=VALUE,VALUE...") };
        let with = |before: &Vec<String>, value: &str| [before.as_slice(), &[format!("{path}={value}")]].concat();
        all = all.iter().flat_map(|before| values.split(',').map(move |value| with(before, value))).collect();
    }
    Ok(all)
}

fn headline(source: &Source, per_node: u32, with_idle: bool) -> String {
    format!(
        "{}, {}, {per_node} on a node, {}; computation as {}",
        source.name(),
        text::plural(source.ranks().into(), "rank"),
        text::plural(source.calls(), "call"),
        if with_idle { "elapsed time" } else { "processor time" },
    )
}
