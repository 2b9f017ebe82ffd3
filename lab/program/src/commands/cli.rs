//! The subcommands of `fishplate`.

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};

use super::overview;

/// All network rails of a machine as one transport for unmodified MPI programs.
#[derive(Parser)]
#[command(
    name = "fishplate",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    /// Set by the program when it starts itself again inside its own namespaces: the folder of that testbed.
    #[arg(long, hide = true, value_name = "FOLDER")]
    pub inside: Option<PathBuf>,

    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// The whole command line, whose `--help` shows the commands in groups.
    pub fn program() -> clap::Command {
        let program = Cli::command();
        let help = overview::template(&program);
        program.help_template(help)
    }
}

/// The subcommands: those that [`overview`] groups, those that only `fishplate help` lists, and hidden ones that the
/// program keeps for itself.
#[derive(Subcommand)]
pub enum Command {
    Setup(super::setup::Args),
    Stacks(super::stacks::Args),
    Rails(super::rails::Args),
    Doctor(super::doctor::Args),
    Run(super::run::Args),
    Profile(super::profile::Args),
    Rpi(Box<super::rpi::Args>),
    Trace(super::trace::Args),
    Predict(super::predict::Args),
    Top(super::top::Args),
    Env(super::env::Args),
    Bench(Box<super::bench::Args>),
    Report(super::report::Args),
    Reproduce(super::reproduce::Args),
    Validate(super::validate::Args),
    Compare(super::compare::Args),
    Explain(super::explain::Args),
    Demo(super::demo::Args),
    Lab(super::lab::Args),
    Testbed(super::testbed::Args),
    Simulate(super::simulate::Args),
    Completion(super::completion::Completion),
    Help(super::help::Args),
    #[command(hide = true)]
    WriteManual(super::completion::WriteManual),
    #[command(hide = true)]
    WriteNumbers(super::numbers::Args),
    #[command(flatten)]
    Internal(super::internal::Command),
}
