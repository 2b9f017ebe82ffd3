//! A command of the user's, in the environment that it shall run in.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Error, anyhow};

use super::forwarded_variables;
use super::stacks::Stack;

/// `words` with these variables, of which launchers pass on what other hosts need; with the programs of a stack, if one
/// was asked for. The first of `words` is the program.
pub fn prepare(stack: Option<&Stack>, words: &[OsString], mut variables: Vec<(String, String)>) -> Command {
    let prefix = |variables: &[(String, String)]| stack.map_or(Vec::new(), |stack| stack.source.prefix(variables));
    let options = forwarded_variables::options(&prefix(&variables), words, &mut variables);
    let mut line: Vec<OsString> = prefix(&variables).into_iter().map(OsString::from).collect();
    line.push(words[0].clone());
    line.extend(options);
    line.extend_from_slice(&words[1..]);
    let mut command = Command::new(&line[0]);
    // What the user has in the list is in ours as well, or among the options.
    command.args(&line[1..]).env_remove(forwarded_variables::LIST).envs(variables);
    command
}

/// Adds to the error of a launcher that is not there how to get one, unless a stack was asked for.
pub fn hint(error: Error, words: &[OsString], has_stack: bool, subcommand: &str) -> Error {
    let is_launcher = words[0] == "mpiexec" || words[0] == "mpirun";
    if is_launcher && !has_stack && error.to_string().starts_with("command not found") {
        return anyhow!("{error} (`fishplate setup` installs one, `fishplate {subcommand} --mpi mpich` uses it)");
    }
    error
}
