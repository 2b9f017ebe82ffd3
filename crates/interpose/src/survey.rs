//! Distances between hosts, measured by one process of each.
//!
//! The first host that is in no cluster yet sends a few messages to all others that are in none, and times the answers.
//! Those that are near are one cluster with it. So there are as many rounds as clusters, each a few round trips long.

use std::thread;
use std::time::Instant;

use crate::distance::{MOST_CLUSTERS, near};
use crate::distances::{Distances, Found, MOST_BYTES_PER_S, to_bytes, to_numbers};
use crate::ffi::{Abi, Comm, Mailbox, Result};

/// Round trips of which the shortest counts; the first pays for the connection, others may for a busy processor.
const PINGS: usize = 8;
const PING: i32 = 1;
const PONG: i32 = 2;
const RESULT: i32 = 3;
const BURST: i32 = 4;
const RATE: i32 = 5;

/// Messages whose arrival tells the rate between two clusters, and their length: 256 KiB, which take 2 ms at 1 Gbit/s
/// and are enough to see past the first window of TCP.
const BURST_MESSAGES: usize = 8;
const BURST_BYTES: usize = 32 << 10;
/// The better of so many bursts counts: the first finds cold windows.
const BURSTS: usize = 2;

/// A process that speaks for its host.
struct Surveyor {
    abi: &'static Abi,
    comm: Comm,
    /// The rank that speaks, of each host.
    speakers: Vec<usize>,
    /// This process's host.
    host: usize,
}

/// Finds clusters of hosts. `hosts` has the host of each rank; rank 0 gets the answer, nothing when all is one cluster.
pub fn explore(abi: &'static Abi, comm: Comm, rank: usize, hosts: &[u64]) -> Result<Option<Found>> {
    let Some(surveyor) = Surveyor::of(abi, comm, rank, hosts) else { return Ok(None) };
    let count = surveyor.speakers.len();
    let mut clusters: Vec<Option<usize>> = vec![None; count];
    // Of each cluster's first host to all hosts that were in no cluster yet.
    let mut rows: Vec<(usize, Vec<u64>)> = Vec::new();
    while let Some(first) = clusters.iter().position(Option::is_none) {
        if rows.len() == MOST_CLUSTERS {
            return Ok(None);
        }
        let targets: Vec<usize> = (first + 1..count).filter(|host| clusters[*host].is_none()).collect();
        let times_ns = surveyor.round(first, &targets)?;
        clusters[first] = Some(rows.len());
        for (target, is_near) in targets.iter().zip(near(&times_ns)) {
            if is_near {
                clusters[*target] = Some(rows.len());
            }
        }
        let mut row = vec![0; count];
        targets.iter().zip(times_ns).for_each(|(target, time_ns)| row[*target] = time_ns);
        rows.push((first, row));
    }
    let clusters: Vec<u64> = clusters.into_iter().flatten().map(|cluster| cluster as u64).collect();
    if rows.len() == 1 {
        return Ok(None);
    }
    let mut distances = Distances::none(rows.len());
    for (from, (_, row)) in rows.iter().enumerate() {
        for to in from + 1..rows.len() {
            let times_ns =
                row.iter().zip(&clusters).filter(|(_, cluster)| **cluster == to as u64).map(|(time, _)| *time);
            distances.set_round_trip(from, to, times_ns.min().unwrap_or(0));
        }
    }
    let firsts: Vec<usize> = rows.iter().map(|(first, _)| surveyor.speakers[*first]).collect();
    surveyor.rates(&firsts, &mut distances)?;
    Ok(Some(Found { clusters: hosts.iter().map(|host| clusters[*host as usize]).collect(), distances }))
}

