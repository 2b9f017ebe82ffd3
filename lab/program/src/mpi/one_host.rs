//! Whether a launcher starts all ranks on this host. Then Open MPI's own shared memory carries their messages: it takes half
//! as long for a short one as its way through libfabric does.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use super::forwarded_variables::LAUNCHERS;
use super::provider_library::ONE_SIDED;
use super::stacks::Stack;
use crate::system::programs;

/// A word of the command line with one of these may name other hosts, or a daemon that has some.
const HOST_WORDS: [&str; 4] = ["host", "machine", "rankfile", "dvm"];
/// The short name of the option `--host`.
const HOST: &str = "-H";
/// Variables with the name of a file of hosts, a line each, or of a slot each.
const HOST_FILES: [&str; 7] = [
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
    "PBS_NODEFILE",
    "PE_HOSTFILE",
    "PRTE_MCA_prte_default_hostfile",
    "OMPI_MCA_orte_default_hostfile",
    "LSB_DJOB_HOSTFILE",
];
/// Other variables of batch systems that may have given the job several hosts.
const BATCH_SYSTEMS: [&str; 3] = ["LSB_MCPU_HOSTS", "COBALT_NODEFILE", "FLUX_URI"];
/// The number of hosts that Slurm has given the job.
const SLURM_HOSTS: &str = "SLURM_JOB_NUM_NODES";
/// Files of hosts that Open MPI reads by itself, in `etc` of its installation.
const DEFAULT_HOST_FILES: [&str; 2] = ["openmpi-default-hostfile", "prte-default-hostfile"];
/// `etc` where a distribution packages Open MPI.
const SYSTEM_FOLDER: &str = "/etc/openmpi";
/// Open MPI's choice of a messaging layer.
const LAYER: &str = "OMPI_MCA_pml";
/// The layer that goes through libfabric. Where the user has chosen it, it stays.
const THROUGH_LIBFABRIC: &str = "cm";
/// The layer that has shared memory of its own.
const OWN: &str = "ob1";
/// Open MPI's choice of transports below that layer.
const TRANSPORTS: &str = "OMPI_MCA_btl";
/// All transports but libfabric's, which would be polled each time.
const ALL_BUT_LIBFABRIC: &str = "^ofi";

/// Options with the number of ranks.
const RANKS: [&str; 5] = ["-n", "--n", "-np", "--np", "-c"];
/// Whether Open MPI's ranks that wait let others run. By itself it finds out only where it counts processors as slots.
const YIELDING: &str = "OMPI_MCA_mpi_yield_when_idle";

/// Leaves a command to Open MPI's own shared memory where it starts all its ranks on this host.
pub fn leave_to_open_mpi(words: &[OsString], stack: Option<&Stack>, variables: &mut Vec<(String, String)>) {
    let is_chosen = env::var_os(LAYER).is_some_and(|layer| layer == THROUGH_LIBFABRIC);
    if is_chosen || !keeps_to_this_host(words, &installation(words, stack), |name| env::var_os(name)) {
        return;
    }
    let is_for_libfabric = |name: &str| [LAYER, ONE_SIDED, "OMPI_MCA_mtl"].iter().any(|start| name.starts_with(start));
    variables.retain(|(name, _)| !is_for_libfabric(name));
    variables.push((LAYER.into(), OWN.into()));
    let processors = thread::available_parallelism().map_or(1, |processors| processors.get());
    let yielding = (ranks(words) > processors).then_some((YIELDING, "1"));
    for (name, value) in yielding.into_iter().chain([(TRANSPORTS, ALL_BUT_LIBFABRIC)]) {
        if env::var_os(name).is_none() {
            variables.push((name.into(), value.into()));
        }
    }
}

/// Whether these are variables of a command that was left to Open MPI.
pub fn is_left_to_open_mpi(variables: &[(String, String)]) -> bool {
    variables.iter().any(|(name, value)| (name.as_str(), value.as_str()) == (LAYER, OWN))
}

/// How many ranks the command line asks for, of all programs that colons part. What comes behind is the program's.
fn ranks(words: &[OsString]) -> usize {
    let given = |pair: &&[OsString]| RANKS.iter().any(|option| pair[0] == *option);
    let number = |part: &[OsString]| part.windows(2).find(given)?[1].to_str()?.parse::<usize>().ok();
    words.split(|word| word == ":").filter_map(number).sum()
}

/// Folders with settings of the launcher's installation, if known.
fn installation(words: &[OsString], stack: Option<&Stack>) -> Vec<PathBuf> {
    let name = words[0].to_string_lossy();
    let launcher = match stack {
        Some(stack) => stack.source.program(&name).ok().map(PathBuf::from),
        None if name.contains('/') => Some(PathBuf::from(&*name)),
        None => programs::find(&name),
    };
    let launcher = launcher.and_then(|path| path.canonicalize().ok());
    let beside = launcher.and_then(|path| Some(path.parent()?.parent()?.join("etc")));
    beside.into_iter().chain([PathBuf::from(SYSTEM_FOLDER)]).collect()
}

