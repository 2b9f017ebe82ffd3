//! One file a subcommand.

pub mod inner;
pub mod testbed;

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::{Cli, Command};

/// Does what was asked.
pub fn run(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        Command::Testbed(args) => testbed::run(args, cli.inside),
        Command::HoldHost(args) => inner::hold(args),
        Command::EnterHost(args) => inner::enter(args),
    }
}
