//! Whether processes may open as many sockets as they need.

use nix::sys::resource::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

use crate::doctor::finding::Finding;

const CHECK: &str = "open files";
/// Open files of a process beside connections: datagrams of 64 links, listeners of 8 rails, files of MPI and the
/// program.
const OTHERS: u64 = 200;

/// Limits of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Files that a process may have open at most: ranks raise the soft limit to it by themselves.
    pub hard: Option<u64>,
    pub cores: u64,
    pub rails: u64,
}

/// Queries the system, on a host with `rails` rails.
pub fn gather(rails: usize) -> Facts {
    let limit = getrlimit(Resource::RLIMIT_NOFILE).ok();
    Facts {
        hard: limit.map(|(_, hard)| hard),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
        rails: rails as u64,
    }
}

/// Findings for a job with a rank for each core of all hosts.
pub fn judge(hosts: &[(&str, &Facts)]) -> Vec<Finding> {
    let ranks: u64 = hosts.iter().map(|(_, facts)| facts.cores).sum();
    let judge_one = |(host, facts): &(&str, &Facts)| {
        let hard = facts.hard?;
        let needed = ranks * facts.rails.max(1) + OTHERS;
        let what = format!("a process may have {hard} files open");
        if hard >= needed {
            return Some(Finding::fine(CHECK, host, what));
        }
        let found = format!(
            "{what}, and needs about {needed} in a job with a rank for each of the {ranks} cores: a connection for each \
             rank and rail; with fewer files each rank is connected over one rail"
        );
        let to_do = format!(
            "raise the hard limit (`ulimit -H -n`) to {needed} in /etc/security/limits.conf, or by LimitNOFILE of the service that starts jobs"
        );
        Some(Finding::warning(CHECK, host, found, to_do))
    };
    hosts.iter().filter_map(judge_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(hard: u64, cores: u64) -> Finding {
        let facts = Facts { hard: Some(hard), cores, rails: 4 };
        judge(&[("a", &facts), ("b", &facts)]).remove(0)
    }

    #[test]
    fn limits_are_held_against_a_rank_for_each_core() {
        assert_eq!(judged(4096, 4).to_do, None);
        let few = judged(1024, 128);
        assert!(few.found.contains("needs about 1224 in a job with a rank for each of the 256 cores"), "{few:?}");
        assert!(few.to_do.unwrap().contains("`ulimit -H -n`) to 1224 in /etc/security/limits.conf"));
    }

    #[test]
    fn this_host_is_read() {
        assert!(gather(2).hard.is_some());
    }
}
