//! A stack as its TOML file describes it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, anyhow, ensure};
use serde::Deserialize;

use super::launcher::Launcher;
use super::wheels;
use crate::descriptions;

/// Rails that a stack uses in its best configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RailUse {
    #[default]
    All,
    /// One: the best is passed to it.
    Best,
}

/// A table of a file of stacks. A field that is not given has a default, or is inherited from another stack.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Takes over everything that is not given here from this stack, except where its programs come from.
    pub like: Option<String>,
    pub title: Option<String>,
    /// Programs from this one of `fishplate setup`.
    pub wheels: Option<String>,
    /// Programs from `bin` in this folder.
    pub path: Option<PathBuf>,
    /// Programs that these environment modules bring.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Compiler, when not `mpicc`.
    pub mpicc: Option<String>,
    /// Launcher program, when not `mpiexec` (or `srun`).
    pub mpiexec: Option<String>,
    /// How the launcher wants its arguments.
    pub launcher: Option<Launcher>,
    /// More arguments of the launcher.
    pub arguments: Option<Vec<String>>,
    /// Its MPI loads Fishplate.
    pub fishplate: Option<bool>,
    /// Rails that are passed to it.
    pub rails: Option<RailUse>,
    /// False: plain programs.
    pub mpi: Option<bool>,
    /// One-sided communication works.
    pub one_sided: Option<bool>,
    /// MPI_THREAD_MULTIPLE works.
    pub threads: Option<bool>,
    /// Environment of its programs.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Environment in addition when a machine runs more ranks than it has cores.
    #[serde(default)]
    pub oversubscribed: BTreeMap<String, String>,
}

/// The stacks in `text`, which came from `file`.
pub fn parse(text: &str, file: &str) -> Result<BTreeMap<String, Description>> {
    let stacks: BTreeMap<String, Description> = descriptions::parse(text, file)?;
    ensure!(!stacks.is_empty(), "{file} describes no stack: a table [NAME] is one");
    for (name, stack) in &stacks {
        stack.check().map_err(|error| anyhow!("{file}, stack {name}: {error}"))?;
    }
    Ok(stacks)
}

impl Description {
    /// Says what contradicts itself.
    pub fn check(&self) -> Result<()> {
        let sources = [self.wheels.is_some(), self.path.is_some(), !self.modules.is_empty()];
        let given = sources.iter().filter(|given| **given).count();
        ensure!(given <= 1, "only one of `wheels`, `path` and `modules` can say where its programs come from");
        Ok(())
    }

    /// Its launcher: what it says, or what comes with its wheels.
    pub fn launcher(&self) -> Option<Launcher> {
        self.launcher.or_else(|| Some(wheels::find(self.wheels.as_deref()?).ok()?.launcher))
    }

    /// This, with what `base` has and it does not give.
    pub fn over(self, base: &Description) -> Description {
        let merged = |base: &BTreeMap<String, String>, own: BTreeMap<String, String>| {
            let mut all = base.clone();
            all.extend(own);
            all
        };
        Description {
            like: None,
            title: self.title,
            wheels: self.wheels,
            path: self.path,
            modules: self.modules,
            mpicc: self.mpicc.or_else(|| base.mpicc.clone()),
            mpiexec: self.mpiexec.or_else(|| base.mpiexec.clone()),
            launcher: self.launcher.or(base.launcher()),
            arguments: self.arguments.or_else(|| base.arguments.clone()),
            fishplate: self.fishplate.or(base.fishplate),
            rails: self.rails.or(base.rails),
            mpi: self.mpi.or(base.mpi),
            one_sided: self.one_sided.or(base.one_sided),
            threads: self.threads.or(base.threads),
            environment: merged(&base.environment, self.environment),
            oversubscribed: merged(&base.oversubscribed, self.oversubscribed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        format!("{:#}", parse(text, "my.toml").unwrap_err())
    }

    #[test]
    fn mistakes_are_reported_with_file_and_line() {
        assert!(error("[a]\n\ntitel = \"x\"\n").starts_with("my.toml, line 3: unknown field `titel`"));
        assert!(error("[a]\nlauncher = \"lamboot\"\n").contains("line 2: unknown variant `lamboot`"));
        assert!(error("[a\n").starts_with("my.toml, line 1: "));
        assert!(error("").contains("my.toml describes no stack"));
        let two = error("[a]\npath = \"/opt\"\nmodules = [\"m\"]\n");
        assert!(two.contains("my.toml, stack a") && two.contains("only one of"), "{two}");
    }

    #[test]
    fn given_values_win_and_the_source_of_programs_is_not_inherited() {
        let text = "[base]\nwheels = \"mpich\"\nrails = \"best\"\nenvironment = { A = \"1\", B = \"1\" }\n\
                    [own]\npath = \"/opt\"\nenvironment = { B = \"2\" }\n";
        let stacks = parse(text, "my.toml").unwrap();
        let own = stacks["own"].clone().over(&stacks["base"]);
        assert_eq!((own.wheels.as_deref(), own.rails), (None, Some(RailUse::Best)));
        assert_eq!(own.launcher, Some(Launcher::Hydra), "known by its wheels only");
        let environment: Vec<_> = own.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(environment, ["A=1", "B=2"]);
    }
}
