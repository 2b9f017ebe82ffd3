//! Finds the MPI ([`find`]), and tests whether it starts and loads Fishplate ([`trial`]).

pub mod find;
pub mod trial;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::doctor::finding::Finding;
use find::Found;
use trial::{Outcome, Started};

const CHECK: &str = "MPI";

/// The trial to be started on all hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// The library: launchers use one path for a program on all hosts.
    pub library: PathBuf,
    /// Environment variables that `fishplate run` would set.
    pub variables: Vec<(String, String)>,
}

/// Result of the trial on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Facts {
    /// No trial was requested.
    NotTried,
    /// The library is not there.
    NoLibrary(PathBuf),
    /// It was started.
    Tried(PathBuf, Outcome),
}

/// Starts it here.
pub fn gather(wanted: Option<&Wanted>) -> Facts {
    match wanted {
        None => Facts::NotTried,
        Some(wanted) if !wanted.library.is_file() => Facts::NoLibrary(wanted.library.clone()),
        Some(wanted) => Facts::Tried(wanted.library.clone(), trial::run(wanted)),
    }
}

/// Findings about the MPI of the host of the command.
pub fn judge_found(host: &str, found: &Result<Found, String>) -> Vec<Finding> {
    let Err(why) = found else { return Vec::new() };
    let to_do = "load your MPI's module, `fishplate setup` installs one, or say which: --mpi mpich".to_string();
    vec![Finding::warning(CHECK, host, why.clone(), to_do)]
}

/// Findings about the trial.
pub fn judge(host: &str, facts: &Facts) -> Vec<Finding> {
    match facts {
        Facts::NotTried => Vec::new(),
        Facts::NoLibrary(library) => {
            let found = format!("{} is not there: programs are started by equal paths on all hosts", library.display());
            let to_do = "install the MPI there too, or on a file system of all hosts".to_string();
            vec![Finding::warning(CHECK, host, found, to_do)]
        }
        Facts::Tried(_, Outcome::NotTried(why)) => {
            let to_do = "check whether a program of one rank starts".to_string();
            vec![Finding::warning(CHECK, host, format!("MPI could not be tried: {why}"), to_do)]
        }
        Facts::Tried(library, Outcome::Failed { version, said }) => {
            let found = format!("{} does not start: {said}", title(version, library));
            let to_do =
                "FI_LOG_LEVEL=info in front of a program shows the reason; FI_PROVIDER=tcp runs it without Fishplate"
                    .into();
            vec![Finding::prevents(CHECK, host, found, to_do)]
        }
        Facts::Tried(library, Outcome::Started(started)) if !started.has_loaded => {
            let found =
                format!("{} starts, but without Fishplate: {}", title(&started.version, library), why_not(started));
            let to_do = "use an MPI with libfabric: `fishplate setup`, then --mpi mpich; or build yours so (MPICH: \
                         --with-device=ch4:ofi; Open MPI: --with-ofi)";
            vec![Finding::prevents(CHECK, host, found, to_do.into())]
        }
        Facts::Tried(library, Outcome::Started(started)) => {
            let loads = format!("{} loads Fishplate{}", title(&started.version, library), by(started));
            vec![Finding::fine(CHECK, host, loads)]
        }
    }
}

/// The first words of what a library says of itself, with its file, whose number is that of its binary interface:
/// `MPICH 5.0.2 (/opt/lib/libmpi.so.12)`.
fn title(version: &str, library: &Path) -> String {
    let line = version.lines().next().unwrap_or_default();
    let words = line.split(',').next().unwrap_or_default().replace("Version:", " ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.is_empty() { library.display().to_string() } else { format!("{words} ({})", library.display()) }
}

fn by(started: &Started) -> String {
    match (&started.libfabric_version, &started.libfabric) {
        (Some(version), Some(file)) => format!(", by libfabric {version} ({file})"),
        (None, Some(file)) => format!(", by {file}"),
        (_, None) => String::new(),
    }
}

fn why_not(started: &Started) -> String {
    let device = started.version.lines().find_map(|line| line.strip_prefix("MPICH Device:")).map(str::trim);
    match device {
        Some(device) if !device.contains("ofi") => format!("it is built for {device}, which has no libfabric"),
        _ if started.libfabric.is_none() => "it has loaded no libfabric".into(),
        _ => format!("its libfabric{} has not taken the provider", by(started).replace(", by libfabric", "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MPICH: &str = "MPICH Version:\t4.0.2\nMPICH Release date:\tx\nMPICH Device:\tch4:ucx\n";

    fn judged(facts: Facts) -> String {
        let findings = judge("a", &facts);
        let text = |f: &Finding| format!("{:?}: {} -> {}", f.severity, f.found, f.to_do.clone().unwrap_or_default());
        findings.iter().map(text).collect()
    }

    fn started(version: &str, has_loaded: bool, libfabric: Option<&str>) -> Facts {
        let library = "/l/libmpi.so.12".into();
        Facts::Tried(
            library,
            Outcome::Started(Started {
                version: version.into(),
                has_loaded,
                libfabric: libfabric.map(str::to_string),
                libfabric_version: libfabric.map(|_| "2.5".into()),
            }),
        )
    }

    #[test]
    fn an_mpi_that_loads_fishplate_is_fine() {
        let text = judged(started("Open MPI v5.0.11, package: x", true, Some("/l/libfabric.so.1")));
        assert_eq!(
            text,
            "Fine: Open MPI v5.0.11 (/l/libmpi.so.12) loads Fishplate, by libfabric 2.5 (/l/libfabric.so.1) -> "
        );
    }

    #[test]
    fn one_that_does_not_prevents_and_says_why() {
        let text = judged(started(MPICH, false, None));
        assert!(
            text.starts_with(
                "Prevents: MPICH 4.0.2 (/l/libmpi.so.12) starts, but without Fishplate: it is built for ch4:ucx"
            ),
            "{text}"
        );
        let text = judged(started("Open MPI v4", false, None));
        assert!(text.contains("it has loaded no libfabric") && text.contains("fishplate setup"), "{text}");
        let text = judged(started("Open MPI v4", false, Some("/l/libfabric.so.1")));
        assert!(text.contains("its libfabric 2.5 (/l/libfabric.so.1) has not taken the provider"), "{text}");
        let text =
            judged(Facts::Tried("/l/x.so".into(), Outcome::Failed { version: MPICH.into(), said: "no file".into() }));
        assert!(text.starts_with("Prevents: MPICH 4.0.2 (/l/x.so) does not start: no file"), "{text}");
    }

    #[test]
    fn none_at_all_is_a_warning() {
        let finding = judge_found("a", &Err("there is no mpiexec in PATH".into())).remove(0);
        assert!(finding.to_do.unwrap().contains("fishplate setup"));
        assert!(judged(Facts::NoLibrary("/opt/libmpi.so.12".into())).starts_with("Warning: /opt/libmpi.so.12 is not"));
        assert_eq!(judged(Facts::NotTried), "");
    }
}
