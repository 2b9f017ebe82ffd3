//! `fishplate simulate`: the transport in virtual time, with faults from a seed, watched by oracles.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::say;
use anyhow::{Result, ensure};
use fishplate_sim::throughput;
use fishplate_sim::transport::{self, Mutation, Outcome, Setup};

use super::{simulate_tables, simulate_testbed};

/// Runs the protocol in virtual time while rails fail, and checks that nothing is lost.
///
/// Every seed has its own configuration, load and faults. Oracles check the invariants of the transport; after all
/// faults have healed, every operation has to end.
///
/// With TESTBED and BENCHMARK instead: the benchmark suite on a modelled machine, in virtual time.
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    #[command(flatten)]
    machine: simulate_testbed::Args,

    /// Print the table of histories instead: times of patterns after different earlier traffic, the worst first
    #[arg(long, group = simulate_tables::TABLE)]
    history: bool,

    /// Print the table of many ranks a host instead: goodput while rails change, and what ranks know of rails
    #[arg(long, group = simulate_tables::TABLE)]
    many_ranks: bool,

    /// Print only these cells of one of these tables: pattern=exchange, rails=1000+250,1000+1000 (any rates), sizes=16K:1M;
    /// of --history also delays=0,1000 (us one way) and before=nothing,small; of --many-ranks also hosts=2x16,8x64
    /// (hosts and ranks on each) and knows=nothing,told,measured (what ranks know of the rails at first)
    #[arg(long, requires = simulate_tables::TABLE, value_name = "KEY=LIST")]
    only: Vec<String>,

    /// Replay one seed, and print all events; with TESTBED, --history or --many-ranks: seed of random numbers
    #[arg(long, value_name = "N", conflicts_with_all = ["from", "seconds", "throughput"])]
    seed: Option<u64>,

    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: u64,

    /// Duration, in seconds of real time
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    seconds: f64,

    /// Plant a bug, which an oracle has to find
    #[arg(long, value_name = "BUG", value_parser = bug)]
    bug: Option<Mutation>,

    /// Print the table of goodput by delay, rails, loss and policy instead
    #[arg(long)]
    throughput: bool,
}

const NOTES: &str = "\
Exit code: 0 all invariants held; 1 one did not, and the output names the seed.

Examples:
  fishplate simulate
  fishplate simulate --from 1000000 --seconds 3600
  fishplate simulate --seed 17 | less
  fishplate simulate --bug stripe-aside
  fishplate simulate --history --only pattern=exchange --only rails=1000+1000,1000+250
  fishplate simulate --many-ranks --only hosts=2x16 --only pattern=pairs --only rails=1000+250
  fishplate simulate --testbeds
  fishplate simulate wan-2008 bandwidth --sizes 1K:4M --set wan.delay_us=1000";

pub fn run(args: &Args) -> Result<ExitCode> {
    if args.machine.wanted() {
        return simulate_testbed::run(&args.machine, args.seed.unwrap_or(1));
    }
    if args.history {
        let (table, code) = simulate_tables::history(&args.only, args.seed.unwrap_or(1))?;
        return print(&table).map(|_| code);
    }
    if args.many_ranks {
        return print(&simulate_tables::many_ranks(&args.only, args.seed.unwrap_or(1))?);
    }
    ensure!(args.seconds >= 0.0 && args.seconds.is_finite(), "--seconds is a length of time, not {}", args.seconds);
    if args.throughput {
        return print(&throughput::table());
    }
    match args.seed {
        Some(seed) => replay(&setup(seed, args.bug)),
        None => Ok(search(args)),
    }
}

fn setup(seed: u64, bug: Option<Mutation>) -> Setup {
    Setup { mutation: bug, ..transport::draw(seed) }
}

/// One seed, in full.
fn replay(setup: &Setup) -> Result<ExitCode> {
    let outcome = transport::run(setup.clone(), true);
    print(&format!("{setup}{}", outcome.log))?;
    let Outcome { operations, events, trace, .. } = outcome;
    print(&format!("{operations} operations, {events} events, {} s of virtual time\n", outcome.took.as_s()))?;
    print(&format!("trace {trace:016x}\n"))?;
    match outcome.violation {
        None => print("every invariant held\n"),
        Some(violation) => {
            print(&format!("violated: {violation}\n"))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// One seed after the other, until time is up or one fails.
fn search(args: &Args) -> ExitCode {
    let start = Instant::now();
    let limit = Duration::from_secs_f64(args.seconds);
    let (mut operations, mut events, mut virtual_s) = (0, 0, 0.0);
    let mut seed = args.from;
    loop {
        let outcome = transport::run(setup(seed, args.bug), false);
        operations += outcome.operations;
        events += outcome.events;
        virtual_s += outcome.took.as_s();
        if let Some(violation) = outcome.violation {
            say!("seed {seed}: {violation}");
            let bug = args.bug.map(|bug| format!(" --bug {}", bug.name())).unwrap_or_default();
            say!("replay: fishplate simulate --seed {seed}{bug}");
            return ExitCode::FAILURE;
        }
        seed = seed.wrapping_add(1);
        if start.elapsed() >= limit {
            break;
        }
    }
    let took_s = start.elapsed().as_secs_f64();
    let rate = (operations as f64 / took_s) as u64;
    say!("seeds {} to {}: every invariant held", args.from, seed.wrapping_sub(1));
    say!(
        "{operations} operations, {events} events, {virtual_s:.0} s of virtual time in {took_s:.1} s: {rate} operations/s"
    );
    ExitCode::SUCCESS
}

/// To the standard output, which may be closed.
fn print(text: &str) -> Result<ExitCode> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn bug(name: &str) -> Result<Mutation, String> {
    let found = Mutation::ALL.iter().find(|mutation| mutation.name() == name).copied();
    found.ok_or_else(|| {
        let names: Vec<&str> = Mutation::ALL.iter().map(|mutation| mutation.name()).collect();
        format!("no such bug; there are {}", names.join(", "))
    })
}
