//! The benchmark programs and the applications, compiled by each stack's own compiler.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{Access, access};

use crate::mpi::stacks::{self, Source, Stack};
use crate::system::umask::NotForOthers;
use crate::system::{output_file, programs};

/// What `make` needs in the folder of sources.
const MAKEFILE: &str = "Makefile";
/// Sources that tell the folder from others.
const LANDMARK: &str = "programs/latency.c";

/// Where `make install` and packages put them, below their prefix.
const INSTALLED: &str = "share/fishplate/bench";

/// The folder of the applications' sources, beside that of the benchmark programs.
const APPS: &str = "apps";

/// Sources and where their programs go.
pub struct Programs {
    sources: PathBuf,
    out: Out,
}

enum Out {
    /// The folder `build` beside the sources, where `make bench` puts the programs too.
    Build(PathBuf),
    /// A folder of these sources in the cache folder.
    Cache(PathBuf),
}

/// Where the programs of a stack are.
#[derive(Clone, Debug, PartialEq)]
pub struct Folders {
    /// Benchmark programs.
    pub bench: PathBuf,
    /// Applications.
    pub apps: PathBuf,
}

impl Programs {
    /// Sources that were `given`, or those this program was built with.
    ///
    /// # Errors
    /// When they are not there.
    pub fn find(given: Option<&Path>) -> Result<Programs> {
        let is_there = |folder: &Path| folder.join(MAKEFILE).is_file() && folder.join(LANDMARK).is_file();
        if let Some(given) = given {
            ensure!(is_there(given), "{} does not hold the benchmark programs' sources", given.display());
            return Programs::in_cache(stacks::absolute(given)?);
        }
        let program = env::current_exe().context("cannot find this program's own file")?;
        let here = env::current_dir().context("cannot find the current folder")?;
        let near = program.ancestors().chain([here.as_path()]);
        let mut found = near.flat_map(|folder| [folder.join("bench"), folder.join(INSTALLED)]);
        match found.find(|folder| is_there(folder)) {
            Some(sources) => match build_folder(&sources, &program) {
                Some(build) => Ok(Programs { sources, out: Out::Build(build) }),
                None => Programs::in_cache(sources),
            },
            None => bail!(
                "the sources of the benchmark programs are neither near {} nor in {}: say where with --sources",
                program.display(),
                here.join("bench").display()
            ),
        }
    }

    fn in_cache(sources: PathBuf) -> Result<Programs> {
        // Each copy of the sources has its own: which one is newer says nothing about which is meant.
        let name = sources.to_string_lossy().trim_matches('/').replace('/', "-");
        let out = stacks::cache_folder()?.join("bench").join(name);
        Ok(Programs { sources, out: Out::Cache(out) })
    }

    /// The folders with the programs of `stack`. Stacks with the same compiler share them.
    pub fn folders(&self, stack: &Stack) -> Folders {
        let wheels = if let Source::Wheels(wheels) = &stack.source { Some(wheels) } else { None };
        // A stack of the user's own may be called as wheels are.
        let own = || format!("own-{}", stack.name);
        match &self.out {
            Out::Build(build) => {
                let name = wheels.map_or_else(own, |wheels| wheels.name.clone());
                Folders { bench: build.join("bench").join(&name), apps: build.join(APPS).join(&name) }
            }
            Out::Cache(out) => {
                let name = wheels.map_or_else(own, |wheels| wheels.packages.folder_name());
                let bench = out.join(name);
                Folders { apps: bench.join(APPS), bench }
            }
        }
    }

    /// Compiles what is not there yet, or is older than its source.
    ///
    /// # Errors
    /// With the compiler's words.
    pub fn compile(&self, stack: &Stack) -> Result<()> {
        let folders = self.folders(stack);
        let _own = NotForOthers::new();
        fs::create_dir_all(&folders.bench)
            .with_context(|| format!("cannot make the folder {}", folders.bench.display()))?;
        // Two `make` at once would take each other's half-written files for whole ones.
        let lock = output_file::create(&folders.bench.join("lock"))?;
        lock.lock().context("cannot lock a file")?;
        make(stack, &self.sources, &folders.bench)?;
        let apps = self.sources.with_file_name(APPS);
        // Copies of the benchmark programs alone are as good for all but these.
        if stack.mpi && apps.join(MAKEFILE).is_file() { make(stack, &apps, &folders.apps) } else { Ok(()) }
    }
}

/// The folder `build` beside the sources, if this program is in it and this user may write there.
fn build_folder(sources: &Path, program: &Path) -> Option<PathBuf> {
    let build = sources.with_file_name("build");
    (program.starts_with(&build) && access(&build, Access::WRITE_OK).is_ok()).then_some(build)
}

fn make(stack: &Stack, sources: &Path, out: &Path) -> Result<()> {
    let invocation = stack.compile(sources, out)?;
    let mut command = Command::new(&invocation.line[0]);
    command.args(&invocation.line[1..]);
    invocation.prepare(&mut command);
    programs::run_quietly(&mut command, "")
        .with_context(|| format!("cannot compile the programs for {}", stack.name))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_beside_the_sources_shares_what_make_bench_builds() {
        let clone = tempfile::tempdir().unwrap();
        let found = |program: &str| build_folder(&clone.path().join("bench"), &clone.path().join(program));
        assert_eq!(found("build/bin/fishplate"), None, "it is not there");
        let build = clone.path().join("build");
        fs::create_dir(&build).unwrap();
        assert_eq!(found("build/bin/fishplate"), Some(build));
        assert_eq!(found("target/debug/fishplate"), None);
    }

    #[test]
    fn stacks_of_one_compiler_share_folders() {
        let catalog = stacks::Catalog::load(&[]).unwrap();
        let folders = |out, stack: &str| {
            let programs = Programs { sources: "/clone/bench".into(), out };
            let folders = programs.folders(&catalog.find(stack).unwrap());
            [folders.bench, folders.apps].map(|folder| folder.to_string_lossy().into_owned())
        };
        for stack in ["mpich-tcp", "fishplate-mpich"] {
            let built = folders(Out::Build("/clone/build".into()), stack);
            assert_eq!(built, ["/clone/build/bench/mpich", "/clone/build/apps/mpich"]);
            let [bench, apps] = folders(Out::Cache("/cache/bench/clone-bench".into()), stack);
            assert!(bench.starts_with("/cache/bench/clone-bench/mpich-"), "{bench}");
            assert_eq!(apps, format!("{bench}/apps"));
        }
    }

    #[test]
    fn a_stack_of_the_users_own_has_folders_of_its_own_whatever_it_is_called() {
        let catalog = stacks::Catalog::load(&[]).unwrap();
        let mut stack = catalog.find("mpich-tcp").unwrap().clone();
        stack.source = Source::Path("/opt/mpi".into());
        for out in [Out::Build("/clone/build".into()), Out::Cache("/cache/bench/clone-bench".into())] {
            let programs = Programs { sources: "/clone/bench".into(), out };
            let bench = programs.folders(&stack).bench;
            assert!(bench.ends_with("own-mpich-tcp"), "{}", bench.display());
        }
    }
}
