//! Groups hosts to clusters by round trip times, measured by one process of each host, its leader.
//!
//! In each round, the first host without a cluster measures the round trip times to all other hosts without a cluster. The
//! near ones form a cluster with it. So there are as many rounds as clusters, each a few round trips long.

use std::time::Duration;

use super::bandwidth::{self, HostLeaders};
use super::estimates::{Discovered, Estimates};
use super::probe::Prober;
use super::proximity::{MAX_CLUSTERS, near};
use crate::ffi::Result;

/// The measuring leader of a host or a cluster.
struct HostProber {
    prober: Prober,
    leaders: Vec<usize>,
    /// Index of this process among the leaders.
    own: usize,
}

/// Finds clusters of hosts. `hosts` contains the host of each rank. Rank 0 gets the result: `None` for a single cluster.
pub fn discover_clusters(prober: Prober, hosts: &[u64]) -> Result<Option<Discovered>> {
    let Some(host_prober) = HostProber::of(prober, hosts) else { return Ok(None) };
    let count = host_prober.leaders.len();
    let mut clusters: Vec<Option<usize>> = vec![None; count];
    // Round trips of each cluster's first host to all hosts without a cluster.
    let mut rows: Vec<Vec<u64>> = Vec::new();
    let mut farthest_ns = 0;
    while let Some(first) = clusters.iter().position(Option::is_none) {
        if rows.len() == MAX_CLUSTERS {
            return Ok(None);
        }
        let targets: Vec<usize> = (first + 1..count).filter(|host| clusters[*host].is_none()).collect();
        let times_ns = host_prober.round_trips_ns(first, &targets)?;
        farthest_ns = times_ns.iter().copied().fold(farthest_ns, u64::max);
        clusters[first] = Some(rows.len());
        for (target, is_near) in targets.iter().zip(near(&times_ns, farthest_ns)) {
            if is_near {
                clusters[*target] = Some(rows.len());
            }
        }
        let mut row = vec![0; count];
        targets.iter().zip(times_ns).for_each(|(target, time_ns)| row[*target] = time_ns);
        rows.push(row);
    }
    let of_hosts: Vec<u64> = clusters.into_iter().flatten().map(|cluster| cluster as u64).collect();
    if rows.len() == 1 {
        return Ok(None);
    }
    let mut estimates = Estimates::none(rows.len());
    for (from, row) in rows.iter().enumerate() {
        for to in from + 1..rows.len() {
            let times_ns =
                row.iter().zip(&of_hosts).filter(|(_, cluster)| **cluster == to as u64).map(|(time, _)| *time);
            estimates.set_round_trip(from, to, times_ns.min().unwrap_or(0));
        }
    }
    let clusters: Vec<u64> = hosts.iter().map(|host| of_hosts[*host as usize]).collect();
    bandwidth::measure(&prober, &HostLeaders::of_clusters(hosts, &clusters), &mut estimates)?;
    Ok(Some(Discovered { clusters, estimates }))
}

/// Measures round trips and rates between given clusters, by the first rank of each cluster. Rank 0 gets the result.
pub fn measure_between(prober: Prober, hosts: &[u64], mut clusters: Vec<u64>) -> Result<Option<Discovered>> {
    renumber(&mut clusters);
    let leaders_of_clusters = HostLeaders::of_clusters(hosts, &clusters);
    let mut estimates = Estimates::none(leaders_of_clusters.len());
    let leaders: Vec<usize> = leaders_of_clusters.iter().map(HostLeaders::first).collect();
    if let Some(own) = leaders.iter().position(|leader| *leader == prober.rank) {
        let host_prober = HostProber { prober, leaders, own };
        for from in 0..leaders_of_clusters.len() {
            let targets: Vec<usize> = (from + 1..leaders_of_clusters.len()).collect();
            for (to, time_ns) in targets.iter().zip(host_prober.round_trips_ns(from, &targets)?) {
                estimates.set_round_trip(from, *to, time_ns);
            }
        }
    }
    bandwidth::measure(&prober, &leaders_of_clusters, &mut estimates)?;
    Ok(Some(Discovered { clusters, estimates }))
}

/// Renumbers clusters from 0 in the order of their first rank.
fn renumber(clusters: &mut [u64]) {
    let mut known = Vec::new();
    for cluster in clusters {
        let index = known.iter().position(|other| other == cluster).unwrap_or_else(|| {
            known.push(*cluster);
            known.len() - 1
        });
        *cluster = index as u64;
    }
}

impl HostProber {
    /// The leaders: the lowest rank of each host.
    fn of(prober: Prober, hosts: &[u64]) -> Option<HostProber> {
        let count = hosts.iter().max().map_or(0, |highest| *highest as usize + 1);
        let leaders: Vec<usize> = (0..count).filter_map(|host| hosts.iter().position(|h| *h == host as u64)).collect();
        let own = leaders.iter().position(|leader| *leader == prober.rank)?;
        Some(HostProber { prober, leaders, own })
    }

    /// Round trip times from one leader to others, known to all leaders.
    fn round_trips_ns(&self, from: usize, targets: &[usize]) -> Result<Vec<u64>> {
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        let leader = self.leaders[from];
        let mut times_ns = vec![0; targets.len()];
        if self.own == from {
            let targets: Vec<usize> = targets.iter().map(|target| self.leaders[*target]).collect();
            times_ns = self.prober.round_trips_ns(&targets, Duration::ZERO)?;
        } else if targets.contains(&self.own) {
            self.prober.answer_pings(leader)?;
        }
        self.prober.broadcast(leader, &self.leaders, times_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_clusters_are_numbered_from_nought() {
        let mut clusters = [5, 2, 5, 9];
        renumber(&mut clusters);
        assert_eq!(clusters, [0, 1, 0, 2]);
    }
}
