//! `fishplate demo`: MPI stacks over two unequal rails, a table and a page.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::demo::measure::Plan;
use crate::demo::print::{page, table};
use crate::demo::{RAILS_MBIT, Results, measure, picture_files, stacks};
use crate::lab::{Lab, Topology};
use crate::say;
use crate::system::child_process::Signals;
use crate::system::output_file;
use crate::testbed::{Rate, isolate};
use fishplate_guest::output_file::append;

/// Measures MPI stacks over two unequal rails, side by side.
///
/// Prints a table and writes a page. Makes two hosts and two rails of 1000 and 250 Mbit/s out of network namespaces
/// (see `fishplate testbed`), and lets MPICH over libfabric tcp, MPICH over UCX, Open MPI over TCP (also with the rates
/// set by hand), and MPICH over Fishplate take turns on them, each at its best settings: latency, bandwidth, and a
/// whole program (NAS IS). Needs `fishplate setup`, the benchmark programs and the applications: `make demo` does all.
/// Takes about two minutes, changes nothing outside of the namespaces, leaves nothing behind.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// File of the page
    #[arg(long, value_name = "FILE", default_value = "demo.html")]
    output: PathBuf,

    /// One round of few sizes, in about half a minute
    #[arg(long)]
    quick: bool,

    /// Keep all measured values in this file
    #[arg(long, value_name = "FILE")]
    keep_json: Option<PathBuf>,

    /// Also write the chart of bandwidth as SVG: FILE.svg, and FILE-dark.svg for a dark background
    #[arg(long, value_name = "FILE.svg")]
    picture: Option<PathBuf>,

    /// Show the values of a file of --keep-json instead of measuring
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "keep_json"])]
    from: Option<PathBuf>,

    /// Folder of the benchmark programs, one folder a stack in it [default: ../bench beside this program's folder]
    #[arg(long, value_name = "FOLDER")]
    bench: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  make demo
  fishplate demo --quick --output /tmp/demo.html
  fishplate demo --keep-json demo.json && fishplate demo --from demo.json --output again.html";

/// Commands for the user's own program. The second one needs neither Fishplate below the program nor a second rail.
const NEXT: &str = "  fishplate run -- mpiexec -n 2 -hosts a,b ./app    over all rails; shows the traffic of each
  fishplate profile -- mpiexec -n 2 ./app           shows where its time goes, over any network
  fishplate doctor a b                              checks the hosts and the rails between them";

pub fn run(args: Args, inside: Option<PathBuf>) -> Result<ExitCode> {
    if let Some(file) = &args.from {
        return show(&Results::read(file)?, &args);
    }
    let programs = stacks::bench_folder(args.bench.as_deref())?;
    for demo_stack in stacks::all(RAILS_MBIT.len())? {
        demo_stack.invocation(&[])?;
    }
    check_output(&args.output)?;
    for (file, _) in args.picture.iter().flat_map(|file| picture_files(file)) {
        check_output(&file)?;
    }
    let Some(folder) = inside else { return isolate::run_again_inside() };

    let signals = Signals::take()?;
    isolate::settle()?;
    let testbed = Lab::build(&Topology::of_rates(2, &RAILS_MBIT.map(Rate::Mbit)), &folder)?;
    let results = measure::measure(&testbed, &signals, &programs, &Plan::new(args.quick))?;
    if let Some(file) = &args.keep_json {
        let text = serde_json::to_string_pretty(&results)? + "\n";
        output_file::put(file, text)?;
    }
    show(&results, &args)
}

fn show(results: &Results, args: &Args) -> Result<ExitCode> {
    say!("{}", table::render(results));
    let file = &args.output;
    output_file::put(file, page::render(results))?;
    say!("page: {}", file.display());
    for (file, picture) in args.picture.iter().flat_map(|file| results.pictures(file)) {
        output_file::put(&file, picture)?;
        say!("picture: {}", file.display());
    }
    say!("\nWith your own program (fishplate is {}):\n{NEXT}", env::current_exe()?.display());
    match results.fishplate().and_then(|stack| stack.failure.as_ref()) {
        Some(_) => bail!("Fishplate itself failed: see above"),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Reports now that a file cannot be written, instead of after the measurement.
fn check_output(file: &Path) -> Result<()> {
    let existed = file.exists();
    let checked = append(file).and_then(|_| if existed { Ok(()) } else { fs::remove_file(file) });
    checked.with_context(|| format!("cannot write {}", file.display()))
}
