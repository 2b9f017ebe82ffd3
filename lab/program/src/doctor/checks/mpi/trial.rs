//! Starts an MPI library in a process of its own, in the environment of `fishplate run`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use fishplate_mpi_trial::Library;
use serde::{Deserialize, Serialize};

use super::Wanted;
use crate::say;
use crate::system::{child_process, private_folder};

/// How long an MPI may take to start and to end. Most take a second.
const PATIENCE: Duration = Duration::from_secs(30);
/// The last lines of what an MPI says when it fails.
const MAX_LINES: usize = 3;
/// Variables that begin so would make the process a rank of the job from within which it is started, or are for others.
const FOREIGN: [&str; 6] = ["PMI_", "PMIX_", "SLURM_", "OMPI_COMM_WORLD_", "MPI_LOCAL", "FISHPLATE_"];

/// Result of the trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It has started and ended.
    Started(Started),
    /// It has not.
    Failed {
        /// Its version text, if it got that far.
        version: String,
        /// Its last lines of output.
        said: String,
    },
    /// This program could not try.
    NotTried(String),
}

/// An MPI that has started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    pub version: String,
    /// Whether it has loaded Fishplate: then there are counters of it.
    pub has_loaded: bool,
    /// The file of its libfabric, if that is apart from it.
    pub libfabric: Option<String>,
    pub libfabric_version: Option<String>,
}

/// A line that the process of the trial prints.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Version(String),
    Started(fishplate_mpi_trial::Started),
}

/// Starts a process that does it, and says what came of it.
pub fn run(wanted: &Wanted) -> Outcome {
    try_run(wanted).unwrap_or_else(|error| Outcome::NotTried(format!("{error:#}")))
}

fn try_run(wanted: &Wanted) -> Result<Outcome> {
    let folder = private_folder::make("fishplate-doctor-");
    let folder = folder.context("cannot make a temporary folder (TMPDIR names another place)")?;
    let counters = folder.path().join("counters");
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut command = Command::new(program);
    command.arg("start-mpi").arg(&wanted.library).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if FOREIGN.iter().any(|begin| name.to_string_lossy().starts_with(begin)) {
            command.env_remove(name);
        }
    }
    command.envs(wanted.variables.iter().map(|(name, value)| (name, value)));
    // Rails are another check's; whatever there is of them, this one is.
    command.env("FISHPLATE_RAILS", "lo").env("FISHPLATE_TIMEOUT", "1").env("FISHPLATE_STATS", &counters);
    let ended = match child_process::output_within(command, PATIENCE) {
        Ok(ended) => ended,
        Err(error) => return Ok(Outcome::Failed { version: String::new(), said: format!("{error:#}") }),
    };
    let has_loaded = fs::metadata(&counters).is_ok_and(|file| file.len() > 0);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    Ok(outcome(&out, &err, has_loaded))
}

/// From the output of the process.
fn outcome(out: &str, err: &str, has_loaded: bool) -> Outcome {
    let mut version = String::new();
    for line in out.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match line {
            Line::Version(text) => version = text,
            Line::Started(fishplate_mpi_trial::Started { libfabric, libfabric_version }) => {
                return Outcome::Started(Started { version, has_loaded, libfabric, libfabric_version });
            }
        }
    }
    let lines: Vec<&str> = err.lines().map(str::trim).filter(|line| line.chars().any(char::is_alphanumeric)).collect();
    // Fishplate's message is the reason; otherwise the MPI's last line is.
    let ours = lines.iter().find_map(|line| line.strip_prefix("fishplate: "));
    let last = lines[lines.len().saturating_sub(MAX_LINES)..].join(" ");
    let said = ours.map_or(last, str::to_string);
    Outcome::Failed { version, said: if said.is_empty() { "it ends without a word".into() } else { said } }
}

/// Main function of the process: `fishplate start-mpi LIBRARY`.
pub fn start(library: &Path) -> Result<()> {
    let print = |line: &Line| -> Result<()> {
        say!("{}", serde_json::to_string(line)?);
        Ok(())
    };
    let library = Library::open(library).map_err(|error| anyhow!("{error}"))?;
    print(&Line::Version(library.version().unwrap_or_default()))?;
    print(&Line::Started(fishplate_mpi_trial::start(&library).map_err(|error| anyhow!("{error}"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_process_are_understood_among_others() {
        let out = "{\"version\":\"MPICH Version: 5\"}\nhello\n{\"started\":{\"libfabric\":\"/l\",\"libfabric_version\":\"2.5\"}}\n";
        let Outcome::Started(started) = outcome(out, "", true) else { panic!() };
        assert_eq!((started.version.as_str(), started.libfabric.as_deref()), ("MPICH Version: 5", Some("/l")));
        assert!(started.has_loaded);
    }

    #[test]
    fn of_the_output_the_reason_is_shown() {
        let said = |err: &str| match outcome("{\"version\":\"x\"}\n", err, false) {
            Outcome::Failed { said, .. } => said,
            other => panic!("{other:?}"),
        };
        assert_eq!(said("Abort(1)\nfishplate: no rails\nMPI_Init(70)...\n"), "no rails");
        assert_eq!(said("a\nb\n-----\nc\nd\n"), "b c d");
        assert_eq!(said(""), "it ends without a word");
    }
}