/// Whether a command is a launcher that has no other hosts: from no option, file or batch system. An unknown word counts as
/// another host.
fn keeps_to_this_host(words: &[OsString], settings: &[PathBuf], variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let defaults = settings.iter().flat_map(|folder| DEFAULT_HOST_FILES.map(|name| folder.join(name)));
    let defaults = defaults.filter(|file| file.exists());
    let given = HOST_FILES.iter().filter_map(|name| variable(name)).map(PathBuf::from);
    let slurm = variable(SLURM_HOSTS);
    is_plain_launcher(&words[0])
        && !words[1..].iter().any(|word| names_hosts(&word.to_string_lossy()))
        && BATCH_SYSTEMS.iter().all(|name| variable(name).is_none())
        && slurm.map_or(variable("SLURM_JOB_ID").is_none(), |hosts| hosts == "1")
        && given.chain(defaults).all(|file| has_one_host(&file))
}

/// Whether a program has the name of a launcher, as Open MPI or Debian gives it: what a site has added to may add hosts.
fn is_plain_launcher(program: &OsStr) -> bool {
    let name = Path::new(program).file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| LAUNCHERS.contains(&name.strip_suffix(".openmpi").unwrap_or(&name)))
}

fn names_hosts(word: &str) -> bool {
    let is_option = word.starts_with('-') || word.contains("hostfile");
    word == HOST || is_option && HOST_WORDS.iter().any(|part| word.contains(part))
}

/// Whether all lines of a file of hosts are about one; a file that cannot be read may name several.
fn has_one_host(file: &Path) -> bool {
    let Ok(text) = fs::read_to_string(file) else { return false };
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or(line));
    let hosts = lines.filter_map(|line| line.split_whitespace().next());
    let mut hosts: Vec<&str> = hosts.filter_map(|host| host.split(':').next()).collect();
    hosts.dedup();
    hosts.len() <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps(line: &str, variables: &[(&str, &str)]) -> bool {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let find = |asked: &str| variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| value.into());
        keeps_to_this_host(&words, &[], find)
    }

    #[test]
    fn a_launcher_that_knows_no_other_host_keeps_to_this_one() {
        assert!(keeps("mpiexec -n 4 ./app --size 3", &[]));
        assert!(keeps("/opt/openmpi/bin/mpirun --oversubscribe -np 2 app", &[]));
        for line in ["-H a,b", "--host a", "-hostfile f", "--machinefile f", "--dvm-uri x", "--mca default_hostfile f"]
        {
            assert!(!keeps(&format!("mpiexec {line} -n 4 app"), &[]), "{line}");
        }
        assert!(keeps("mpirun.openmpi -n 2 app", &[]));
        assert!(!keeps("mpirun-site -n 2 app", &[]), "a site's may add hosts");
        assert!(!keeps("./job.sh -n 4", &[]), "what a script starts is not known");
    }

    #[test]
    fn the_number_of_ranks_is_that_of_the_option() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let of = |line: &str| ranks(&words(line));
        assert_eq!(
            [of("mpiexec -n 4 app"), of("mpirun --np 3 app x"), of("mpirun app"), of("mpirun -n all app")],
            [4, 3, 0, 0]
        );
        assert_eq!([of("mpirun -n 2 app -n 1000"), of("mpirun -n 4 a : -n 3 b -n 9")], [2, 7]);
    }

    #[test]
    fn a_batch_system_may_have_given_more_hosts() {
        let job = "mpiexec -n 4 app";
        assert!(keeps(job, &[("SLURM_JOB_ID", "7"), ("SLURM_JOB_NUM_NODES", "1")]));
        assert!(!keeps(job, &[("SLURM_JOB_ID", "7"), ("SLURM_JOB_NUM_NODES", "2")]));
        assert!(!keeps(job, &[("SLURM_JOB_ID", "7")]) && !keeps(job, &[("FLUX_URI", "x")]));
    }

    #[test]
    fn files_of_hosts_count_by_what_they_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(DEFAULT_HOST_FILES[0]);
        let is_one = |text: &str| {
            fs::write(&file, text).unwrap();
            let keeps_by_variable = keeps("mpirun app", &[("PBS_NODEFILE", file.to_str().unwrap())]);
            let by_default = keeps_to_this_host(&["mpirun".into(), "app".into()], &[folder.path().into()], |_| None);
            assert_eq!(keeps_by_variable, by_default);
            by_default
        };
        assert!(is_one("# none\n") && is_one("node0 slots=4\nnode0 slots=4\n"));
        assert!(!is_one("node0\nnode1\n"));
        assert!(!keeps("mpirun app", &[("PBS_NODEFILE", "/nowhere")]));
    }
}
