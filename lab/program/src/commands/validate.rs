//! `fishplate validate`: the simulator against this machine's own emulated links.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

use super::bench::carry_out;
use crate::bench::{Bench, ready_plan};
use crate::output::terminal;
use crate::record;
use crate::say;
use crate::system::output_file;
use crate::validate::{self, Validation};

/// Measures Fishplate on emulated links, simulates the measurements, and shows the errors of the model.
///
/// A few points of the measurement set the costs of the model (calibration), and are not judged; all others are
/// predicted. Exit codes: 0 half of the predicted points have errors below 5 %, and nine of ten below 12 %; 1 they have
/// not, or another error; 3 some cells failed, so that nothing is judged.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Judge this record instead of measuring
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["quick", "record", "resume", "sources"])]
    from: Option<PathBuf>,

    /// Measure one round with little time for each value, as a trial
    #[arg(long)]
    quick: bool,

    /// File of the record
    #[arg(long, value_name = "FILE", default_value = "validate.jsonl")]
    record: PathBuf,

    /// Continue the record
    #[arg(long)]
    resume: bool,

    /// File of the page [default: validate.html; with --from: none]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Folder with the sources of the benchmark programs [default: `bench` near this program or in the current folder]
    #[arg(long, value_name = "FOLDER")]
    sources: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  fishplate validate
  fishplate validate --from validate.jsonl -o validate.html";

pub fn run(args: Args, inside: Option<PathBuf>) -> Result<ExitCode> {
    if let Some(file) = &args.from {
        return Ok(code(conclude(file, args.output.as_deref())?));
    }
    let (plan, catalog) = ready_plan(validate::PLAN, args.quick)?;
    let page = args.output.unwrap_or_else(|| "validate.html".into());
    let bench = Bench { plan, catalog, record: args.record.clone(), resume: args.resume, sources: args.sources };
    let holds = Cell::new(None);
    let measured = carry_out(&bench, inside, &|| {
        holds.set(Some(conclude(&args.record, Some(&page))?));
        Ok(())
    })?;
    // Outside of the namespaces, and after failures, there is nothing to judge.
    Ok(if measured == ExitCode::SUCCESS { holds.get().map_or(measured, code) } else { measured })
}

fn code(holds: bool) -> ExitCode {
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the errors of the model, and makes the page. Returns whether the goal is met.
fn conclude(file: &Path, page: Option<&Path>) -> Result<bool> {
    let record = record::read(file)?;
    let validation = Validation::of(&record)?;
    terminal::print(&validate::text(&validation));
    if let Some(page) = page {
        output_file::put(page, validation.page(&record)?)?;
        say!("page: {}", page.display());
    }
    Ok(validation.verdict.holds())
}
