//! `fishplate bench`: stacks x links x benchmarks, in turn, into a record.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use crate::bench::execute::Interrupted;
use crate::bench::verdict::{self, Verdict};
use crate::bench::{self, Bench, Selection, Summary};
use crate::record;
use crate::system::child_process::Signals;
use crate::testbed::isolate;
use crate::{say, tell};

/// Exit code when all cells were tried and some failed.
const SOME_FAILED: u8 = 3;
/// Exit code when a claim does not hold.
pub const SOME_MISSED: u8 = 4;

/// Measures MPI stacks side by side, and writes a record.
///
/// `fishplate report` makes a page of records. On each link, in each round, for each benchmark, the stacks take turns.
/// Links are emulated by hosts and rails that exist only for the measurement, as in `fishplate testbed`; with --hosts
/// the benchmarks run on a real network. The record has each value at once; --resume continues an interrupted
/// measurement. Benchmarks with a claim (`holds` in the plan) are judged at the end. Exit codes: 0 success; 3 some cells
/// failed, with reasons in the record; 4 a claim is missed; 1 another error; 128 + N ended by signal N.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,

    /// File of the record
    #[arg(long, value_name = "FILE", default_value = "record.jsonl", conflicts_with = "resume")]
    record: PathBuf,

    /// Continue this record, with the plan that it contains
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,

    /// Print the names of the benchmarks, and end
    #[arg(long)]
    list: bool,

    /// Folder with the sources of the benchmark programs [default: `bench` near this program or in the current folder]
    #[arg(long, value_name = "FOLDER")]
    sources: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  fishplate bench plan.toml --record monday.jsonl
  fishplate bench --resume monday.jsonl
  fishplate bench --stacks mpich-tcp,fishplate-mpich --links lan=1000+250,slow=100 --sizes 8,64K,1M
  fishplate bench --benchmarks latency,bandwidth:--window=16 --rounds 5 --seconds 0.3
  fishplate bench everything
  fishplate bench claims --benchmarks latency --rounds 5
  fishplate bench patterns --links 'two rails by packets'
  fishplate bench --hosts node1,node2 --rails eth0,eth1 --network 'two ports'
  salloc -N 2 fishplate bench plan.toml --hosts slurm

A plan in TOML:
  stacks = [\"mpich-tcp\", \"fishplate-mpich\"]
  rounds = 5
  [[links]]
  name = \"lan\"
  rails = [{ rate_mbit = 1000 }, { rate_mbit = 250 }]
  [[benchmarks]]
  program = \"bandwidth\"
  options = \"--window 16 --sizes 1K:4M --seconds 0.3\"";

pub fn run(args: Args, inside: Option<PathBuf>) -> Result<ExitCode> {
    let list = args.list;
    let bench = args.bench()?;
    if list {
        bench.plan.benchmarks.iter().for_each(|benchmark| say!("{}", benchmark.name));
        return Ok(ExitCode::SUCCESS);
    }
    carry_out(&bench, inside, &|| Ok(()))
}

/// Measures, inside of namespaces where links are emulated; then calls `then`, which evaluates the record.
pub fn carry_out(bench: &Bench, inside: Option<PathBuf>, then: &dyn Fn() -> Result<()>) -> Result<ExitCode> {
    if inside.is_none() {
        bench.check()?;
        if bench.is_emulated() {
            return isolate::run_again_inside();
        }
    }
    let signals = Signals::take()?;
    if bench.is_emulated() {
        isolate::settle()?;
    }
    match bench.run(inside, &signals) {
        Ok(summary) => {
            let code = print_summary(&summary, bench);
            let missed = print_verdicts(bench)?;
            then()?;
            Ok(if code == ExitCode::SUCCESS && missed { ExitCode::from(SOME_MISSED) } else { code })
        }
        Err(error) => {
            let interrupted: Interrupted = error.downcast()?;
            tell!("fishplate: {interrupted}");
            Ok(interrupted.exit_code())
        }
    }
}

impl Args {
    fn bench(self) -> Result<Bench> {
        let resume = self.resume.is_some();
        let (plan, catalog) = match &self.resume {
            Some(file) if self.selection.is_empty() => {
                let plan = bench::plan_of(&record::read(file)?)?;
                let catalog = plan.catalog()?;
                (plan, catalog)
            }
            _ => self.selection.plan()?,
        };
        Ok(Bench { plan, catalog, record: self.resume.unwrap_or(self.record), resume, sources: self.sources })
    }
}

/// Prints the verdicts on the plan's claims. Returns whether one is missed.
fn print_verdicts(bench: &Bench) -> Result<bool> {
    if !bench.plan.benchmarks.iter().any(|benchmark| benchmark.has_claim()) {
        return Ok(false);
    }
    let verdicts = verdict::of(&bench.plan, &record::read(&bench.record)?);
    verdicts.iter().for_each(|verdict| say!("{verdict}"));
    Ok(verdicts.iter().any(Verdict::is_missed))
}

fn print_summary(summary: &Summary, bench: &Bench) -> ExitCode {
    let Summary { measured, failed, skipped } = summary;
    say!(
        "{measured} cells measured, {failed} failed, {skipped} cannot be measured; record: {}",
        bench.record.display()
    );
    if *failed > 0 {
        let file = bench.record.display();
        tell!("fishplate: {failed} cells failed; {file} says why, and --resume {file} tries them again");
        return ExitCode::from(SOME_FAILED);
    }
    ExitCode::SUCCESS
}
