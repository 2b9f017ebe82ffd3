//! `fishplate predict`: how long a recorded program takes on networks that need not exist.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, ensure};
use fishplate_sim::replay::Computation;
use fishplate_trace::{Trace, read};

use crate::output::text;
use crate::predict::evaluate::{self, Change};
use crate::predict::networks::Asked;
use crate::predict::print;
use crate::trace;

/// Predicts how long a recorded MPI program takes on other networks.
///
/// Replays a trace (`fishplate profile --trace DIR`) in simulation: each rank computes for as long as it did, and
/// communicates over modelled hosts, adapters and links with Fishplate's own protocol engine. Prints run time, time in
/// MPI, and with --sensitivity what would help. The same trace, networks and seed give the same answer.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folder with the traces of all ranks
    trace: PathBuf,

    /// Testbeds (`fishplate simulate --testbeds` lists them; a file; NAME:STACK), or emulated rails of these rates in
    /// Mbit/s, with their delay each way
    #[arg(required = true, value_name = "TESTBED|NAME=RATE+RATE...[/DELAY]")]
    networks: Vec<String>,

    /// Stack of all testbeds that none is named for [default: each one's own]
    #[arg(long, value_name = "STACK")]
    stack: Option<String>,

    /// Ranks of a node [default: as the trace was recorded]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: Option<u32>,

    /// Processors so many times as fast as those of the trace
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    compute_scale: f64,

    /// What counts as computation between calls: processor time of the thread, or all time that elapsed [default:
    /// elapsed, where every rank had a processor of its own]
    #[arg(long, value_name = "KIND", value_parser = ["processor", "elapsed"])]
    computation: Option<String>,

    /// Also predict with twice the bandwidth, half the latency, half the software's time, twice as fast processors
    #[arg(long)]
    sensitivity: bool,

    /// Give a parameter of all testbeds another value: wan.delay_us=1000
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,

    /// Seed of what is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// JSON instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fishplate profile --trace run1 -- mpiexec -n 4 ./app
  fishplate predict run1 one=1000 two=1000+250 far=1000/10ms
  fishplate predict run1 ib-2x400 eth-100g-wan --set wan.delay_us=5000 --sensitivity";

/// The command.
pub fn run(args: &Args) -> Result<ExitCode> {
    let scale = args.compute_scale;
    ensure!(scale.is_finite() && scale > 0.0, "--compute-scale {scale}: a factor greater than 0");
    let trace = Arc::new(read::folder(&args.trace)?);
    let ranks = trace.ranks.len() as u32;
    let per_node = args.ranks_per_node.unwrap_or_else(|| trace::ranks_per_host(&trace));
    let asked = Asked { ranks, per_node, stack: args.stack.as_deref(), changes: &args.set };
    let networks = args.networks.iter().map(|text| asked.network(text)).collect::<Result<Vec<_>>>()?;
    let with_idle = match args.computation.as_deref() {
        Some(kind) => kind == "elapsed",
        None => !trace::is_oversubscribed(&trace),
    };
    let changes: &[Change] = if args.sensitivity { &Change::ALL } else { &[] };
    let computation = Computation { with_idle, scale: 1.0 / scale };
    let predictions = evaluate::all(&trace, &networks, (computation, args.seed), changes)?;
    if args.json {
        println!("{}", print::json(&predictions));
        return Ok(ExitCode::SUCCESS);
    }
    println!("{}", headline(&trace, per_node, with_idle));
    println!("\n{}", print::table(&predictions, &predictions[0]));
    for note in trace::notes(&trace) {
        println!("! {note}");
    }
    Ok(ExitCode::SUCCESS)
}

fn headline(trace: &Trace, per_node: u32, with_idle: bool) -> String {
    let calls: u64 = trace.ranks.iter().map(|rank| rank.steps.len() as u64).sum();
    format!(
        "{}, {}, {per_node} on a node, {}; computation as {}",
        trace::program(trace),
        text::plural(trace.ranks.len() as u64, "rank"),
        text::plural(calls, "call"),
        if with_idle { "elapsed time" } else { "processor time" },
    )
}
