//! `fishplate env`: the environment of `fishplate run` as shell lines.

use std::process::ExitCode;

use anyhow::Result;
use fishplate_rails::settings::VARIABLES;

use crate::mpi::environment::Options;
use crate::system::programs;

/// Prints the environment that `fishplate run` sets, as lines for a shell.
///
/// For batch scripts and launchers that `fishplate run` cannot wrap. The lines work in every POSIX shell.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help())]
pub struct Args {
    #[command(flatten)]
    options: Options,
}

const EXAMPLES: &str = "\
Examples:
  eval \"$(fishplate env)\" && mpiexec -n 4 ./app
  eval \"$(fishplate env --rails ib0,eth0)\" && srun ./app      (in a Slurm script)";

/// The command.
pub fn run(args: Args) -> Result<ExitCode> {
    let environment = args.options.environment()?;
    if let Some(load) = environment.stack.as_ref().and_then(|stack| stack.source.shell_preparation()) {
        println!("{load}");
    }
    for (name, value) in environment.variables {
        println!("export {name}={}", programs::shell_quote_always(&value));
    }
    Ok(ExitCode::SUCCESS)
}

/// The examples and all variables.
fn long_help() -> String {
    let mut text = format!("{EXAMPLES}\n\nAll settings are environment variables; each has a default:\n");
    for variable in VARIABLES {
        text += &format!(
            "\n  {}\n      {}\n      allowed: {}\n      default: {}\n",
            variable.name, variable.meaning, variable.allowed, variable.default
        );
    }
    text
}
