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
