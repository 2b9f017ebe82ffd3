//! `fishplate run`: a command with Fishplate under its MPI, and the traffic of each rail.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use fishplate_guest::output_file;
use tempfile::TempDir;

use crate::counters::stats_file::{self, Summary};
use crate::mpi::environment::Options;
use crate::mpi::unseen::{self, Notes};
use crate::mpi::{command_line, one_host, stacks};
use crate::output::text;
use crate::system::child_process::{self, Signals};
use crate::system::{free_space, private_folder};
use crate::tell;

/// Runs an MPI program over all rails, then shows the traffic of each.
///
/// Sets the environment that makes MPICH, Open MPI and others that use libfabric load Fishplate, checks the settings,
/// runs COMMAND, passes signals and its exit code on, and prints a table of the rails on the error output.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    options: Options,

    /// Command with its arguments
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

/// Files of this run's counters, and of notes that explain missing ones.
struct Counters {
    file: PathBuf,
    /// Length of the file before the run.
    skip: u64,
    /// A folder of this run's own: for notes, and for the file, unless the user names another one.
    folder: TempDir,
}

pub fn run(mut args: Args) -> Result<ExitCode> {
    let counters = Counters::prepare(&mut args.options)?;
    let mut environment = args.options.environment()?;
    let stack = environment.stack.as_ref();
    one_host::leave_to_open_mpi(&args.command, stack, &mut environment.variables);
    if let Err(error) = fishplate_rails::discover::survey(&environment.settings.rails)
        && !error.may_pass()
    {
        // Not fatal: the hosts that run the ranks may have interfaces that this one lacks.
        tell!("fishplate: on this host: {error}");
    }
    let signals = Signals::take()?;
    let variables = environment.variables.clone();
    let mut command = command_line::prepare(environment.stack.as_ref(), &args.command, environment.variables);
    let name = command.get_program().to_owned();
    let mut child = child_process::spawn(&mut command, &name)
        .map_err(|error| command_line::hint(error, &args.command, args.options.mpi.is_some(), "run"))?;
    let ended = signals.wait(&mut child, None)?;
    let summary = stats_file::summarize(&stats_file::read(&counters.file, counters.skip)?);
    if summary.processes > 0 {
        tell!("\n{}", describe(&summary));
        let rails = summary.rails.iter().map(|rail| (rail.name.as_str(), rail.bytes));
        if let Some(traffic) = unseen::traffic_elsewhere(&Notes::read(counters.folder.path()), rails) {
            tell!("fishplate: {traffic}");
        }
    } else if ended.status.success() && stats_file::can_be_read_again(&counters.file) {
        let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        tell!("\n{}", counters.unseen(&words, &variables));
    }
    Ok(ended.exit_code())
}

/// Less free space than a process needs for its counters, in bytes.
const TOO_FULL: u64 = 4096;

/// Advice for causes that are not listed.
const MORE: &str = "`fishplate doctor` tries the MPI of this host.";

impl Counters {
    /// Uses the file that the user named, or makes one.
    fn prepare(options: &mut Options) -> Result<Counters> {
        let folder = private_folder::make("fishplate-run-");
        let folder = folder.context("cannot make a temporary folder")?;
        options.notes = Some(folder.path().into());
        let named = options.stats.clone().or_else(|| std::env::var("FISHPLATE_STATS").ok()).filter(|f| !f.is_empty());
        if let Some(named) = named {
            let file = stacks::absolute(Path::new(&named))?;
            output_file::leads_elsewhere(&file).with_context(|| format!("--stats {named}"))?;
            let skip = fs::metadata(&file).map_or(0, |metadata| metadata.len());
            options.stats = Some(file.to_str().context("the name of the file for counters is not UTF-8")?.to_string());
            return Ok(Counters { file, skip, folder });
        }
        let file = folder.path().join("stats.jsonl");
        options.stats = Some(file.to_str().context("the temporary folder's name is not UTF-8")?.to_string());
        Ok(Counters { file, skip: 0, folder })
    }

    /// Why no process of a command has left counters.
    fn unseen(&self, command: &[String], variables: &[(String, String)]) -> String {
        if let Some(problem) = unwritable(&self.file) {
            return format!("fishplate: no process has left counters: {problem}");
        }
        let causes = unseen::why_unused(command, &Notes::read(self.folder.path()), variables, &self.file);
        format!("fishplate: no process of this program used Fishplate: {}.\n{MORE}", causes.join("; "))
    }
}

/// A message if nothing can be appended to a file.
fn unwritable(file: &Path) -> Option<String> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    if let Ok(free) = free_space::of(folder)
        && free < TOO_FULL
    {
        return Some(format!("the disk of {} has {} left", folder.display(), text::bytes(free)));
    }
    let is_new = !file.exists();
    let error = fs::OpenOptions::new().create(true).append(true).open(file).err();
    if is_new && error.is_none() {
        let _ = fs::remove_file(file);
    }
    error.map(|error| format!("{} cannot be written: {error}", file.display()))
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
    fn counters_without_space_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let [file, below] = [folder.path().join("stats"), folder.path().join("none/stats")];
        assert_eq!(unwritable(Path::new("/proc/self/stats")).unwrap(), "the disk of /proc/self has 0 B left");
        assert!(unwritable(&below).unwrap().starts_with(&format!("{} cannot be written: No such", below.display())));
        assert_eq!((unwritable(&file), file.exists()), (None, false));
    }
}
