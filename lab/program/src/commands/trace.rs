//! `fishplate trace`: what is in traces.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use fishplate_trace::read;

use crate::output::terminal;
use crate::trace::{export, show, summary, time_independent};

/// Shows what ranks did, as `fishplate profile` has recorded it.
///
/// `fishplate profile --trace DIR` records.
#[derive(clap::Args)]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Numbers of all ranks: calls, computation, size on disk
    Stat {
        /// Folder with the traces of all ranks
        trace: PathBuf,
    },
    /// Call by call: rank, computation before the call in microseconds (processor time, and what elapsed beyond), what
    /// the call does
    Show {
        /// Folder with the traces of all ranks
        trace: PathBuf,

        /// Only this rank
        #[arg(long, value_name = "N")]
        rank: Option<u32>,

        /// At most so many calls of each rank
        #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
        calls: usize,
    },
    /// In the format of others: as a program in GOAL, of LogGOPSim and ATLAHS (messages and computation, collective
    /// operations expanded); or as time-independent traces of SimGrid's
    Export {
        /// Folder with the traces of all ranks
        trace: PathBuf,

        /// Which format
        #[arg(long, value_name = "FORMAT", default_value = "goal", value_parser = ["goal", "ti"])]
        format: String,

        /// Where it goes; of time-independent traces the file with the names of those of ranks, beside it
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

/// The command.
pub fn run(args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Stat { trace } => terminal::print(&summary::render(&read::folder(trace)?, trace)),
        Command::Export { trace, format, output } => match format.as_str() {
            "ti" => time_independent::write(&read::folder(trace)?, output)?,
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
                    // Whoever reads may have seen enough.
                    if writeln!(out, "{line}").is_err() {
                        return Ok(ExitCode::SUCCESS);
                    }
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
