//! The location of an application, and whether it can be run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::description::{Application, Input};
use crate::mpi::stacks::{self, packages::Packages, packages::STAMP};
use crate::system::programs;

/// The folder of inputs.
const INPUTS: &str = "inputs";
/// Stands for the folder of the packages.
const PACKAGE: &str = "{package}";

impl Application {
    /// The folder that is Fishplate's own: with its packages, and its inputs.
    pub fn root(&'static self) -> Result<PathBuf> {
        match &self.packages {
            Some(packages) => packages.folder(),
            None => Ok(stacks::cache_folder()?.join(&self.name)),
        }
    }

    pub fn inputs_folder(&'static self) -> Result<PathBuf> {
        Ok(self.root()?.join(INPUTS))
    }

    /// Its program, once it is set up.
    ///
    /// # Errors
    /// With what to do where it is not there.
    pub fn program_file(&'static self) -> Result<PathBuf> {
        if !self.packages.as_ref().map_or(Ok(true), Packages::are_complete)? {
            bail!("{} is not set up here: `{}` does that", self.name, self.how_to_get());
        }
        self.executable()
    }

    /// Its program, though it may not have been tried.
    ///
    /// # Errors
    /// With what to do where it is not there.
    pub fn executable(&'static self) -> Result<PathBuf> {
        if self.packages.is_some() {
            return self.in_packages(&self.program);
        }
        programs::find(&self.program).with_context(|| {
            let Application { name, program, debian_package, .. } = self;
            format!(
                "{name}: {program} is not in PATH: Debian's package {debian_package} has it (`apt install \
                 {debian_package}`)"
            )
        })
    }

    /// A path with what it has in braces filled in.
    pub fn in_packages(&'static self, path: &str) -> Result<PathBuf> {
        if !path.contains(PACKAGE) {
            return Ok(path.into());
        }
        let folder = site_packages(&self.root()?)?;
        Ok(path.replace(PACKAGE, &folder.to_string_lossy()).into())
    }

    /// Whether its inputs have been made, as they are described now.
    pub fn has_inputs(&'static self) -> Result<bool> {
        Ok(fs::read_to_string(self.inputs_folder()?.join(STAMP)).unwrap_or_default() == self.inputs_stamp())
    }

    /// Says that its inputs are complete.
    pub fn stamp_inputs(&'static self) -> Result<()> {
        let file = self.inputs_folder()?.join(STAMP);
        fs::write(&file, self.inputs_stamp()).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Says what it lacks.
    ///
    /// # Errors
    /// With what to do.
    pub fn check_ready(&'static self) -> Result<()> {
        self.program_file()?;
        if !self.has_inputs()? {
            bail!("{} is not set up here: `{}` makes its inputs", self.name, self.how_to_get());
        }
        Ok(())
    }

    fn inputs_stamp(&self) -> String {
        let made = |(name, input): (&String, &Input)| format!("{name}: {:?}\n", input.made);
        self.inputs.iter().map(made).collect()
    }
}

/// The folder of packages in a Python environment.
fn site_packages(root: &Path) -> Result<PathBuf> {
    let lib = root.join("lib");
    let entries = fs::read_dir(&lib).with_context(|| format!("cannot read the folder {}", lib.display()))?;
    let folders = entries.map_while(Result::ok).map(|entry| entry.path().join("site-packages"));
    let missing = || format!("{} has no packages of Python", root.display());
    folders.into_iter().find(|folder| folder.is_dir()).with_context(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_whatever_python_made_the_environment() {
        let root = tempfile::tempdir().unwrap();
        assert!(site_packages(root.path()).unwrap_err().to_string().contains("cannot read the folder"));
        fs::create_dir_all(root.path().join("lib/pkgconfig")).unwrap();
        assert!(site_packages(root.path()).unwrap_err().to_string().contains("no packages of Python"));
        let folder = root.path().join("lib/python3.14/site-packages");
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(site_packages(root.path()).unwrap(), folder);
    }
}
