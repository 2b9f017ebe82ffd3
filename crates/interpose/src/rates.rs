//! What hosts reach inside of their clusters and between them, measured by one process of each host.
//!
//! A burst is a number of messages from some processes to others, which all begin when the first of them says so, and tell
//! it when they have received theirs.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::distances::{Distances, Near};
use crate::ffi::{Mailbox, Result};
use crate::talk::Talk;

const GO: i32 = 4;
const BURST: i32 = 5;
const DONE: i32 = 6;

/// Messages of a process in a burst, and their length: 256 KiB, which take 2 ms at 1 Gbit/s and are enough to see past the
/// first window of TCP.
const MESSAGES: usize = 8;
const BYTES: usize = 32 << 10;
/// Where all hosts of a cluster send to another, each sends less, but no less than so many messages: what they share has a
/// queue, which must not overflow.
const FEWEST_MESSAGES: usize = 2;
/// The best of so many bursts counts: the first finds cold windows, others may find a busy processor.
const BURSTS: usize = 3;
/// Inside of a cluster they are short, and a busy processor counts for more.
const BURSTS_INSIDE: usize = 10;
/// The delay inside is measured for so long.
const LATENCY_TIME: Duration = Duration::from_millis(3);
/// So many hosts of a cluster take part at most.
const MOST_HOSTS: usize = 16;

/// Who measures for a cluster.
#[derive(Debug, PartialEq, Eq)]
pub struct Side {
    /// The lowest rank of each host.
    ranks: Vec<usize>,
    /// There are no more hosts.
    is_all: bool,
}

impl Side {
    /// Of each cluster; `hosts` and `clusters` of each rank, numbered from 0.
    pub fn of_clusters(hosts: &[u64], clusters: &[u64]) -> Vec<Side> {
        let count = clusters.iter().max().map_or(0, |highest| highest + 1);
        let of = |cluster| {
            let mut known = BTreeSet::new();
            let members = (0..hosts.len()).filter(|rank| clusters[*rank] == cluster);
            let mut ranks: Vec<usize> = members.filter(|rank| known.insert(hosts[*rank])).collect();
            let is_all = ranks.len() <= MOST_HOSTS;
            ranks.truncate(MOST_HOSTS);
            Side { ranks, is_all }
        };
        (0..count).map(of).collect()
    }

    /// Who leads.
    pub fn first(&self) -> usize {
        self.ranks[0]
    }
}

/// Measures; the first rank of the first cluster learns all. Round trips between clusters must be known to the first of
/// each.
pub fn measure(talk: &Talk, sides: &[Side], distances: &mut Distances) -> Result<()> {
    if sides.iter().any(|side| side.ranks.contains(&talk.rank)) {
        inside(talk, sides, distances)?;
        between(talk, sides, distances)?;
    }
    Ok(())
}

/// Inside of all clusters at once, as operations that span them have it.
fn inside(talk: &Talk, sides: &[Side], distances: &mut Distances) -> Result<()> {
    let reader = [sides[0].first()];
    let mut found = Near::default();
    for side in sides.iter().filter(|side| side.ranks.len() > 1 && side.ranks.contains(&talk.rank)) {
        let (first, second) = (side.ranks[0], side.ranks[1]);
        if talk.rank == first {
            found.latency_ns = talk.round_trips_ns(&[second], LATENCY_TIME)?[0] / 2;
        } else if talk.rank == second {
            talk.answer(first)?;
        }
        found.bytes_per_s = best(talk, &[(first, second)], MESSAGES, 2 * found.latency_ns, BURSTS_INSIDE)?;
        let next = side.ranks.iter().cycle().skip(1);
        let ring: Vec<(usize, usize)> = side.ranks.iter().copied().zip(next.copied()).collect();
        // One way for the word to begin, the last message, and the word that it has come.
        found.shared_bytes_per_s = best(talk, &ring, MESSAGES, 3 * found.latency_ns, BURSTS_INSIDE)?;
    }
    for (cluster, side) in sides.iter().enumerate().filter(|(_, side)| side.ranks.len() > 1) {
        if let [numbers] = talk.tell(side.first(), &reader, found.numbers().to_vec())?.as_chunks().0 {
            distances.set_near(cluster, Near::of(*numbers));
        }
    }
    Ok(())
}

