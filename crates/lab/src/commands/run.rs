//! `fishplate run`: a command with Fishplate under its MPI, and what each rail carried.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use fishplate_guest::output_file;
use tempfile::TempDir;

use crate::counters::stats_file::{self, Summary};
use crate::mpi::environment::Options;
use crate::mpi::{command_line, one_host, stacks};
use crate::output::text;
use crate::system::child_process::{self, Signals};
use crate::system::{free_space, private_folder};
use crate::tell;

/// Runs an MPI program over all rails, then shows what each rail carried.
///
/// Sets the environment that makes MPICH, Open MPI and others that use libfabric load Fishplate, checks the settings,
/// runs COMMAND, passes signals and its exit code on, and prints a table of the rails on the error output.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    options: Options,

    /// What to run
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  fishplate run -- mpiexec -n 4 ./app
  fishplate run --rails eth0,eth1 --striping weighted:4,1 -- mpiexec -n 4 ./app
  fishplate run --mpi mpich -- mpiexec -n 4 python3 app.py
  fishplate run --stats /shared/job.jsonl -- mpiexec -hosts a,b -n 4 ./app

With ranks on several hosts the table needs a --stats file that all of them can write to.
Other settings are FISHPLATE_* variables: `fishplate env --help` lists them.";

/// Where this run's counters are.
struct Counters {
    file: PathBuf,
    /// Length of the file before the run.
    skip: u64,
    /// Keeps a file of our own making alive.
    _temporary: Option<TempDir>,
}

/// The command.
pub fn run(mut args: Args) -> Result<ExitCode> {
    let counters = Counters::prepare(&mut args.options)?;
    let mut environment = args.options.environment()?;
    let stack = environment.stack.as_ref();
    let stays_with_mpi = one_host::leave_to_open_mpi(&args.command, stack, &mut environment.variables);
    if let Err(error) = fishplate_rails::discover::survey(&environment.settings.rails)
        && !error.may_pass()
    {
        // Not fatal: the hosts that run the ranks may have interfaces that this one lacks.
        tell!("fishplate: on this host: {error}");
    }
    let signals = Signals::take()?;
    let mut command = command_line::prepare(environment.stack.as_ref(), &args.command, environment.variables);
    let name = command.get_program().to_owned();
    let mut child = child_process::spawn(&mut command, &name)
        .map_err(|error| command_line::hint(error, &args.command, args.options.mpi.is_some(), "run"))?;
    let ended = signals.wait(&mut child, None)?;
    let summary = stats_file::summarize(&stats_file::read(&counters.file, counters.skip)?);
    if summary.processes > 0 {
        tell!("\n{}", describe(&summary));
    } else if ended.status.success() {
        let folder = counters.file.parent().unwrap_or(Path::new("/"));
        tell!("\n{}", unseen(folder, if stays_with_mpi { ON_ONE_HOST } else { UNUSED }));
    }
    Ok(ended.exit_code())
}

/// Less free space than a process needs for its counters, in bytes.
const TOO_FULL: u64 = 4096;

/// Why no process has left counters in a folder: it is full, or `otherwise`.
fn unseen(folder: &Path, otherwise: &str) -> String {
    match free_space::of(folder) {
        Ok(free) if free < TOO_FULL => full(folder, free),
        _ => otherwise.into(),
    }
}

fn full(folder: &Path, free: u64) -> String {
    let (folder, free) = (folder.display(), text::bytes(free));
    format!("fishplate: no process has left counters: the disk of {folder} has {free} left")
}

const ON_ONE_HOST: &str = "\
fishplate: no process of this program used Fishplate: all were started on this host, where the MPI's own shared memory
carries messages. OMPI_MCA_pml=cm (Open MPI) or MPIR_CVAR_NOLOCAL=1 (MPICH) in front of the command takes them through
Fishplate.";

const UNUSED: &str = "\
fishplate: no process of this program used Fishplate. Likely causes:
  - all ranks ran on one host, where MPI uses shared memory
    (MPICH: MPIR_CVAR_NOLOCAL=1 sends even that over the rails);
  - ranks ran on other hosts, which cannot write to this host's temporary file: give --stats a shared file;
  - the program is no MPI program, or its MPI does not use libfabric
    (MPICH: `mpichversion` shows the device ch4:ofi; Open MPI: `ompi_info` lists mtl: ofi).
FI_LOG_LEVEL=info in front of the command shows which provider libfabric chose.";

impl Counters {
    /// Uses the file that the user named, or makes one.
    fn prepare(options: &mut Options) -> Result<Counters> {
        let named = options.stats.clone().or_else(|| std::env::var("FISHPLATE_STATS").ok()).filter(|f| !f.is_empty());
        if let Some(named) = named {
            let file = stacks::absolute(Path::new(&named))?;
            output_file::leads_elsewhere(&file).with_context(|| format!("--stats {named}"))?;
            let skip = fs::metadata(&file).map_or(0, |metadata| metadata.len());
            return Ok(Counters { file, skip, _temporary: None });
        }
        let folder = private_folder::make("fishplate-run-");
        let folder = folder.context("cannot make a temporary folder")?;
        let file = folder.path().join("stats.jsonl");
        options.stats = Some(file.to_str().context("the temporary folder's name is not UTF-8")?.to_string());
        Ok(Counters { file, skip: 0, _temporary: Some(folder) })
    }
}

fn describe(summary: &Summary) -> String {
    let mut table =
        text::table(&["rail", "bytes", "messages", "share", "retransmitted", "round trip", "least", "rate"], 1);
    for rail in &summary.rails {
        table.add_row([
            rail.name.clone(),
            text::bytes(rail.bytes),
            text::thousands(rail.messages),
            format!("{:.1} %", rail.share * 100.0),
            text::thousands(rail.retransmitted),
            rail.rtt_us.map_or("-".into(), text::microseconds),
            rail.min_rtt_us.map_or("-".into(), text::microseconds),
            format!("{} MB/s", text::digits(rail.rate / 1e6)),
        ]);
    }
    let (processes, hosts) = (summary.processes, summary.hosts);
    let processes = if processes == 1 { "1 process".into() } else { format!("{processes} processes") };
    format!("{table}\n{processes} on {}", text::plural(hosts as u64, "host"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_found_no_room_are_told_so() {
        let told = full(Path::new("/scratch"), 0);
        assert_eq!(told, "fishplate: no process has left counters: the disk of /scratch has 0 B left");
        assert_eq!(unseen(Path::new("/proc/self"), UNUSED), full(Path::new("/proc/self"), 0), "proc has no room");
        assert_eq!(unseen(Path::new("/nowhere"), UNUSED), UNUSED);
    }
}
