//! The command line: one file a subcommand, with its options and what it calls. Nothing else in the program uses this.
//!
//! [`cli`] lists the subcommands, [`overview`] groups them for `--help`. A command reads its options, has the work done
//! (`bench`, `lab`, `validate`, ...), and prints or writes what that folder's `print` makes of the results.
//! [`internal`] holds the hidden subcommands by which the program starts itself again.

pub mod bench;
mod cli;
pub mod compare;
pub mod completion;
pub mod demo;
pub mod doctor;
#[cfg(test)]
mod documented;
pub mod env;
pub mod experiment;
pub mod explain;
pub mod help;
pub mod internal;
pub mod lab;
pub mod numbers;
pub mod overview;
pub mod predict;
pub mod profile;
pub mod rails;
pub mod report;
pub mod reproduce;
pub mod rpi;
pub mod run;
pub mod setup;
pub mod simulate;
mod simulate_tables;
pub mod simulate_testbed;
pub mod stacks;
mod suite_options;
pub mod testbed;
pub mod top;
pub mod trace;
pub mod validate;

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;

pub use cli::Cli;
use cli::Command;

/// Does what was asked.
pub fn run(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        Command::Setup(args) => setup::run(args),
        Command::Stacks(args) => stacks::run(args),
        Command::Rails(args) => rails::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Run(args) => run::run(args),
        Command::Profile(args) => profile::run(args),
        Command::Trace(args) => trace::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Rpi(args) => rpi::run(*args, cli.inside),
        Command::Top(args) => top::run(args),
        Command::Env(args) => env::run(args),
        Command::Bench(args) => bench::run(*args, cli.inside),
        Command::Report(args) => report::run(args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Validate(args) => validate::run(args, cli.inside),
        Command::Compare(args) => Ok(compare::run(args)),
        Command::Explain(args) => explain::run(args),
        Command::Demo(args) => demo::run(args, cli.inside),
        Command::Lab(args) => lab::run(args, cli.inside),
        Command::Testbed(args) => testbed::run(args, cli.inside),
        Command::Simulate(args) => simulate::run(&args),
        Command::Completion(args) => completion::print(&args, Cli::command()),
        Command::Help(args) => help::run(&args, Cli::program()),
        Command::WriteManual(args) => completion::write_manual(&args, &Cli::command()),
        Command::WriteNumbers(args) => numbers::run(&args),
        Command::Internal(command) => internal::run(command),
    }
}
