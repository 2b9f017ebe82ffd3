//! Command lines of launchers: what to start where.

use std::path::PathBuf;

use serde::Deserialize;

use crate::mpi::forwarded_variables::LIST;

/// A kind of launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Launcher {
    /// MPICH's mpiexec.
    Hydra,
    /// Intel MPI's mpiexec: another hydra.
    Intel,
    /// Open MPI's mpiexec.
    OpenMpi,
    /// Slurm's srun.
    Srun,
    /// None: the program is started as it is.
    None,
}

/// A program to start.
#[derive(Clone, Debug, Default)]
pub struct Job {
    pub ranks: usize,
    pub hosts: Hosts,
    /// Which rank goes where.
    pub spread: Spread,
    /// Interfaces of the rails, the best first; empty: the stack chooses by itself.
    pub rails: Vec<String>,
    /// A machine runs more ranks than it has cores.
    pub oversubscribed: bool,
    /// More variables for the program.
    pub variables: Vec<(String, String)>,
    /// Program and arguments.
    pub program: Vec<String>,
    /// Folder to start it in, when not the one that the launcher is started in.
    pub folder: Option<PathBuf>,
}

/// Hosts of ranks.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// Names; empty: the launcher knows (from a batch system, or from the environment of a testbed).
    pub names: Vec<String>,
    /// How many ranks each has; empty: as `spread` says.
    pub ranks: Vec<u32>,
    /// Replacement of ssh if the hosts are namespaces of one machine.
    pub remote_shell: Option<PathBuf>,
    /// Interface for starting processes, where it is not for the launcher to choose.
    pub interface: Option<String>,
}

/// Which rank goes to which host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Spread {
    /// Consecutive ranks on each host
    #[default]
    Blocks,
    /// One rank on each host in turn
    InTurn,
}

impl Job {
    /// Ranks in a row on one host.
    fn in_a_row(&self) -> usize {
        match self.spread {
            Spread::Blocks => self.ranks.div_ceil(self.hosts.names.len().max(1)),
            Spread::InTurn => 1,
        }
    }
}

impl Hosts {
    /// `NAME:RANKS` of each.
    fn counted(&self) -> Vec<String> {
        self.names.iter().zip(&self.ranks).map(|(name, ranks)| format!("{name}:{ranks}")).collect()
    }
}

