//! Where a stack's programs come from.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::template;
use super::wheels::Wheels;
use crate::system::programs;

/// Where a stack's programs come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// `fishplate setup`.
    Wheels(&'static Wheels),
    /// `bin` in a folder.
    Path(PathBuf),
    /// Environment modules.
    Modules(Vec<String>),
    /// PATH.
    Machine,
}

impl Source {
    /// The folder of the installation, where there is one.
    pub fn root(&self) -> Result<Option<PathBuf>> {
        Ok(match self {
            Source::Wheels(wheels) => Some(wheels.folder()?),
            Source::Path(path) => Some(path.clone()),
            Source::Modules(_) | Source::Machine => None,
        })
    }

    /// The folder of its programs, where they are not in PATH.
    pub fn programs(&self) -> Result<Option<PathBuf>> {
        Ok(self.root()?.map(|root| root.join("bin")))
    }

    /// A program of it, as the first word of a command.
    pub fn program(&self, name: &str) -> Result<String> {
        let found = self.programs()?.map(|folder| folder.join(name)).filter(|_| !name.contains('/'));
        Ok(found.map_or(name.to_string(), |path| path.to_string_lossy().into_owned()))
    }

    /// Environment variables for its programs.
    pub fn variables(&self) -> Result<Vec<(String, String)>> {
        match self {
            Source::Wheels(wheels) => template::wheels_variables(wheels),
            _ => Ok(Vec::new()),
        }
    }

    /// Words in front of a command line: what loads modules, then `variables` where no module can change them.
    pub fn prefix(&self, variables: &[(String, String)]) -> Vec<String> {
        let Source::Modules(modules) = self else { return Vec::new() };
        let script = format!("{} && exec env \"$@\"", load(modules));
        // A login shell, since that is where `module` is defined.
        let start = ["bash".into(), "-lc".into(), script, "bash".into()];
        start.into_iter().chain(variables.iter().map(|(name, value)| format!("{name}={value}"))).collect()
    }

    /// Fails, saying what to do, unless the program `name` is there.
    pub fn check(&self, stack: &str, name: &str) -> Result<()> {
        let program = self.program(name)?;
        match self {
            Source::Wheels(wheels) => wheels.programs().map(|_| ()),
            Source::Modules(modules) => {
                let line = format!("{} && command -v {}", load(modules), programs::shell_quote(name));
                let found = programs::run_quietly(Command::new("bash").arg("-lc").arg(line), "").is_ok();
                ensure!(found, "stack {stack}: `module load {}` does not bring {name}", modules.join(" "));
                Ok(())
            }
            Source::Path(_) | Source::Machine if program.contains('/') => {
                ensure!(Path::new(&program).is_file(), "stack {stack}: {program} is missing");
                Ok(())
            }
            Source::Path(_) | Source::Machine => {
                ensure!(programs::find(name).is_some(), "stack {stack}: {program} is not in PATH");
                Ok(())
            }
        }
    }

    /// Shell commands required before their use, besides variables.
    pub fn shell_preparation(&self) -> Option<String> {
        if let Source::Modules(modules) = self { Some(load(modules)) } else { None }
    }

    /// Command that installs them, if one suffices.
    pub fn how_to_get(&self) -> Option<String> {
        if let Source::Wheels(wheels) = self { Some(wheels.how_to_get()) } else { None }
    }

    /// Description in a few words.
    pub fn shown(&self) -> String {
        match self {
            Source::Wheels(wheels) => wheels.title.clone(),
            Source::Path(path) => path.display().to_string(),
            Source::Modules(modules) => format!("modules {}", modules.join(" ")),
            Source::Machine => "in PATH".into(),
        }
    }
}

/// A shell command that loads modules.
fn load(modules: &[String]) -> String {
    let names: Vec<String> = modules.iter().map(|module| programs::shell_quote(module)).collect();
    format!("module load {} >/dev/null", names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_a_folder_are_named_in_full_and_others_as_they_are() {
        let program = |source: &Source, name| source.program(name).unwrap();
        assert_eq!(program(&Source::Path("/opt/mpi".into()), "mpicc"), "/opt/mpi/bin/mpicc");
        assert_eq!(program(&Source::Path("/opt/mpi".into()), "/usr/bin/srun"), "/usr/bin/srun");
        assert_eq!(program(&Source::Machine, "mpicc"), "mpicc");
    }

    #[test]
    fn modules_are_loaded_ahead_of_the_command_and_its_environment() {
        let modules = Source::Modules(vec!["gcc/12".into(), "it's".into()]);
        let prefix = modules.prefix(&[("A".into(), "b c".into())]);
        assert_eq!(prefix[2], r#"module load gcc/12 'it'\''s' >/dev/null && exec env "$@""#);
        assert_eq!(prefix[3..], ["bash", "A=b c"]);
        assert!(Source::Machine.prefix(&[("A".into(), "b".into())]).is_empty());
    }

    #[test]
    fn missing_programs_are_reported() {
        let error = |source: Source| format!("{:#}", source.check("mine", "no-such-mpiexec").unwrap_err());
        assert!(
            error(Source::Path("/opt/none".into())).contains("stack mine: /opt/none/bin/no-such-mpiexec is missing")
        );
        assert!(error(Source::Machine).contains("no-such-mpiexec is not in PATH"));
        assert!(error(Source::Modules(vec!["nothing".into()])).contains("`module load nothing` does not bring"));
    }
}
