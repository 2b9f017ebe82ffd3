//! One file a subcommand.

pub mod bench;
pub mod compare;
pub mod demo;
pub mod env;
pub mod inner;
pub mod rails;
pub mod report;
pub mod run;
pub mod setup;
pub mod stacks;
pub mod testbed;

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::{Cli, Command};

/// Does what was asked.
pub fn run(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        Command::Setup(args) => setup::run(args),
        Command::Stacks(args) => stacks::run(args),
        Command::Rails(args) => rails::run(args),
        Command::Run(args) => run::run(args),
        Command::Env(args) => env::run(args),
        Command::Bench(args) => bench::run(*args, cli.inside),
        Command::Report(args) => report::run(args),
        Command::Compare(args) => Ok(compare::run(args)),
        Command::Demo(args) => demo::run(args, cli.inside),
        Command::Testbed(args) => testbed::run(args, cli.inside),
        Command::HoldHost(args) => inner::hold(args),
        Command::EmulateLinks(args) => inner::emulate(args),
        Command::EnterHost(args) => inner::enter(args),
        Command::TieToParent(args) => inner::tie(args),
        Command::ReceiveStreams(args) => inner::receive(args),
        Command::SendStreams(args) => inner::send(args),
    }
}
