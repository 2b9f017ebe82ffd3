//! `fishplate doctor`: problems on this host and on the way to others, and their remedies.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow, ensure};
use fishplate_rails::Settings;

use crate::doctor::checks::mpi::find;
use crate::doctor::examination::{Request, examine};
use crate::doctor::finding::Severity;
use crate::doctor::print;
use crate::doctor::remote_shell::RemoteShell;
use crate::mpi::provider_library::{self, provider_file};
use crate::mpi::stacks::{Catalog, Source, Stack};
use crate::say;

/// Finds problems on hosts and between them, and names remedies.
///
/// Examines this host and each HOST. Starts itself on each HOST by ssh (in a testbed by its remote shell). Every host
/// tries to reach every other over each rail, on ports of FISHPLATE_PORTS if it is set. Needs no privileges and changes
/// nothing.
///
/// Exit code: 1 a problem prevents programs from running; 0 otherwise, also with warnings.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Other hosts, as a remote shell takes them
    #[arg(value_name = "HOST")]
    hosts: Vec<String>,

    /// Examine this stack's MPI instead of that in PATH (`fishplate stacks` lists them)
    #[arg(long, value_name = "STACK")]
    mpi: Option<String>,

    /// File, or folder of files, that describes stacks of your own (may be repeated)
    #[arg(long, value_name = "FILE")]
    stacks: Vec<PathBuf>,

    /// Command that starts others on a host; its arguments are the host and a command line [default: ssh]
    #[arg(long, value_name = "COMMAND")]
    remote_shell: Option<String>,

    /// JSON instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fishplate doctor
  fishplate doctor node1 node2
  FISHPLATE_PORTS=50000-50100 fishplate doctor --mpi mpich node1
  fishplate doctor --remote-shell 'ssh -p 2222' --json node1";

pub fn run(args: Args) -> Result<ExitCode> {
    Settings::from_env().map_err(|error| anyhow!("{error}"))?;
    for host in &args.hosts {
        let is_host = !host.is_empty() && !host.starts_with('-') && !host.contains(char::is_whitespace);
        ensure!(is_host, "\"{host}\" is no host; allowed: names and addresses, as ssh takes them");
    }
    let mut hosts: Vec<String> = Vec::new();
    args.hosts.iter().for_each(|host| {
        if !hosts.contains(host) {
            hosts.push(host.clone());
        }
    });
    let find_stack = |name: &String| Catalog::load(&args.stacks)?.find_with_fishplate(name);
    let stack = args.mpi.as_ref().map(find_stack).transpose()?;
    let launcher = stack.as_ref().map(launcher).transpose()?.flatten();
    let provider = provider_file().map_err(|error| format!("{error:#}"));
    let variables = match (&stack, &provider) {
        (_, Err(_)) => Vec::new(),
        (Some(stack), _) => stack.environment_variables()?,
        (None, _) => provider_library::fishplate()?,
    };
    let remote_shell = RemoteShell::new(args.remote_shell.as_deref())?;
    let report = examine(&Request { hosts, remote_shell, mpi: find::find(launcher.as_deref()), variables, provider })?;
    say!("{}", if args.json { print::json(&report)? } else { print::table(&report) });
    let prevents = report.findings.iter().any(|finding| finding.severity == Severity::Prevents);
    Ok(if prevents { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The launcher of a stack, where it is not in PATH.
fn launcher(stack: &Stack) -> Result<Option<PathBuf>> {
    ensure!(
        !matches!(stack.source, Source::Modules(_)),
        "--mpi {}: its programs come from environment modules; load these, and leave --mpi out",
        stack.name
    );
    stack.check_launcher()?;
    let folder = stack.source.programs()?;
    Ok(folder.map(|folder| folder.join(&stack.mpiexec)))
}
