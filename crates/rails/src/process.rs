//! What this process is called: its host, and its rank in the job.

use std::sync::OnceLock;

/// Name of the host, as its own namespace has it.
pub fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_string())
}

/// The rank in MPI_COMM_WORLD, as launchers tell it.
pub fn rank() -> Option<u32> {
    static RANK: OnceLock<Option<u32>> = OnceLock::new();
    let variable = |name: &&str| std::env::var(name).ok()?.parse().ok();
    *RANK.get_or_init(|| ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"].iter().find_map(variable))
}

/// How messages to the user call this process: by its rank where the launcher tells it.
pub fn name() -> String {
    match rank() {
        Some(rank) => format!("rank {rank} on {}", host()),
        None => format!("process {} on {}", std::process::id(), host()),
    }
}

/// Bytes of a host's mark.
pub const HOST_MARK_LEN: usize = 8;

/// The same for processes that reach each other over loopback, and for no others: those of one boot of one machine, in one
/// network namespace.
pub fn host_mark() -> &'static [u8; HOST_MARK_LEN] {
    static MARK: OnceLock<[u8; HOST_MARK_LEN]> = OnceLock::new();
    MARK.get_or_init(|| {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
        let known = format!("{boot} {} {}", host(), namespace.display());
        let digest = ring::digest::digest(&ring::digest::SHA256, known.as_bytes());
        digest.as_ref().first_chunk().copied().unwrap_or_default()
    })
}

/// How many ranks of the job are on this host, as launchers tell it.
pub fn local_ranks() -> Option<u32> {
    ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"].iter().find_map(|name| number(name))
}

/// To how many ranks of the job this one is connected in the end, as launchers tell it: those of its host have the MPI's own
/// shared memory, but under Open MPI.
pub fn connected_ranks() -> Option<u32> {
    let others = |all: &str, here: &str| Some(number(all)?.saturating_sub(number(here)?));
    let hydra = others("PMI_SIZE", "MPI_LOCALNRANKS");
    hydra.or_else(|| Some(number("OMPI_COMM_WORLD_SIZE")?.saturating_sub(1)))
}

/// How many ranks the job has, as launchers tell it.
pub fn ranks() -> Option<u32> {
    ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE"].iter().find_map(|name| number(name))
}

/// Whether this is the last rank of the job, as launchers tell it; also where they do not.
pub fn is_last() -> bool {
    rank().zip(ranks()).is_none_or(|(rank, all)| rank + 1 >= all)
}

fn number(name: &str) -> Option<u32> {
    std::env::var(name).ok()?.parse().ok()
}

/// Whether all ranks of the job are on this host, as launchers tell it; `None`: they do not.
pub fn is_alone() -> Option<bool> {
    let fits = |all: &str, here: &str| Some(number(all)? <= number(here)?);
    let hydra = fits("PMI_SIZE", "MPI_LOCALNRANKS");
    let open_mpi = || fits("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE");
    hydra.or_else(open_mpi).or_else(|| Some(number("SLURM_STEP_NUM_NODES")? <= 1))
}