/// What is between given clusters, measured by the first rank of each; rank 0 gets the answer.
pub fn between(abi: &'static Abi, comm: Comm, rank: usize, hosts: &[u64], given: Vec<u64>) -> Result<Option<Found>> {
    let mut clusters = given;
    number(&mut clusters);
    let count = clusters.iter().max().map_or(0, |highest| *highest as usize + 1);
    let first = |cluster: usize| clusters.iter().position(|of| *of == cluster as u64).unwrap_or(0);
    let firsts: Vec<usize> = (0..count).map(first).collect();
    debug_assert_eq!(hosts.len(), clusters.len());
    let Some(host) = firsts.iter().position(|first| *first == rank) else { return Ok(None) };
    let surveyor = Surveyor { abi, comm, speakers: firsts.clone(), host };
    let mut distances = Distances::none(count);
    for from in 0..count {
        let targets: Vec<usize> = (from + 1..count).collect();
        for (to, time_ns) in targets.iter().zip(surveyor.round(from, &targets)?) {
            distances.set_round_trip(from, *to, time_ns);
        }
    }
    surveyor.rates(&firsts, &mut distances)?;
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
    fn of(abi: &'static Abi, comm: Comm, rank: usize, hosts: &[u64]) -> Option<Surveyor> {
        let count = hosts.iter().max().map_or(0, |highest| *highest as usize + 1);
        let speakers: Vec<usize> = (0..count).filter_map(|host| hosts.iter().position(|h| *h == host as u64)).collect();
        let host = speakers.iter().position(|speaker| *speaker == rank)?;
        Some(Surveyor { abi, comm, speakers, host })
    }

    /// Round trip times from one host to others, known to all that speak.
    fn round(&self, from: usize, targets: &[usize]) -> Result<Vec<u64>> {
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        if self.host == from {
            let times_ns = self.ping(targets)?;
            let mut mailbox = Mailbox::new(self.abi);
            for other in self.speakers.iter().filter(|speaker| **speaker != self.speakers[from]) {
                mailbox.send(self.comm, to_bytes(&times_ns), *other, RESULT)?;
            }
            self.wait(&mut mailbox)?;
            return Ok(times_ns);
        }
        let speaker = self.speakers[from];
        if targets.contains(&self.host) {
            self.pong(speaker)?;
        }
        let mut mailbox = Mailbox::new(self.abi);
        mailbox.receive(self.comm, targets.len() * size_of::<u64>(), speaker, RESULT)?;
        Ok(to_numbers(&self.wait(&mut mailbox)?))
    }

    fn ping(&self, targets: &[usize]) -> Result<Vec<u64>> {
        let mut best_ns = vec![u64::MAX; targets.len()];
        for _ in 0..PINGS {
            let mut mailbox = Mailbox::new(self.abi);
            let mut sent = Vec::new();
            let mut answers = Vec::new();
            for target in targets {
                answers.push(mailbox.receive(self.comm, 1, self.speakers[*target], PONG)?);
            }
            for target in targets {
                sent.push(Instant::now());
                mailbox.send(self.comm, vec![0], self.speakers[*target], PING)?;
            }
            while !mailbox.is_empty() {
                for (label, _) in mailbox.done()? {
                    if let Some(index) = answers.iter().position(|answer| *answer == label) {
                        best_ns[index] = best_ns[index].min(sent[index].elapsed().as_nanos() as u64);
                    }
                }
                thread::yield_now();
            }
        }
        Ok(best_ns)
    }

    fn pong(&self, to: usize) -> Result<()> {
        for _ in 0..PINGS {
            let mut mailbox = Mailbox::new(self.abi);
            mailbox.receive(self.comm, 1, to, PING)?;
            self.wait(&mut mailbox)?;
            mailbox.send(self.comm, vec![0], to, PONG)?;
            self.wait(&mut mailbox)?;
        }
        Ok(())
    }

    /// Rates between clusters, by the first rank of each, one pair after the other; rank 0 gets them all.
    fn rates(&self, firsts: &[usize], distances: &mut Distances) -> Result<()> {
        let me = self.speakers[self.host];
        for from in 0..firsts.len() {
            for to in from + 1..firsts.len() {
                let mut rate = 0;
                for _ in 0..BURSTS {
                    rate = rate.max(self.burst(firsts[from], firsts[to])?);
                }
                // The receiver knows the rate; rank 0, which is the first of the first cluster, wants it.
                let mut mailbox = Mailbox::new(self.abi);
                if me == firsts[to] {
                    mailbox.send(self.comm, to_bytes(&[rate]), firsts[0], RATE)?;
                }
                if me == firsts[0] {
                    mailbox.receive(self.comm, size_of::<u64>(), firsts[to], RATE)?;
                }
                let letter = to_numbers(&self.wait(&mut mailbox)?);
                distances.set_rate(from, to, letter.first().copied().unwrap_or(rate));
            }
        }
        Ok(())
    }

    /// Bytes a second, at the receiver.
    fn burst(&self, from: usize, to: usize) -> Result<u64> {
        let me = self.speakers[self.host];
        let mut mailbox = Mailbox::new(self.abi);
        if me == from {
            // Not before the receiver is ready.
            mailbox.receive(self.comm, 1, to, PONG)?;
            self.wait(&mut mailbox)?;
            for _ in 0..BURST_MESSAGES {
                mailbox.send(self.comm, vec![0; BURST_BYTES], to, BURST)?;
            }
            self.wait(&mut mailbox)?;
        }
        if me != to {
            return Ok(0);
        }
        for _ in 0..BURST_MESSAGES {
            mailbox.receive(self.comm, BURST_BYTES, from, BURST)?;
        }
        mailbox.send(self.comm, vec![0], from, PONG)?;
        let (mut arrived, mut first, mut before) = (0, None, 0);
        while !mailbox.is_empty() {
            arrived += mailbox.done()?.iter().filter(|(_, letter)| letter.len() == BURST_BYTES).count();
            if arrived > 0 && first.is_none() {
                (first, before) = (Some(Instant::now()), arrived);
            }
            thread::yield_now();
        }
        let seconds = first.map_or(0.0, |first| first.elapsed().as_secs_f64());
        let bytes = (arrived - before) * BURST_BYTES;
        Ok(if bytes == 0 { MOST_BYTES_PER_S } else { (bytes as f64 / seconds.max(1e-9)) as u64 })
    }

    /// The last letter, when all is done.
    fn wait(&self, mailbox: &mut Mailbox) -> Result<Vec<u8>> {
        let mut last = Vec::new();
        while !mailbox.is_empty() {
            if let Some((_, letter)) = mailbox.done()?.pop() {
                last = letter;
            }
            thread::yield_now();
        }
        Ok(last)
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
