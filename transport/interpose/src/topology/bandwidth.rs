//! Measures the bandwidth within and between clusters, by the leader of each host.
//!
//! A burst is a number of messages from some processes to others. All senders begin on a message of the first sender; the
//! receivers report to it when they have received all messages.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::estimates::Estimates;
use super::probe::Prober;
use crate::ffi::{Mailbox, Result};

const GO: i32 = 4;
const BURST: i32 = 5;
const DONE: i32 = 6;

/// Messages of a process in a burst, and their length: 256 KiB, which take 2 ms at 1 Gbit/s and exceed TCP's initial window.
const MESSAGES: usize = 8;
const BYTES: usize = 32 << 10;
/// If all hosts of a cluster send to another cluster, each sends fewer messages, but at least this number: the queue of the
/// shared link must not overflow.
const MIN_MESSAGES: usize = 2;
/// Number of bursts, of which the best counts: the first suffers from initial windows, others maybe from a busy processor.
const BURSTS: usize = 3;
/// Number of bursts within a cluster: they are short, so that a busy processor has more influence.
const BURSTS_INSIDE: usize = 10;
/// Duration of the measurement of latency within a cluster.
const LATENCY_TIME: Duration = Duration::from_millis(3);
/// Limit of the number of participating hosts of a cluster.
const MAX_HOSTS: usize = 16;

/// The measuring ranks of a cluster.
#[derive(Debug, PartialEq, Eq)]
pub struct HostLeaders {
    /// The lowest rank of each host.
    ranks: Vec<usize>,
    /// Whether all hosts of the cluster participate.
    is_all: bool,
}

impl HostLeaders {
    /// The leaders of each cluster. `hosts` and `clusters` contain the numbers of each rank's host and cluster, from 0.
    pub fn of_clusters(hosts: &[u64], clusters: &[u64]) -> Vec<HostLeaders> {
        let count = clusters.iter().max().map_or(0, |highest| highest + 1);
        let of = |cluster| {
            let mut known = BTreeSet::new();
            let members = (0..hosts.len()).filter(|rank| clusters[*rank] == cluster);
            let mut ranks: Vec<usize> = members.filter(|rank| known.insert(hosts[*rank])).collect();
            let is_all = ranks.len() <= MAX_HOSTS;
            ranks.truncate(MAX_HOSTS);
            HostLeaders { ranks, is_all }
        };
        (0..count).map(of).collect()
    }

    pub fn first(&self) -> usize {
        self.ranks[0]
    }
}

/// Measures all rates; the first rank of the first cluster collects them. The first rank of each cluster must know the round
/// trip times between clusters.
pub fn measure(prober: &Prober, clusters: &[HostLeaders], estimates: &mut Estimates) -> Result<()> {
    if clusters.iter().any(|cluster| cluster.ranks.contains(&prober.rank)) {
        inside(prober, clusters, estimates)?;
        between(prober, clusters, estimates)?;
    }
    Ok(())
}

/// Measures within all clusters at once, as in operations that span them.
fn inside(prober: &Prober, clusters: &[HostLeaders], estimates: &mut Estimates) -> Result<()> {
    let reader = [clusters[0].first()];
    let [mut latency_ns, mut rate, mut shared_rate] = [0; 3];
    for cluster in clusters.iter().filter(|cluster| cluster.ranks.len() > 1 && cluster.ranks.contains(&prober.rank)) {
        let (first, second) = (cluster.ranks[0], cluster.ranks[1]);
        if prober.rank == first {
            latency_ns = prober.round_trips_ns(&[second], LATENCY_TIME)?[0] / 2;
        } else if prober.rank == second {
            prober.answer_pings(first)?;
        }
        rate = best(prober, &[(first, second)], MESSAGES, 2 * latency_ns, BURSTS_INSIDE)?;
        let next = cluster.ranks.iter().cycle().skip(1);
        let ring: Vec<(usize, usize)> = cluster.ranks.iter().copied().zip(next.copied()).collect();
        // One latency each for the start message, the last message, and the report of its reception.
        shared_rate = best(prober, &ring, MESSAGES, 3 * latency_ns, BURSTS_INSIDE)?;
    }
    for (index, cluster) in clusters.iter().enumerate().filter(|(_, cluster)| cluster.ranks.len() > 1) {
        let numbers = vec![latency_ns, rate, shared_rate];
        if let [numbers] = prober.broadcast(cluster.first(), &reader, numbers)?.as_chunks().0 {
            estimates.set_inside(index, *numbers);
        }
    }
    Ok(())
}

