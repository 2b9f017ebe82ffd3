//! `fishplate compare`: changes between two records that exceed noise.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};

use crate::compare::{self, Verdict, print};
use crate::output::terminal;
use crate::record;
use crate::tell;

/// Exit code when a point is worse, or missing in the later record.
const WORSE: u8 = 1;
/// Exit code when the comparison has no result.
const ERROR: u8 = 2;

/// Lists changes from one record to another that exceed noise.
///
/// The worst comes first. For each stack, link, benchmark and size that both records have: Welch's t test on the
/// logarithms of the values of all rounds, with Benjamini and Hochberg's correction, since many are tested (at most one
/// in twenty of the changes listed is expected to be noise). Changes smaller than the threshold do not count.
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    /// The earlier record
    #[arg(value_name = "BEFORE")]
    before: PathBuf,

    /// The later record
    #[arg(value_name = "AFTER")]
    after: PathBuf,

    /// Least change that counts, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    threshold: f64,

    /// Points that only BEFORE has are listed, but are no failure
    #[arg(long)]
    allow_missing: bool,

    /// Also show unchanged points
    #[arg(long)]
    all: bool,
}

const NOTES: &str = "\
Exit code: 0 no point is worse beyond noise; 1 a point is worse, or missing in AFTER; 2 no point could be tested.

Examples:
  fishplate compare main.jsonl branch.jsonl
  fishplate compare main.jsonl branch.jsonl --threshold 10 --all";

pub fn run(args: Args) -> ExitCode {
    compare(&args).unwrap_or_else(|error| {
        tell!("fishplate: {error:#}");
        ExitCode::from(ERROR)
    })
}

fn compare(args: &Args) -> Result<ExitCode> {
    let (before, after) = (record::read(&args.before)?, record::read(&args.after)?);
    for note in [&before, &after].into_iter().filter_map(|record| record.torn_note()) {
        tell!("fishplate: {note}");
    }
    let threshold = args.threshold / 100.0;
    let comparison = compare::compare(&before, &after, threshold)?;
    terminal::print(&print::render(&comparison, threshold, args.all));
    let is_lost = !comparison.lost.is_empty() && !args.allow_missing;
    if comparison.count(Verdict::Worse) > 0 || is_lost {
        return Ok(ExitCode::from(WORSE));
    }
    if comparison.count(Verdict::Untested) == comparison.compared.len() {
        bail!("nothing could be tested: no point has two rounds in both records");
    }
    Ok(ExitCode::SUCCESS)
}

fn percent(text: &str) -> Result<f64> {
    let value: f64 = text.parse()?;
    ensure!((0.0..=1000.0).contains(&value), "a percentage is 0 to 1000");
    Ok(value)
}
