//! The applications, from the table that comes with the program.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::mpi::stacks::Abi;
use crate::mpi::stacks::packages::Packages;
use crate::output::nearest::nearest;

const DESCRIPTIONS: &str = include_str!("../../stacks/applications.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Name in commands.
    #[serde(skip)]
    pub name: String,
    pub title: String,
    /// The MPI that it is linked with.
    pub abi: Abi,
    /// Its program: a file of its packages, or a name in PATH.
    pub program: String,
    /// Its packages; absent: it is from the machine.
    pub packages: Option<Packages>,
    /// Debian's package, where it is from the machine.
    #[serde(default)]
    pub debian_package: String,
    /// Folder to run it in.
    pub folder: String,
    pub arguments: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub default_input: String,
    pub inputs: BTreeMap<String, Input>,
    /// The way to get its version.
    pub version: Version,
}

/// The way to get the version of an application.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    pub arguments: Vec<String>,
    /// Start of the output line that has it.
    pub line: String,
}

/// Something to work on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    pub title: String,
    pub atoms: u64,
    /// Default number of time steps.
    pub steps: u64,
    /// More arguments of the application.
    #[serde(default)]
    pub arguments: Vec<String>,
    pub made: Made,
}

/// Sources of inputs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Made {
    /// A script of the application's own benchmarks.
    Script(String),
    /// Molecules of water along each axis.
    Water([u32; 3]),
    /// Chains along x and y, and links of each.
    Polyethylene([u32; 3]),
}

/// All of them, by name.
pub fn all() -> &'static [Application] {
    static ALL: LazyLock<Vec<Application>> = LazyLock::new(|| {
        let described: BTreeMap<String, Application> =
            toml::from_str(DESCRIPTIONS).expect("the embedded descriptions are checked by a test");
        described.into_iter().map(|(name, application)| Application { name, ..application }).collect()
    });
    &ALL
}

/// The application called `name`.
///
/// # Errors
/// With the name that was probably meant, and all that there are.
pub fn find(name: &str) -> Result<&'static Application> {
    let names = || all().iter().map(|application| application.name.as_str());
    all()
        .iter()
        .find(|application| application.name == name)
        .with_context(|| format!("no application \"{name}\"{}", alternatives(name, names())))
}

impl Application {
    /// The input `name`.
    ///
    /// # Errors
    /// With the name that was probably meant, and all that there are.
    pub fn input(&'static self, name: &str) -> Result<(&'static str, &'static Input)> {
        let found = self.inputs.get_key_value(name).map(|(name, input)| (name.as_str(), input));
        let names = self.inputs.keys().map(String::as_str);
        found.with_context(|| format!("{} has no input \"{name}\"{}", self.name, alternatives(name, names)))
    }

    /// The command that installs it.
    pub fn how_to_get(&self) -> String {
        format!("fishplate setup --app {}", self.name)
    }
}

/// The end of a sentence that says that there is no `name`.
fn alternatives<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let all = names.join(", ");
    match nearest(name, names) {
        Some(near) => format!(": did you mean {near}? There are {all}"),
        None => format!("; there are {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::stacks::wheels;

    #[test]
    fn the_embedded_descriptions_are_sound() {
        for application in all() {
            assert!(application.input(&application.default_input).is_ok(), "{}", application.name);
            assert!(wheels::find(application.abi.wheels()).is_ok());
            assert!(application.packages.as_ref().is_none_or(Packages::have_hashes), "{}", application.name);
            assert_eq!(application.packages.is_none(), !application.debian_package.is_empty());
        }
        let names: Vec<&str> = all().iter().map(|application| application.name.as_str()).collect();
        assert_eq!(names, ["gromacs", "lammps"]);
    }

    #[test]
    fn names_with_typing_mistakes_are_distinguished_from_others() {
        let error = find("lamps").unwrap_err().to_string();
        assert_eq!(error, "no application \"lamps\": did you mean lammps? There are gromacs, lammps");
        assert_eq!(find("namd3").unwrap_err().to_string(), "no application \"namd3\"; there are gromacs, lammps");
        let error = find("lammps").unwrap().input("rodo").unwrap_err().to_string();
        assert!(error.starts_with("lammps has no input \"rodo\": did you mean rhodo? There are chain, eam"), "{error}");
    }
}
