//! `fishplate profile`: an MPI program's use of its network.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};

use fishplate_trace::rank_file;

use crate::bench::conditions;
use crate::mpi::provider_library::{provider_folder, utf8};
use crate::mpi::stacks::{self, Catalog, Stack};
use crate::mpi::{command_line, forwarded_variables, interposer};
use crate::profile::{self, Profile, launch, print, record};
use crate::system::child_process::{self, Signals};
use crate::system::{output_file, whole_file};
use crate::tell;

/// File name extensions of the outputs.
const PAGE: &str = "html";
const RECORD: &str = "json";

/// Shows where a program's time goes, and which ranks it waits for.
///
/// Runs COMMAND, over any network that its MPI uses, with a library in front of MPI that counts calls; passes signals
/// and its exit code on. Then prints tables on the error output, and writes a record (profile.json) and a page beside
/// it. Works for unmodified programs of MPICH, its relatives and Open MPI; the recording survives a killed program.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// File of the record, in a folder that all hosts of the program can write to; the page is beside it
    /// [default: profile.json]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Number of calls and places in the tables; they show at most 8 interfaces
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    top: u16,

    /// Use this stack's programs and settings (`fishplate stacks` lists them)
    #[arg(long, value_name = "STACK", conflicts_with = "read")]
    mpi: Option<String>,

    /// File, or folder of files, that describes stacks of your own (may be repeated)
    #[arg(long, value_name = "FILE", requires = "mpi")]
    stacks: Vec<PathBuf>,

    /// Also record every call in this folder, which all hosts of the program can write to, for `fishplate predict`
    #[arg(long, value_name = "DIR", conflicts_with = "read")]
    trace: Option<PathBuf>,

    /// Show a record again; or make one of the folder that a killed `fishplate profile` has left
    #[arg(long, value_name = "RECORD", conflicts_with = "command")]
    read: Option<PathBuf>,

    /// Command with its arguments
    #[arg(
        required_unless_present = "read",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  fishplate profile -- mpiexec -n 8 ./app
  fishplate profile --output /shared/run1.json -- mpiexec -hosts a,b -n 8 ./app
  fishplate profile --mpi openmpi-tcp -- mpiexec -n 4 python3 app.py
  fishplate profile -- fishplate run -- mpiexec -n 8 ./app
  fishplate profile --trace run1 -- mpiexec -n 4 ./app
  fishplate profile --read profile.json --top 30";

pub fn run(args: Args) -> Result<ExitCode> {
    let output = args.output.clone().unwrap_or_else(|| format!("profile.{RECORD}").into());
    let page = output.extension().is_some_and(|ending| ending == PAGE);
    ensure!(!page, "--output {}: this is the record; the page goes beside it, as .{PAGE}", output.display());
    match &args.read {
        Some(read) => again(&args, read),
        None => first(&args, &stacks::absolute(&output)?),
    }
}

/// Runs the command.
fn first(args: &Args, output: &Path) -> Result<ExitCode> {
    let stack = args.mpi.as_ref().map(|name| stack(name, &args.stacks)).transpose()?;
    let trace = args.trace.as_deref().map(trace_folder).transpose()?;
    let mut variables = variables(stack.as_ref())?;
    variables.extend(trace.map(|folder| (fishplate_trace::VARIABLE.into(), folder)));
    let signals = Signals::take()?;
    let words = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let folder = launch::prepare(output, &launch::Launch { command: words, started: conditions::now() })?;
    variables.push((fishplate_profile::VARIABLE.into(), utf8(folder.clone())?));
    variables.push((forwarded_variables::LIST.into(), forwarded_variables::names(&variables)));
    let mut command = command_line::prepare(stack.as_ref(), &args.command, variables);
    let name = command.get_program().to_owned();
    let started = child_process::spawn(&mut command, &name);
    let mut child = started
        .inspect_err(|_| drop(fs::remove_dir_all(&folder)))
        .map_err(|error| command_line::hint(error, &args.command, stack.is_some(), "profile"))?;
    let ended = signals.wait(&mut child, None)?;

    let kept = || {
        let folder = folder.display();
        format!(
            "the recording is kept in {folder}: `fishplate profile --read {folder} --output FILE` makes a record of it"
        )
    };
    // The program has run as it would have; its exit code is what counts.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let end = profile::Ended { code: ended.code(), realtime_ns: now.as_nanos() as u64 };
    match profile::of_folder(&folder, Some(&end)) {
        Err(error) => tell!("fishplate: {error:#}; {}", kept()),
        Ok(profile) => {
            tell!("\n{}", print::table::render(&profile, args.top.into()));
            match write(&profile, output) {
                Ok(()) => drop(fs::remove_dir_all(&folder)),
                Err(error) => tell!("fishplate: {error:#}; {}", kept()),
            }
        }
    }
    Ok(ended.exit_code())
}

