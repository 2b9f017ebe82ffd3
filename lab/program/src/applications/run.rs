//! The command with which a stack runs an application.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::description::{Application, Input};
use crate::mpi::stacks::Stack;

/// Limit of the steps.
const MAX_STEPS: u64 = 1_000_000_000;

/// An application with its options.
#[derive(Debug)]
pub struct Choice {
    pub application: &'static Application,
    /// Name of its input.
    pub name: &'static str,
    pub input: &'static Input,
    pub steps: u64,
}

/// A command to be started.
pub struct Started {
    /// Program and arguments.
    pub words: Vec<String>,
    pub variables: Vec<(String, String)>,
    pub folder: PathBuf,
}

impl Application {
    /// Parses its options: `--input NAME`, `--steps N`.
    ///
    /// # Errors
    /// With the wrong option, and the allowed ones.
    pub fn choose(&'static self, options: &[String]) -> Result<Choice> {
        let (mut name, mut steps) = (self.default_input.as_str(), None);
        let mut words = options.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let (option, value) = word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)));
            ensure!(
                ["--input", "--steps"].contains(&option),
                "{} has no option {word}; allowed: --input NAME, --steps N",
                self.name
            );
            let value = value.or_else(|| words.next()).with_context(|| format!("{option} lacks its value"))?;
            match option {
                "--input" => name = value,
                _ => {
                    let number = value.parse().ok().filter(|steps| (1..=MAX_STEPS).contains(steps));
                    steps = Some(number.with_context(|| format!("--steps {value}: 1 to {MAX_STEPS} are allowed"))?);
                }
            }
        }
        let (name, input) = self.input(name)?;
        Ok(Choice { application: self, name, input, steps: steps.unwrap_or(input.steps) })
    }

    /// Why it cannot run with the MPI of `stack`, as far as is known beforehand.
    pub fn misfit(&self, stack: &Stack) -> Option<String> {
        let abi = stack.abi().filter(|abi| *abi != self.abi)?;
        let (name, stack, wheels) = (&self.name, &stack.name, self.abi.wheels());
        Some(format!(
            "{name} is linked with {}, an MPI of {}, and {stack} is of {}: take a stack of {}, such as {wheels}-tcp or \
             fishplate-{wheels}",
            self.abi.library(),
            self.abi.kind(),
            abi.kind(),
            self.abi.kind(),
        ))
    }
}

impl Choice {
    pub fn title(&self) -> String {
        let Input { title, atoms, .. } = self.input;
        format!("{}: {title}, {atoms} atoms, {} steps", self.application.title, self.steps)
    }

    /// How `stack` does it; `scratch` is where files may go that nobody needs.
    ///
    /// # Errors
    /// When the application is not there, or is not for this MPI.
    pub fn started(&self, stack: &Stack, scratch: &Path) -> Result<Started> {
        let application = self.application;
        application.check_ready()?;
        if let Some(reason) = application.misfit(stack) {
            bail!(reason);
        }
        let inputs = application.inputs_folder()?.to_string_lossy().into_owned();
        let filled = |text: &String| {
            let text = text.replace("{inputs}", &inputs).replace("{input}", self.name);
            text.replace("{steps}", &self.steps.to_string()).replace("{scratch}", &scratch.to_string_lossy())
        };
        let arguments = application.arguments.iter().chain(&self.input.arguments).map(filled);
        let program = application.program_file()?.to_string_lossy().into_owned();
        let own = application.environment.iter().map(|(name, value)| (name.clone(), value.clone()));
        Ok(Started {
            words: std::iter::once(program).chain(arguments).collect(),
            variables: stack.library_path(application.abi)?.into_iter().chain(own).collect(),
            folder: application.in_packages(&filled(&application.folder))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use crate::mpi::stacks::Catalog;

    fn chosen(options: &str) -> Result<Choice> {
        let words: Vec<String> = options.split_whitespace().map(String::from).collect();
        find("lammps").unwrap().choose(&words)
    }

    #[test]
    fn options_choose_input_and_steps() {
        let choice = chosen("").unwrap();
        assert_eq!((choice.name, choice.steps), ("lj", 100));
        let choice = chosen("--steps 7 --input=eam").unwrap();
        assert_eq!((choice.name, choice.steps), ("eam", 7));
        assert_eq!(choice.title(), "LAMMPS: metallic solid, embedded atoms, 32000 atoms, 7 steps");
    }

    #[test]
    fn wrong_options_are_reported_with_the_allowed_ones() {
        let error = |options: &str| chosen(options).unwrap_err().to_string();
        assert_eq!(error("--class A"), "lammps has no option --class; allowed: --input NAME, --steps N");
        assert_eq!(error("--steps"), "--steps lacks its value");
        assert_eq!(error("--steps 0"), "--steps 0: 1 to 1000000000 are allowed");
        assert_eq!(error("--steps=many"), "--steps many: 1 to 1000000000 are allowed");
        assert!(error("--input ljj").contains("did you mean lj?"));
    }

    #[test]
    fn stacks_of_another_family_are_refused_with_those_that_fit() {
        let catalog = Catalog::load(&[]).unwrap();
        let misfit = |application: &str, stack: &str| find(application).unwrap().misfit(&catalog.find(stack).unwrap());
        assert_eq!(misfit("lammps", "fishplate-impi"), None);
        assert_eq!(misfit("gromacs", "openmpi-tcp"), None);
        assert_eq!(
            misfit("lammps", "openmpi-tcp").unwrap(),
            "lammps is linked with libmpi.so.12, an MPI of MPICH's kind, and openmpi-tcp is of Open MPI's kind: take a \
             stack of MPICH's kind, such as mpich-tcp or fishplate-mpich"
        );
        assert!(misfit("gromacs", "mpich-ucx").unwrap().contains("libmpi.so.40"));
    }
}
