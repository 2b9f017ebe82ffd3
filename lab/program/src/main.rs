//! The program `fishplate`.
//!
//! [`commands`] has a file for each subcommand: its options, and the calls. The tasks are in the other folders; in
//! each of them `print` says how results are shown, by means of [`output`].
#![forbid(unsafe_code)]
// Only `output::terminal` prints: it makes names of others printable.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod applications;
mod bench;
mod commands;
mod compare;
mod counters;
mod demo;
mod descriptions;
mod docs;
mod doctor;
mod experiments;
mod lab;
mod mpi;
mod numbers;
mod output;
mod predict;
mod profile;
mod record;
mod report;
mod rpi;
mod setup;
mod simulation;
mod statistics;
mod storage;
mod system;
mod testbed;
mod trace;
mod validate;

use std::process::ExitCode;

use clap::FromArgMatches;

fn main() -> ExitCode {
    let given = commands::Cli::program().get_matches();
    let cli = commands::Cli::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    match commands::run(cli) {
        Ok(code) => code,
        Err(error) => {
            tell!("fishplate: {error:#}");
            ExitCode::FAILURE
        }
    }
}