/// Measures between each two clusters, one pair after the other: first one host of each, then all.
fn between(prober: &Prober, clusters: &[HostLeaders], estimates: &mut Estimates) -> Result<()> {
    let pairs = (0..clusters.len()).flat_map(|from| (from + 1..clusters.len()).map(move |to| (from, to)));
    for (from, to) in pairs {
        let round_trip_ns = estimates.between(from as u64, to as u64).round_trip_ns;
        let measured = |pairs: &[(usize, usize)], messages| {
            let rate = best(prober, pairs, messages, round_trip_ns, BURSTS)?;
            Ok(prober.broadcast(pairs[0].0, &[clusters[0].first()], vec![rate])?[0])
        };
        let one = measured(&[(clusters[from].first(), clusters[to].first())], MESSAGES)?;
        estimates.set_rate(from, to, one);
        let (few, many) = if clusters[from].ranks.len() < clusters[to].ranks.len() { (from, to) } else { (to, from) };
        let (few, many) = (&clusters[few], &clusters[many]);
        let hosts = many.ranks.len();
        if hosts > 1 {
            let lanes: Vec<_> = many.ranks.iter().copied().zip(few.ranks.iter().copied().cycle()).collect();
            let together = measured(&lanes, (2 * MESSAGES / hosts).max(MIN_MESSAGES))?;
            estimates.set_shared(from, to, shared(one, together, hosts, many.is_all));
        }
    }
    Ok(())
}

/// The rate of all hosts of a cluster together, from the rate of one host and of `hosts` hosts; at least that of one. `None`
/// if not all hosts measured and they met no limit, which more hosts might.
fn shared(one: u64, together: u64, hosts: usize, is_all: bool) -> Option<u64> {
    let is_limited = together < hosts as u64 * one / 10 * 9;
    (is_all || is_limited).then_some(together.max(one))
}

/// Bytes per second of all pairs together, at the first sender. `beyond_ns`: duration of an empty burst.
fn best(prober: &Prober, pairs: &[(usize, usize)], messages: usize, beyond_ns: u64, bursts: usize) -> Result<u64> {
    let mut rate = 0;
    for _ in 0..bursts {
        rate = rate.max(burst(prober, pairs, messages, beyond_ns)?);
    }
    Ok(rate)
}

/// This process's part of a burst. Each process sends to at most one other.
fn burst(prober: &Prober, pairs: &[(usize, usize)], messages: usize, beyond_ns: u64) -> Result<u64> {
    let Prober { abi, comm, rank } = *prober;
    let first = pairs[0].0;
    let target = pairs.iter().find(|(from, _)| *from == rank).map(|(_, to)| *to);
    let sources = pairs.iter().filter(|(_, to)| *to == rank).map(|(from, _)| *from);
    let receivers: BTreeSet<usize> = pairs.iter().map(|(_, to)| *to).filter(|to| *to != first).collect();
    let mut mailbox = Mailbox::new(abi);
    let begin = Instant::now();
    if rank == first {
        for (other, _) in &pairs[1..] {
            mailbox.send(comm, vec![0], *other, GO)?;
        }
        for other in &receivers {
            mailbox.receive(comm, 1, *other, DONE)?;
        }
    } else if target.is_some() {
        mailbox.receive(comm, 1, first, GO)?;
        prober.wait(&mut mailbox, |_| {})?;
    }
    for source in sources.flat_map(|source| std::iter::repeat_n(source, messages)) {
        mailbox.receive(comm, BYTES, source, BURST)?;
    }
    for target in target.into_iter().flat_map(|target| std::iter::repeat_n(target, messages)) {
        mailbox.send(comm, vec![0; BYTES], target, BURST)?;
    }
    prober.wait(&mut mailbox, |_| {})?;
    if rank != first {
        if receivers.contains(&rank) {
            mailbox.send(comm, vec![0], first, DONE)?;
            prober.wait(&mut mailbox, |_| {})?;
        }
        return Ok(0);
    }
    let transfer_ns = (begin.elapsed().as_nanos() as u64).saturating_sub(beyond_ns).max(1);
    Ok((pairs.len() * messages * BYTES) as u64 * 1_000_000_000 / transfer_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_rank_of_each_host_measures() {
        let clusters = HostLeaders::of_clusters(&[0, 0, 1, 2, 2, 3], &[0, 0, 1, 0, 0, 1]);
        let cluster = |ranks: &[usize]| HostLeaders { ranks: ranks.to_vec(), is_all: true };
        assert_eq!(clusters, [cluster(&[0, 3]), cluster(&[2, 5])]);
        let hosts: Vec<u64> = (0..20).collect();
        let clusters = HostLeaders::of_clusters(&hosts, &[0; 20]);
        assert_eq!((clusters[0].ranks.len(), clusters[0].is_all), (16, false));
    }

    #[test]
    fn the_rate_that_hosts_share_is_known_if_all_have_tried_or_some_have_met_the_limit() {
        assert_eq!(shared(100, 120, 4, true), Some(120));
        assert_eq!(shared(100, 80, 4, true), Some(100), "what they lost does not count");
        assert_eq!(shared(100, 390, 4, true), Some(390));
        assert_eq!((shared(100, 1590, 16, false), shared(100, 700, 16, false)), (None, Some(700)));
    }
}
