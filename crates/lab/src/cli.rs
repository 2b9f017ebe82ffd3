//! What can be typed after `fishplate`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands;

/// All network rails of a machine as one transport for unmodified MPI programs.
#[derive(Parser)]
#[command(name = "fishplate", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// Set by the program when it starts itself again inside its own namespaces: the folder of that testbed.
    #[arg(long, hide = true, value_name = "FOLDER")]
    pub inside: Option<PathBuf>,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    Setup(commands::setup::Args),
    Stacks(commands::stacks::Args),
    Rails(commands::rails::Args),
    Run(commands::run::Args),
    Top(commands::top::Args),
    Env(commands::env::Args),
    Bench(Box<commands::bench::Args>),
    Report(commands::report::Args),
    Reproduce(commands::reproduce::Args),
    Validate(commands::validate::Args),
    Compare(commands::compare::Args),
    Explain(commands::explain::Args),
    Demo(commands::demo::Args),
    Lab(commands::lab::Args),
    Testbed(commands::testbed::Args),
    Simulate(commands::simulate::Args),
    #[command(hide = true)]
    HoldHost(commands::inner::HoldHost),
    #[command(hide = true)]
    EmulateLinks(commands::inner::EmulateLinks),
    #[command(hide = true)]
    LabDaemon(commands::inner::LabDaemon),
    #[command(hide = true)]
    EnterLabHost(commands::inner::EnterHost),
    #[command(hide = true)]
    ReflectDatagrams(commands::inner::ReflectDatagrams),
    #[command(hide = true)]
    MeasureRoundTrips(commands::inner::MeasureRoundTrips),
    #[command(hide = true)]
    EnterHost(commands::inner::EnterHost),
    #[command(hide = true)]
    TieToParent(commands::inner::TieToParent),
    #[command(hide = true)]
    ReceiveStreams(commands::inner::ReceiveStreams),
    #[command(hide = true)]
    SendStreams(commands::inner::SendStreams),
}
