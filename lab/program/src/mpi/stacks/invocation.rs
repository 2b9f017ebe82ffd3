//! The command line and the environment with which a stack runs or compiles something.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::description::RailUse;
use super::folders::absolute;
use super::launcher::{Job, Launcher};
use super::stack::Stack;
use crate::mpi::{interposer, provider_library};
use crate::system::programs;

/// Variables that would make a stack behave otherwise than described begin so.
const FOREIGN: [&str; 11] =
    ["FI_", "UCX_", "OMPI_", "PMIX_", "PRTE_", "MPIR_", "MPICH_", "HYDRA_", "I_MPI_", "PMI_", "FISHPLATE_"];

/// Variables to which the user's own value is added at the end.
const LISTS: [&str; 2] = ["PATH", "LD_LIBRARY_PATH"];

/// A command line and the environment that matters for it.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// Program and arguments.
    pub line: Vec<String>,
    /// Variables and their values.
    pub variables: Vec<(String, String)>,
}

impl Stack {
    /// Runs `job`.
    pub fn run(&self, job: &Job) -> Result<Invocation> {
        self.check_launcher()?;
        let count = if self.rails == RailUse::Best { job.rails.len().min(1) } else { job.rails.len() };
        let mut variables = self.variables(&job.rails[..count], job.oversubscribed)?;
        if self.fishplate {
            let preloaded = interposer::preloaded(&variables, &provider_library::provider_folder()?)?;
            variables.retain(|(name, _)| preloaded.iter().all(|(own, _)| own != name));
            variables.extend(preloaded);
        }
        variables.retain(|(name, _)| job.variables.iter().all(|(own, _)| own != name));
        variables.extend(job.variables.iter().cloned());
        variables.extend(self.launcher.variables(job, &variables));
        let mut line = self.source.prefix(&variables);
        if self.launcher != Launcher::None {
            line.push(self.launcher_program()?);
            line.extend(self.launcher.arguments(job));
            line.extend(self.arguments.iter().chain(&job.program).cloned());
        } else {
            // Arguments of a stack without a launcher are the program's own.
            line.extend(job.program.iter().chain(&self.arguments).cloned());
        }
        Ok(Invocation { line, variables })
    }

    /// Compiles the benchmark programs in the folder `sources` into `out`.
    pub fn compile(&self, sources: &Path, out: &Path) -> Result<Invocation> {
        self.check_compiler()?;
        let variables = self.source.variables()?;
        let out = absolute(out)?.to_string_lossy().into_owned();
        let mut line = self.source.prefix(&variables);
        line.extend(["make", "--silent", "-C"].map(String::from));
        line.extend([sources.to_string_lossy().into_owned(), format!("OUT={out}")]);
        // Without MPI only `sockets` can be built.
        let what =
            if self.mpi { format!("MPICC={}", self.source.program(&self.mpicc)?) } else { format!("{out}/sockets") };
        line.push(what);
        Ok(Invocation { line, variables })
    }

    /// The environment for command lines of the user's own, in which `mpiexec` is this stack's.
    pub fn environment_variables(&self) -> Result<Vec<(String, String)>> {
        self.check_launcher()?;
        let mut variables = Vec::new();
        if let Some(folder) = self.source.programs()? {
            let folder = folder.into_os_string().into_string().ok().context("a folder's name is not UTF-8")?;
            variables.push(("PATH".to_string(), folder));
        }
        variables.extend(self.variables(&[], false)?);
        Ok(variables.into_iter().map(|(name, value)| listed(name, value)).collect())
    }
}

impl Invocation {
    /// Gives `command` this environment, without the user's variables for other purposes.
    pub fn prepare(&self, command: &mut Command) {
        for (name, _) in env::vars_os() {
            if FOREIGN.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command.envs(self.variables.iter().cloned().map(|(name, value)| listed(name, value)));
    }

    /// The command line, for people.
    pub fn shown(&self) -> String {
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={}", programs::shell_quote(value)));
        variables.chain(self.line.iter().map(|word| programs::shell_quote(word))).collect::<Vec<_>>().join(" ")
    }
}

/// With the user's own value at the end, where it is a list.
fn listed(name: String, value: String) -> (String, String) {
    let own = env::var(&name).ok().filter(|own| LISTS.contains(&name.as_str()) && !own.is_empty());
    let value = match own {
        Some(own) if !own.starts_with(&value) => format!("{value}:{own}"),
        Some(own) => own,
        None => value,
    };
    (name, value)
}
