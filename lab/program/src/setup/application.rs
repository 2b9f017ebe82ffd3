//! Applications: fetched or found, tried, and their inputs made.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::packages;
use super::progress::Progress;
use crate::applications::Application;
use crate::mpi::stacks::packages::Packages;
use crate::mpi::stacks::{Job, Stack, wheels};
use crate::say;
use crate::system::programs;

/// Gets `application` unless it is complete, or in any case with `force`. The MPI of `fishplate setup` that it is linked
/// with must be there.
///
/// # Errors
/// Describes the missing prerequisite.
pub fn install(application: &'static Application, python: &str, force: bool) -> Result<()> {
    let Application { name, title, packages: fetched, .. } = application;
    let complete = fetched.as_ref().map_or(Ok(true), Packages::are_complete)?;
    if let Some(packages) = fetched.as_ref().filter(|_| force || !complete) {
        packages::install(packages, [name, title], python, &|| version(application))?;
    }
    let program = application.program_file()?;
    if application.has_inputs()? && !force {
        say!("{}: already there ({})", application.name, program.display());
        return Ok(());
    }
    let progress = Progress::start(&application.name);
    progress.step("making its inputs");
    let version = version(application)?;
    application.make_inputs(&|words, folder| start(application, words, Some(folder)))?;
    drop(progress);
    say!("{}: ready ({version}; {})", application.name, program.display());
    Ok(())
}

/// Version that it prints.
fn version(application: &'static Application) -> Result<String> {
    let words: Vec<&str> = application.version.arguments.iter().map(String::as_str).collect();
    let said = start(application, &words, None).with_context(|| format!("{} does not run", application.name))?;
    let line = said.lines().map(str::trim).find_map(|line| line.strip_prefix(application.version.line.as_str()));
    let line = line.with_context(|| format!("{} does not print its version", application.name))?;
    Ok(line.trim_matches(|c: char| c == '-' || c.is_whitespace()).to_string())
}

/// Runs one rank of it, and returns its output.
fn start(application: &'static Application, words: &[&str], folder: Option<&Path>) -> Result<String> {
    let stack = Stack::of_wheels(wheels::find(application.abi.wheels())?)?;
    let program = application.executable()?.to_string_lossy().into_owned();
    let job = Job {
        ranks: 1,
        variables: stack.library_path(application.abi)?.into_iter().collect(),
        program: std::iter::once(program).chain(words.iter().map(|word| word.to_string())).collect(),
        folder: folder.map(Path::to_path_buf),
        ..Job::default()
    };
    let invocation = stack.run(&job)?;
    let mut command = Command::new(&invocation.line[0]);
    command.args(&invocation.line[1..]);
    invocation.prepare(&mut command);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    programs::run_quietly(&mut command, "")
}