impl Launcher {
    /// Its program, unless a stack says otherwise.
    pub fn program(self) -> &'static str {
        if self == Launcher::Srun { "srun" } else { "mpiexec" }
    }

    /// Its arguments, ahead of the program that it starts.
    pub fn arguments(self, job: &Job) -> Vec<String> {
        let (mut words, folder) = match self {
            Launcher::Hydra => (hydra(job, "-launcher", "-launcher-exec"), "-wdir"),
            Launcher::Intel => (hydra(job, "-bootstrap", "-bootstrap-exec"), "-wdir"),
            Launcher::OpenMpi => (open_mpi(job), "--wdir"),
            Launcher::Srun => (srun(job), "--chdir"),
            Launcher::None => return Vec::new(),
        };
        if let Some(path) = &job.folder {
            words.extend([folder.to_string(), path.to_string_lossy().into_owned()]);
        }
        words
    }

    /// Environment of the launcher; `variables` are those of the programs that it starts.
    pub fn variables(self, job: &Job, variables: &[(String, String)]) -> Vec<(String, String)> {
        let one_machine = job.hosts.remote_shell.is_some();
        let set =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect::<Vec<_>>();
        match self {
            // Otherwise each host would pin its first rank to the first core.
            Launcher::Intel if one_machine => set(&[("I_MPI_PIN", "0")]),
            Launcher::OpenMpi => {
                let names = handed_on(variables);
                let mut own = if names.is_empty() { Vec::new() } else { set(&[(LIST, &names)]) };
                // In namespaces everyone is root.
                if one_machine {
                    own.extend(set(&[("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]));
                }
                own
            }
            _ => Vec::new(),
        }
    }
}

/// Variables that Open MPI must forward besides its own. Other launchers forward all variables.
fn handed_on(variables: &[(String, String)]) -> String {
    let names = variables.iter().map(|(name, _)| name.as_str());
    names.filter(|name| !name.starts_with("OMPI_") && *name != "PATH").collect::<Vec<_>>().join(";")
}

fn hydra(job: &Job, launcher: &str, launcher_exec: &str) -> Vec<String> {
    let mut words = Words::default();
    if !job.hosts.ranks.is_empty() {
        words.add(&["-hosts", &job.hosts.counted().join(",")]);
    } else if !job.hosts.names.is_empty() {
        words.add(&["-hosts", &job.hosts.names.join(","), "-ppn", &job.in_a_row().to_string()]);
    }
    if let Some(shell) = &job.hosts.remote_shell {
        words.add(&[launcher, "rsh", launcher_exec, &shell.to_string_lossy()]);
    }
    if let Some(interface) = &job.hosts.interface {
        words.add(&["-iface", interface]);
    }
    words.add(&["-n", &job.ranks.to_string()]);
    words.0
}

fn open_mpi(job: &Job) -> Vec<String> {
    let mut words = Words::default();
    if !job.hosts.ranks.is_empty() {
        words.add(&["--host", &job.hosts.counted().join(","), "--map-by", "slot"]);
    } else if !job.hosts.names.is_empty() {
        // Each host has slots for all ranks: --map-by decides their placement.
        let slots = job.hosts.names.iter().map(|name| format!("{name}:{}", job.ranks)).collect::<Vec<_>>();
        let map = match job.spread {
            Spread::Blocks => format!("ppr:{}:node:oversubscribe", job.in_a_row()),
            Spread::InTurn => "node:oversubscribe".to_string(),
        };
        words.add(&["--host", &slots.join(","), "--map-by", &map]);
    }
    if let Some(shell) = &job.hosts.remote_shell {
        // Otherwise each host would bind its first rank to the first core.
        words.add(&["--bind-to", "none", "--prtemca", "plm_ssh_agent", &shell.to_string_lossy()]);
    }
    if let Some(interface) = &job.hosts.interface {
        words.add(&["--prtemca", "prte_if_include", interface]);
    }
    words.add(&["-n", &job.ranks.to_string()]);
    words.0
}

/// On hosts that are there, so each has as many ranks as others.
fn srun(job: &Job) -> Vec<String> {
    let mut words = Words::default();
    words.add(&["-n", &job.ranks.to_string()]);
    if !job.hosts.names.is_empty() {
        words.add(&["-N", &job.hosts.names.len().to_string(), "--nodelist", &job.hosts.names.join(",")]);
    }
    let distribution = if job.spread == Spread::InTurn { "cyclic" } else { "block" };
    words.add(&["--distribution", distribution]);
    words.0
}

#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn add(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|word| word.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(launcher: Launcher, spread: Spread) -> String {
        let names = vec!["a".to_string(), "b".to_string()];
        let remote_shell = Some("/x/rsh".into());
        let hosts = Hosts { names, ranks: Vec::new(), remote_shell, interface: Some("mgmt".into()) };
        launcher.arguments(&Job { ranks: 4, hosts, spread, ..Job::default() }).join(" ")
    }

    #[test]
    fn each_launcher_gets_options_of_its_own() {
        let hydra = arguments(Launcher::Hydra, Spread::Blocks);
        assert_eq!(hydra, "-hosts a,b -ppn 2 -launcher rsh -launcher-exec /x/rsh -iface mgmt -n 4");
        let intel = arguments(Launcher::Intel, Spread::InTurn);
        assert_eq!(intel, "-hosts a,b -ppn 1 -bootstrap rsh -bootstrap-exec /x/rsh -iface mgmt -n 4");
        let open_mpi = arguments(Launcher::OpenMpi, Spread::Blocks);
        assert!(open_mpi.starts_with("--host a:4,b:4 --map-by ppr:2:node:oversubscribe --bind-to none"), "{open_mpi}");
        assert_eq!(arguments(Launcher::Srun, Spread::InTurn), "-n 4 -N 2 --nodelist a,b --distribution cyclic");
        assert_eq!(arguments(Launcher::None, Spread::Blocks), "");
    }

    #[test]
    fn hosts_may_have_different_numbers_of_ranks() {
        let hosts = Hosts { names: vec!["a".into(), "b".into()], ranks: vec![3, 1], ..Hosts::default() };
        let job = Job { ranks: 4, hosts, ..Job::default() };
        assert_eq!(Launcher::Hydra.arguments(&job).join(" "), "-hosts a:3,b:1 -n 4");
        assert_eq!(Launcher::OpenMpi.arguments(&job).join(" "), "--host a:3,b:1 --map-by slot -n 4");
    }

    #[test]
    fn without_hosts_the_launcher_knows() {
        let job = Job { ranks: 3, ..Job::default() };
        assert_eq!(Launcher::Hydra.arguments(&job), ["-n", "3"]);
        assert_eq!(Launcher::OpenMpi.arguments(&job), ["-n", "3"]);
    }

    #[test]
    fn programs_start_in_the_folder_that_was_asked_for() {
        let job = Job { ranks: 2, folder: Some("/x y".into()), ..Job::default() };
        assert_eq!(Launcher::Intel.arguments(&job), ["-n", "2", "-wdir", "/x y"]);
        assert_eq!(Launcher::OpenMpi.arguments(&job), ["-n", "2", "--wdir", "/x y"]);
        assert_eq!(Launcher::Srun.arguments(&job)[4..], ["--chdir", "/x y"]);
    }

    #[test]
    fn open_mpi_forwards_variables_of_others() {
        let pairs =
            ["FI_PROVIDER", "OMPI_MCA_pml", "LD_LIBRARY_PATH", "PATH"].map(|name| (name.to_string(), "x".into()));
        let own = Launcher::OpenMpi.variables(&Job::default(), &pairs);
        assert_eq!(own, [(LIST.to_string(), "FI_PROVIDER;LD_LIBRARY_PATH".to_string())]);
    }
}
