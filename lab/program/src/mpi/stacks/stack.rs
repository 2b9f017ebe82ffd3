//! A stack: programs, how they are started, and with which settings.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::description::{Description, RailUse};
use super::launcher::Launcher;
use super::source::Source;
use super::template::{self, Values};
use super::wheels::{self, Wheels};
use crate::mpi::provider_library;

#[derive(Clone, Debug)]
pub struct Stack {
    /// Name in commands.
    pub name: String,
    pub title: String,
    /// Source of its programs.
    pub source: Source,
    /// How its launcher wants its arguments.
    pub launcher: Launcher,
    /// Its MPI loads Fishplate.
    pub fishplate: bool,
    /// Rails that are passed to it.
    pub rails: RailUse,
    /// False: plain programs.
    pub mpi: bool,
    /// One-sided communication works.
    pub one_sided: bool,
    /// MPI_THREAD_MULTIPLE works.
    pub threads: bool,
    /// Its compiler.
    pub mpicc: String,
    /// Its launcher.
    pub mpiexec: String,
    /// More arguments of its launcher.
    pub arguments: Vec<String>,
    environment: BTreeMap<String, String>,
    oversubscribed: BTreeMap<String, String>,
}

impl Stack {
    /// From a description that stands alone.
    pub fn new(name: &str, description: Description) -> Result<Stack> {
        let about = || format!("stack {name}");
        let launcher = description.launcher();
        let source = match (&description.wheels, description.path, description.modules) {
            (Some(wheels), _, _) => Source::Wheels(wheels::find(wheels).with_context(about)?),
            (None, Some(path), _) => Source::Path(path),
            (None, None, modules) if modules.is_empty() => Source::Machine,
            (None, None, modules) => Source::Modules(modules),
        };
        let missing = "`launcher` is missing: hydra, intel, openmpi, srun or none";
        let launcher = launcher.context(missing).with_context(about)?;
        Ok(Stack {
            name: name.to_string(),
            title: description.title.unwrap_or_else(|| name.to_string()),
            source,
            launcher,
            fishplate: description.fishplate.unwrap_or(false),
            rails: description.rails.unwrap_or_default(),
            mpi: description.mpi.unwrap_or(true),
            one_sided: description.one_sided.unwrap_or(true),
            threads: description.threads.unwrap_or(true),
            mpicc: description.mpicc.unwrap_or_else(|| "mpicc".into()),
            mpiexec: description.mpiexec.unwrap_or_else(|| launcher.program().into()),
            arguments: description.arguments.unwrap_or_default(),
            environment: description.environment,
            oversubscribed: description.oversubscribed,
        })
    }

    /// An MPI of `fishplate setup` as it is.
    pub fn of_wheels(wheels: &'static Wheels) -> Result<Stack> {
        Stack::new(&wheels.name, Description { wheels: Some(wheels.name.clone()), ..Description::default() })
    }

    /// Fails, saying what to do, unless its programs can be started.
    pub fn check_launcher(&self) -> Result<()> {
        match self.launcher {
            Launcher::None => Ok(()),
            Launcher::Srun => {
                self.source.check(&self.name, &self.mpicc)?;
                Source::Machine.check(&self.name, &self.mpiexec)
            }
            _ => self.source.check(&self.name, &self.mpiexec),
        }
    }

    /// Its launcher as the first word of a command. Slurm's comes with the machine, wherever the MPI is from.
    pub fn launcher_program(&self) -> Result<String> {
        if self.launcher == Launcher::Srun { Ok(self.mpiexec.clone()) } else { self.source.program(&self.mpiexec) }
    }

    /// Fails, saying what to do, unless programs can be compiled for it.
    pub fn check_compiler(&self) -> Result<()> {
        if self.mpi { self.source.check(&self.name, &self.mpicc) } else { Ok(()) }
    }

    /// The environment of its programs on these rails.
    pub fn variables(&self, rails: &[String], oversubscribed: bool) -> Result<Vec<(String, String)>> {
        let values = Values { root: self.source.root()?, rails: rails.to_vec() };
        let about = || format!("stack {}", self.name);
        let mut variables = self.source.variables()?;
        if self.fishplate {
            variables.extend(provider_library::fishplate()?);
            if !rails.is_empty() {
                variables.push(("FISHPLATE_RAILS".into(), rails.join(",")));
            }
        }
        variables.extend(template::fill_all(&self.environment, &values).with_context(about)?);
        if oversubscribed {
            variables.extend(template::fill_all(&self.oversubscribed, &values).with_context(about)?);
        }
        Ok(variables)
    }
}
