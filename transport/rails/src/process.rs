//! Names of this process: its host, and its rank in the job.

use std::sync::OnceLock;

use fishplate_host::{Host, HostId};
use fishplate_link_core::random;

/// Name of the host in its own namespace, for messages.
pub fn host() -> &'static str {
    &Host::own().name
}

/// Identity of the host: equal for processes that reach each other over loopback.
pub fn host_id() -> HostId {
    static ID: OnceLock<HostId> = OnceLock::new();
    *ID.get_or_init(|| Host::own().id())
}

/// The rank in MPI_COMM_WORLD, from the launcher.
pub fn rank() -> Option<u32> {
    static RANK: OnceLock<Option<u32>> = OnceLock::new();
    *RANK.get_or_init(|| ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"].into_iter().find_map(variable))
}

/// A random number that identifies the process: in containers all may have one process id.
pub fn number() -> u64 {
    static NUMBER: OnceLock<u64> = OnceLock::new();
    *NUMBER.get_or_init(|| random().map_or(u64::from(std::process::id()), u64::from_le_bytes))
}

/// Name of this process in messages: its rank, where the launcher gives it.
pub fn name() -> String {
    match rank() {
        Some(rank) => format!("rank {rank} on {}", host()),
        None => format!("process {} on {}", std::process::id(), host()),
    }
}

/// Number of ranks of the job on this host, from the launcher.
pub fn local_ranks() -> Option<u32> {
    ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"].iter().find_map(|name| variable(name))
}

/// Number of ranks of the job that this one may connect to, from the launcher. Except under Open MPI, ranks of its own host use
/// the MPI's shared memory.
pub fn connected_ranks() -> Option<u32> {
    let others = |all: &str, here: &str| Some(variable(all)?.saturating_sub(variable(here)?));
    let hydra = others("PMI_SIZE", "MPI_LOCALNRANKS");
    hydra.or_else(|| Some(variable("OMPI_COMM_WORLD_SIZE")?.saturating_sub(1)))
}

/// Number of ranks of the job, from the launcher.
pub fn ranks() -> Option<u32> {
    ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE"].iter().find_map(|name| variable(name))
}

/// Whether this is the last rank of the job; also where the launcher gives no ranks.
pub fn is_last() -> bool {
    rank().zip(ranks()).is_none_or(|(rank, all)| rank + 1 >= all)
}

fn variable(name: &str) -> Option<u32> {
    std::env::var(name).ok()?.parse().ok()
}

/// Whether all ranks of the job are on this host; `None`: the launcher does not say.
pub fn is_alone() -> Option<bool> {
    let fits = |all: &str, here: &str| Some(variable(all)? <= variable(here)?);
    let hydra = fits("PMI_SIZE", "MPI_LOCALNRANKS");
    let open_mpi = || fits("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE");
    hydra.or_else(open_mpi).or_else(|| Some(variable("SLURM_STEP_NUM_NODES")? <= 1))
}