/// The folder for traces, which is made where there is none.
fn trace_folder(folder: &Path) -> Result<String> {
    let shown = folder.display();
    output_file::make_folder(folder).with_context(|| format!("--trace {shown}: the folder cannot be made"))?;
    let mut entries = fs::read_dir(folder).with_context(|| format!("--trace {shown}"))?.flatten();
    let has_trace = entries.any(|entry| entry.path().extension().is_some_and(|ending| ending == rank_file::TRACE));
    ensure!(!has_trace, "--trace {shown}: there are traces already: remove them, or choose another folder");
    utf8(stacks::absolute(folder)?)
}

/// The stack of this name, or the one that is `name` with Fishplate.
fn stack(name: &str, described: &[PathBuf]) -> Result<Stack> {
    let catalog = Catalog::load(described)?;
    catalog.find(name).or_else(|error| catalog.find(&format!("fishplate-{name}")).map_err(|_| error))
}

/// Variables that load the library, and put a stack's programs in front.
fn variables(stack: Option<&Stack>) -> Result<Vec<(String, String)>> {
    let folder = provider_folder()?;
    let mut variables = stack.map_or(Ok(Vec::new()), Stack::environment_variables)?;
    if stack.is_some_and(|stack| stack.fishplate) {
        variables.extend(interposer::variables(None, &variables, &folder)?);
        variables.retain(|(name, _)| name != interposer::PRELOAD);
    }
    variables.extend(interposer::profiling(&folder)?);
    Ok(variables)
}

/// Writes the record and the page, and says where. The page can be made again.
fn write(profile: &Profile, output: &Path) -> Result<()> {
    record::write(output, profile)?;
    tell!("\nrecord: {}", output.display());
    if let Err(error) = write_page(profile, output) {
        tell!("fishplate: {error:#}; `fishplate profile --read {}` makes it", output.display());
    }
    Ok(())
}

/// Writes the page beside a record, and says where.
fn write_page(profile: &Profile, output: &Path) -> Result<()> {
    let file = output.with_extension(PAGE);
    whole_file::write(&file, |to| Ok(to.write_all(print::page::render(profile).as_bytes())?))?;
    tell!("page: {}", file.display());
    Ok(())
}

/// Shows what was recorded before.
fn again(args: &Args, read: &Path) -> Result<ExitCode> {
    if !read.is_dir() {
        let profile = record::read(read)?;
        tell!("{}", print::table::render(&profile, args.top.into()));
        match &args.output {
            Some(output) => write(&profile, output)?,
            None => write_page(&profile, read)?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let output = args.output.clone().unwrap_or_else(|| read.with_extension(RECORD));
    let exists = args.output.is_none() && output.exists();
    ensure!(!exists, "{} is there already: choose another name with --output", output.display());
    let profile = profile::of_folder(read, None)?;
    ensure!(
        !profile.worlds.is_empty() || !profile.unreadable.is_empty(),
        "no rank has recorded anything in {}",
        read.display()
    );
    tell!("{}", print::table::render(&profile, args.top.into()));
    write(&profile, &output).context("the folder is not changed")?;
    Ok(ExitCode::SUCCESS)
}
