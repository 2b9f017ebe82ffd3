//! One file a subcommand.

pub mod bench;
pub mod compare;
pub mod demo;
pub mod env;
pub mod experiment;
pub mod explain;
pub mod inner;
pub mod lab;
pub mod machine;
mod pattern;
pub mod rails;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod setup;
pub mod simulate;
pub mod stacks;
pub mod testbed;
pub mod top;
pub mod validate;

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
        Command::HoldHost(args) => inner::hold(args),
        Command::EmulateLinks(args) => inner::emulate(args),
        Command::LabDaemon(args) => inner::lab_daemon(args),
        Command::EnterLabHost(args) => inner::enter_from_outside(args),
        Command::ReflectDatagrams(args) => inner::reflect(args),
        Command::MeasureRoundTrips(args) => inner::round_trips(args),
        Command::EnterHost(args) => inner::enter(args),
        Command::TieToParent(args) => inner::tie(args),
        Command::ReceiveStreams(args) => inner::receive(args),
        Command::SendStreams(args) => inner::send(args),
    }
}
