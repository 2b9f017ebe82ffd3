//! MPI libraries.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::packages;
use crate::mpi::stacks::wheels::Wheels;
use crate::mpi::stacks::wheels_variables;
use crate::say;
use crate::system::programs;

/// Installs `wheels` unless they are complete, or in any case with `force`.
///
/// # Errors
/// Describes the missing prerequisite.
pub fn install(wheels: &'static Wheels, python: &str, force: bool) -> Result<()> {
    if wheels.is_ready()? && !force {
        say!("{}: already there ({})", wheels.name, wheels.packages.requirements.join(", "));
        return Ok(());
    }
    let folder = wheels.folder()?;
    let try_out = || try_out(wheels, &folder).context("the installed MPI does not run");
    let version = packages::install(&wheels.packages, [&wheels.name, &wheels.title], python, &try_out)?;
    say!("{}: ready ({version})", wheels.name);
    Ok(())
}

/// Starts one rank and returns what it says about its MPI library.
fn try_out(wheels: &'static Wheels, folder: &Path) -> Result<String> {
    let mut command = Command::new(folder.join("bin/mpiexec"));
    command.args(["-n", "1"]).arg(folder.join("bin/python"));
    command.args(["-c", "from mpi4py import MPI; print(MPI.Get_library_version().split(chr(10))[0].strip())"]);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // One rank needs no network.
    command.envs(wheels_variables(wheels)?).env("I_MPI_FABRICS", "shm");
    let version = programs::run_quietly(&mut command, "")?;
    Ok(version.trim().trim_end_matches('\0').split_whitespace().collect::<Vec<_>>().join(" "))
}
