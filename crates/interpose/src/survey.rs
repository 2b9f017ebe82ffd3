//! Which hosts are near each other, and what is between clusters of them: measured by one process of each host.
//!
//! The first host that is in no cluster yet sends a few messages to all others that are in none, and times the answers.
//! Those that are near are one cluster with it. So there are as many rounds as clusters, each a few round trips long.

use std::time::Duration;

use crate::distance::{MOST_CLUSTERS, near};
use crate::distances::{Distances, Found};
use crate::ffi::{Abi, Comm, Result};
use crate::rates::{self, Side};
use crate::talk::Talk;

/// A process that speaks for its host, or for its cluster.
struct Surveyor {
    talk: Talk,
    /// The ranks that speak.
    speakers: Vec<usize>,
    /// This process's place among them.
    own: usize,
}

/// Finds clusters of hosts. `hosts` has the host of each rank; rank 0 gets the answer, nothing when all is one cluster.
pub fn explore(abi: &'static Abi, comm: Comm, rank: usize, hosts: &[u64]) -> Result<Option<Found>> {
    let Some(surveyor) = Surveyor::of(Talk { abi, comm, rank }, hosts) else { return Ok(None) };
    let count = surveyor.speakers.len();
    let mut clusters: Vec<Option<usize>> = vec![None; count];
    // Of each cluster's first host to all hosts that were in no cluster yet.
    let mut rows: Vec<Vec<u64>> = Vec::new();
    let mut farthest_ns = 0;
    while let Some(first) = clusters.iter().position(Option::is_none) {
        if rows.len() == MOST_CLUSTERS {
            return Ok(None);
        }
        let targets: Vec<usize> = (first + 1..count).filter(|host| clusters[*host].is_none()).collect();
        let times_ns = surveyor.round(first, &targets)?;
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
    let mut distances = Distances::none(rows.len());
    for (from, row) in rows.iter().enumerate() {
        for to in from + 1..rows.len() {
            let times_ns =
                row.iter().zip(&of_hosts).filter(|(_, cluster)| **cluster == to as u64).map(|(time, _)| *time);
            distances.set_round_trip(from, to, times_ns.min().unwrap_or(0));
        }
    }
    let clusters: Vec<u64> = hosts.iter().map(|host| of_hosts[*host as usize]).collect();
    rates::measure(&surveyor.talk, &Side::of_clusters(hosts, &clusters), &mut distances)?;
    Ok(Some(Found { clusters, distances }))
}

/// What is between given clusters, measured by the first rank of each, and what their hosts reach; rank 0 gets the answer.
pub fn between(abi: &'static Abi, comm: Comm, rank: usize, hosts: &[u64], given: Vec<u64>) -> Result<Option<Found>> {
    let mut clusters = given;
    number(&mut clusters);
    let sides = Side::of_clusters(hosts, &clusters);
    let talk = Talk { abi, comm, rank };
    let mut distances = Distances::none(sides.len());
    let speakers: Vec<usize> = sides.iter().map(Side::first).collect();
    if let Some(own) = speakers.iter().position(|speaker| *speaker == rank) {
        let surveyor = Surveyor { talk, speakers, own };
        for from in 0..sides.len() {
            let targets: Vec<usize> = (from + 1..sides.len()).collect();
            for (to, time_ns) in targets.iter().zip(surveyor.round(from, &targets)?) {
                distances.set_round_trip(from, *to, time_ns);
            }
        }
    }
    rates::measure(&talk, &sides, &mut distances)?;
    Ok(Some(Found { clusters, distances }))
}

/// Numbers from 0 in the order in which they come.
fn number(clusters: &mut [u64]) {
    let mut known = Vec::new();
    for cluster in clusters {
        let index = known.iter().position(|other| other == cluster).unwrap_or_else(|| {
            known.push(*cluster);
            known.len() - 1
        });
        *cluster = index as u64;
    }
}

impl Surveyor {
    /// The lowest rank of each host speaks for it.
    fn of(talk: Talk, hosts: &[u64]) -> Option<Surveyor> {
        let count = hosts.iter().max().map_or(0, |highest| *highest as usize + 1);
        let speakers: Vec<usize> = (0..count).filter_map(|host| hosts.iter().position(|h| *h == host as u64)).collect();
        let own = speakers.iter().position(|speaker| *speaker == talk.rank)?;
        Some(Surveyor { talk, speakers, own })
    }

    /// Round trip times from one speaker to others, known to all that speak.
    fn round(&self, from: usize, targets: &[usize]) -> Result<Vec<u64>> {
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        let speaker = self.speakers[from];
        let mut times_ns = vec![0; targets.len()];
        if self.own == from {
            let targets: Vec<usize> = targets.iter().map(|target| self.speakers[*target]).collect();
            times_ns = self.talk.round_trips_ns(&targets, Duration::ZERO)?;
        } else if targets.contains(&self.own) {
            self.talk.answer(speaker)?;
        }
        self.talk.tell(speaker, &self.speakers, times_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_clusters_are_numbered_from_nought() {
        let mut clusters = [5, 2, 5, 9];
        number(&mut clusters);
        assert_eq!(clusters, [0, 1, 0, 2]);
    }
}
