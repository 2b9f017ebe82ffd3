//! `fishplate trace`: contents of traces.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use fishplate_trace::read;

use crate::output::terminal;
use crate::trace::{export, show, summary};

/// Shows the calls of ranks in a trace of `fishplate profile --trace`.
#[derive(clap::Args)]
pub struct Args {
    /// The subcommand
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Sums for all ranks: calls, computation, size on disk
    Stat {
        /// Folder with the traces of all ranks
        trace: PathBuf,
    },
    /// All calls: rank, computation before the call in microseconds (processor time, and further elapsed time), and the
    /// call's operation
    Show {
        /// Folder with the traces of all ranks
        trace: PathBuf,

        /// Only this rank
        #[arg(long, value_name = "N")]
        rank: Option<u32>,

        /// Greatest number of calls of each rank
        #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
        calls: usize,
    },
    /// Exports to the format of another simulator: a program in GOAL, of LogGOPSim and ATLAHS (messages and computation,
    /// collective operations expanded); or time-independent traces of SimGrid
    Export {
        /// Folder with the traces of all ranks
        trace: PathBuf,

        /// The format
        #[arg(long, value_name = "FORMAT", default_value = "goal", value_parser = ["goal", "ti"])]
        format: String,

        /// The output file; with `ti` the list of the ranks' files, which are beside it
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

pub fn run(args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Stat { trace } => terminal::print(&summary::render(&read::folder(trace)?, trace)),
        Command::Export { trace, format, output } => match format.as_str() {
            "ti" => export::time_independent(&read::folder(trace)?, output)?,
            _ => export::goal(read::folder(trace)?, output)?,
        },
        Command::Show { trace: folder, rank, calls } => {
            let trace = read::folder(folder)?;
            let ranks = trace.ranks.len();
            ensure!(
                rank.is_none_or(|rank| (rank as usize) < ranks),
                "--rank {}: the trace has ranks 0 to {}",
                rank.unwrap_or(0),
                ranks.saturating_sub(1)
            );
            let mut out = io::BufWriter::new(io::stdout().lock());
            for shown in trace.ranks.iter().filter(|one| rank.is_none_or(|rank| one.header.rank == rank)) {
                for line in show::lines(shown).take(*calls) {
                    // The reader may have closed the pipe.
                    if writeln!(out, "{line}").is_err() {
                        return Ok(ExitCode::SUCCESS);
                    }
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
