//! The benchmark programs and the applications, compiled by each stack's own compiler.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::mpi::stacks::{self, Source, Stack};
use crate::system::output_file;
use crate::system::programs;
use crate::system::umask::NotForOthers;

/// What `make` needs in the folder of sources.
const MAKEFILE: &str = "Makefile";
/// Sources that tell the folder from others.
const LANDMARK: &str = "programs/latency.c";

/// Where `make install` and packages put them, below their prefix.
const INSTALLED: &str = "share/fishplate/bench";

/// The folder of the applications: of their sources beside that of the benchmark programs, and of what is made of them
/// in the folder of those.
pub const APPS: &str = "apps";

/// Sources and where their programs go.
pub struct Programs {
    sources: PathBuf,
    out: PathBuf,
}

impl Programs {
    /// Sources that were `given`, or those this program was built with.
    ///
    /// # Errors
    /// When they are not there.
    pub fn find(given: Option<&Path>) -> Result<Programs> {
        let is_there = |folder: &Path| folder.join(MAKEFILE).is_file() && folder.join(LANDMARK).is_file();
        let out = stacks::cache_folder()?.join("bench");
        if let Some(given) = given {
            ensure!(is_there(given), "{} does not hold the benchmark programs' sources", given.display());
            return Ok(Programs { sources: stacks::absolute(given)?, out });
        }
        let program = env::current_exe().context("cannot find this program's own file")?;
        let here = env::current_dir().context("cannot find the current folder")?;
        let near = program.ancestors().chain([here.as_path()]);
        let mut found = near.flat_map(|folder| [folder.join("bench"), folder.join(INSTALLED)]);
        match found.find(|folder| is_there(folder)) {
            Some(sources) => Ok(Programs { sources, out }),
            None => bail!(
                "the sources of the benchmark programs are neither near {} nor in {}: say where with --sources",
                program.display(),
                here.join("bench").display()
            ),
        }
    }

    /// The folder with the programs of `stack`. Stacks with the same compiler share one.
    pub fn folder(&self, stack: &Stack) -> PathBuf {
        let name = match &stack.source {
            Source::Wheels(wheels) => wheels.requirements[0].replace("==", "-"),
            _ => stack.name.clone(),
        };
        // Each copy of the sources has its own: which one is newer says nothing about which is meant.
        self.out.join(self.sources.to_string_lossy().trim_matches('/').replace('/', "-")).join(name)
    }

    /// Compiles what is not there yet, or is older than its source.
    ///
    /// # Errors
    /// With the compiler's words.
    pub fn compile(&self, stack: &Stack) -> Result<()> {
        let folder = self.folder(stack);
        let _own = NotForOthers::new();
        fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        // Two `make` at once would take each other's half-written files for whole ones.
        let lock = output_file::create(&folder.join("lock"))?;
        lock.lock().context("cannot lock a file")?;
        make(stack, &self.sources, &folder)?;
        let apps = self.sources.with_file_name(APPS);
        // Copies of the benchmark programs alone are as good for all but these.
        if stack.mpi && apps.join(MAKEFILE).is_file() { make(stack, &apps, &folder.join(APPS)) } else { Ok(()) }
    }
}

fn make(stack: &Stack, sources: &Path, out: &Path) -> Result<()> {
    let invocation = stack.compile(sources, out)?;
    let mut command = Command::new(&invocation.line[0]);
    command.args(&invocation.line[1..]);
    invocation.prepare(&mut command);
    programs::run_quietly(command, "").with_context(|| format!("cannot compile the programs for {}", stack.name))?;
    Ok(())
}
