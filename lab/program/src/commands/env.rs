//! `fishplate env`: the environment of `fishplate run`, for shells and other programs.

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use fishplate_rails::settings::VARIABLES;

use crate::mpi::environment::{Environment, Options};
use crate::mpi::environment_format::Format;
use crate::mpi::module_file;
use crate::mpi::provider_library::{provider_folder, utf8};
use crate::say;

/// Prints the environment of `fishplate run`, for batch scripts.
///
/// For shells, module files, other programs, and launchers that `fishplate run` cannot wrap.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help())]
pub struct Args {
    #[command(flatten)]
    options: Options,

    /// Format of the output
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "sh")]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  eval \"$(fishplate env)\" && mpiexec -n 4 ./app
  eval \"$(fishplate env --rails ib0,eth0)\" && srun ./app      (in a Slurm script)
  fishplate env --format modulefile > ~/modulefiles/fishplate";

pub fn run(args: Args) -> Result<ExitCode> {
    let environment = args.options.environment()?;
    let load = environment.stack.as_ref().and_then(|stack| stack.source.shell_preparation());
    match (load, &environment.stack) {
        // csh puts lines beside each other.
        (Some(load), _) if args.format == Format::Csh => say!("{load};"),
        (Some(load), _) if args.format.is_shell() => say!("{load}"),
        (Some(load), Some(stack)) => bail!(
            "the stack {} needs `{load}`, which only a shell can do: --format sh, csh or fish, or load it yourself and \
             leave out --mpi",
            stack.name
        ),
        _ => {}
    }
    let text = match args.format {
        Format::Modulefile => as_module(&environment)?,
        format => format.write(&environment.variables)?,
    };
    // Values are as they are: a shell reads this.
    io::stdout().write_all(text.as_bytes()).context("cannot write")?;
    Ok(ExitCode::SUCCESS)
}

/// A module brings the program as well; `man` finds its pages by it.
fn as_module(environment: &Environment) -> Result<String> {
    let program = env::current_exe().context("cannot find this program's own file")?;
    let folder = program.parent().context("this program's own file has no folder")?.to_path_buf();
    let mut variables = vec![("PATH".to_string(), utf8(folder.clone())?)];
    variables.extend_from_slice(&environment.variables);
    let mut ours = vec![provider_folder()?, folder];
    if let Some(stack) = &environment.stack {
        ours.extend(stack.source.programs()?);
    }
    Ok(module_file::write(&variables, |name| env::var(name).ok(), &ours))
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