/// Between each two clusters, one pair after the other: first one host of each, then all.
fn between(talk: &Talk, sides: &[Side], distances: &mut Distances) -> Result<()> {
    let pairs = (0..sides.len()).flat_map(|from| (from + 1..sides.len()).map(move |to| (from, to)));
    for (from, to) in pairs {
        let round_trip_ns = distances.round_trip_ns(from as u64, to as u64);
        let told = |pairs: &[(usize, usize)], messages| {
            let rate = best(talk, pairs, messages, round_trip_ns, BURSTS)?;
            Ok(talk.tell(pairs[0].0, &[sides[0].first()], vec![rate])?[0])
        };
        let one = told(&[(sides[from].first(), sides[to].first())], MESSAGES)?;
        distances.set_rate(from, to, one);
        let (few, many) = if sides[from].ranks.len() < sides[to].ranks.len() { (from, to) } else { (to, from) };
        let (few, many) = (&sides[few], &sides[many]);
        let hosts = many.ranks.len();
        if hosts > 1 {
            let lanes: Vec<_> = many.ranks.iter().copied().zip(few.ranks.iter().copied().cycle()).collect();
            let together = told(&lanes, (2 * MESSAGES / hosts).max(FEWEST_MESSAGES))?;
            distances.set_shared(from, to, shared(one, together, hosts, many.is_all));
        }
    }
    Ok(())
}

/// What all hosts of a cluster reach together, from what one reaches and so many hosts, which may be all: at least as much
/// as one. Not known where some have met no limit, which others could.
fn shared(one: u64, together: u64, hosts: usize, is_all: bool) -> Option<u64> {
    let is_limited = together < hosts as u64 * one / 10 * 9;
    (is_all || is_limited).then_some(together.max(one))
}

/// Bytes a second, of all pairs together, at the first sender. `beyond_ns` is what a burst of nothing would take.
fn best(talk: &Talk, pairs: &[(usize, usize)], messages: usize, beyond_ns: u64, bursts: usize) -> Result<u64> {
    let mut rate = 0;
    for _ in 0..bursts {
        rate = rate.max(burst(talk, pairs, messages, beyond_ns)?);
    }
    Ok(rate)
}

/// This process's part. Nobody sends to more than one.
fn burst(talk: &Talk, pairs: &[(usize, usize)], messages: usize, beyond_ns: u64) -> Result<u64> {
    let Talk { abi, comm, rank } = *talk;
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
        talk.wait(&mut mailbox, |_| {})?;
    }
    for source in sources.flat_map(|source| std::iter::repeat_n(source, messages)) {
        mailbox.receive(comm, BYTES, source, BURST)?;
    }
    for target in target.into_iter().flat_map(|target| std::iter::repeat_n(target, messages)) {
        mailbox.send(comm, vec![0; BYTES], target, BURST)?;
    }
    talk.wait(&mut mailbox, |_| {})?;
    if rank != first {
        if receivers.contains(&rank) {
            mailbox.send(comm, vec![0], first, DONE)?;
            talk.wait(&mut mailbox, |_| {})?;
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
        let sides = Side::of_clusters(&[0, 0, 1, 2, 2, 3], &[0, 0, 1, 0, 0, 1]);
        let side = |ranks: &[usize]| Side { ranks: ranks.to_vec(), is_all: true };
        assert_eq!(sides, [side(&[0, 3]), side(&[2, 5])]);
        let hosts: Vec<u64> = (0..20).collect();
        let sides = Side::of_clusters(&hosts, &[0; 20]);
        assert_eq!((sides[0].ranks.len(), sides[0].is_all), (16, false));
    }

    #[test]
    fn what_hosts_share_is_known_if_all_have_tried_or_some_have_met_the_limit() {
        assert_eq!(shared(100, 120, 4, true), Some(120));
        assert_eq!(shared(100, 80, 4, true), Some(100), "what they lost does not count");
        assert_eq!(shared(100, 390, 4, true), Some(390));
        assert_eq!((shared(100, 1590, 16, false), shared(100, 700, 16, false)), (None, Some(700)));
    }
}
