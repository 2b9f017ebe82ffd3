//! Distances between hosts, measured by one process of each.
//!
//! The first host that is in no cluster yet sends a few messages to all others that are in none, and times the answers.
//! Those that are near are one cluster with it. So there are as many rounds as clusters, each a few round trips long.

use std::thread;
use std::time::{Duration, Instant};

use crate::distance::{FLOOR_NS, MOST_CLUSTERS, near};
use crate::distances::{Distances, Found, to_bytes, to_numbers};
use crate::ffi::{Abi, Comm, Mailbox, Result};

/// Round trips of which the shortest counts: at least so many, since the first pays for the connection;
const FEWEST_PINGS: usize = 8;
/// then more while some host seems far, for it may only be busy: so many,
const MOST_PINGS: usize = 64;
/// or for this long.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long a process looks again and again for the next message. Then it sleeps between looks: where there are more
/// processes than processors, others need one to answer.
const ATTENTION: Duration = Duration::from_micros(100);
const NAP: Duration = Duration::from_micros(20);
const PING: i32 = 1;
const PONG: i32 = 2;
const RESULT: i32 = 3;
const BURST: i32 = 4;
const RATE: i32 = 5;

/// Messages whose answer tells the rate between two clusters, and their length: 256 KiB, which take 2 ms at 1 Gbit/s
/// and are enough to see past the first window of TCP.
const BURST_MESSAGES: usize = 8;
const BURST_BYTES: usize = 32 << 10;
/// The best of so many bursts counts: the first finds cold windows, others may find a busy processor.
const BURSTS: usize = 3;

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
            self.wait(&mut mailbox, |_| {})?;
            return Ok(times_ns);
        }
        let speaker = self.speakers[from];
        if targets.contains(&self.host) {
            self.pong(speaker)?;
        }
        let mut mailbox = Mailbox::new(self.abi);
        mailbox.receive(self.comm, targets.len() * size_of::<u64>(), speaker, RESULT)?;
        Ok(to_numbers(&self.wait(&mut mailbox, |_| {})?))
    }

    fn ping(&self, targets: &[usize]) -> Result<Vec<u64>> {
        let mut best_ns = vec![u64::MAX; targets.len()];
        let begin = Instant::now();
        for count in 1.. {
            let seems_far = best_ns.iter().any(|time_ns| *time_ns > FLOOR_NS);
            let is_last = count >= FEWEST_PINGS && !(seems_far && count < MOST_PINGS && begin.elapsed() < PATIENCE);
            self.ping_once(targets, is_last, &mut best_ns)?;
            if is_last {
                break;
            }
        }
        Ok(best_ns)
    }

    fn ping_once(&self, targets: &[usize], is_last: bool, best_ns: &mut [u64]) -> Result<()> {
        let mut mailbox = Mailbox::new(self.abi);
        let (mut answers, mut sent) = (Vec::new(), Vec::new());
        for target in targets {
            answers.push(mailbox.receive(self.comm, 1, self.speakers[*target], PONG)?);
        }
        for target in targets {
            sent.push(Instant::now());
            mailbox.send(self.comm, vec![u8::from(is_last)], self.speakers[*target], PING)?;
        }
        self.wait(&mut mailbox, |label| {
            if let Some(index) = answers.iter().position(|answer| *answer == label) {
                best_ns[index] = best_ns[index].min(sent[index].elapsed().as_nanos() as u64);
            }
        })?;
        Ok(())
    }

    fn pong(&self, to: usize) -> Result<()> {
        loop {
            let mut mailbox = Mailbox::new(self.abi);
            mailbox.receive(self.comm, 1, to, PING)?;
            let is_last = self.wait(&mut mailbox, |_| {})? != [0];
            mailbox.send(self.comm, vec![0], to, PONG)?;
            self.wait(&mut mailbox, |_| {})?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Rates between clusters, by the first rank of each, one pair after the other; rank 0 gets them all.
    fn rates(&self, firsts: &[usize], distances: &mut Distances) -> Result<()> {
        let me = self.speakers[self.host];
        for from in 0..firsts.len() {
            for to in from + 1..firsts.len() {
                let round_trip_ns = distances.round_trip_ns(from as u64, to as u64);
                let mut rate = 0;
                for _ in 0..BURSTS {
                    rate = rate.max(self.burst(firsts[from], firsts[to], round_trip_ns)?);
                }
                // The sender knows the rate; rank 0, which is the first of the first cluster, wants it.
                let mut mailbox = Mailbox::new(self.abi);
                if me == firsts[from] && from > 0 {
                    mailbox.send(self.comm, to_bytes(&[rate]), firsts[0], RATE)?;
                }
                if me == firsts[0] && from > 0 {
                    mailbox.receive(self.comm, size_of::<u64>(), firsts[from], RATE)?;
                }
                let letter = to_numbers(&self.wait(&mut mailbox, |_| {})?);
                distances.set_rate(from, to, letter.first().copied().unwrap_or(rate));
            }
        }
        Ok(())
    }

    /// Bytes a second, at the sender: what an answer to all takes beyond a round trip.
    fn burst(&self, from: usize, to: usize, round_trip_ns: u64) -> Result<u64> {
        let me = self.speakers[self.host];
        let mut mailbox = Mailbox::new(self.abi);
        if me == to {
            for _ in 0..BURST_MESSAGES {
                mailbox.receive(self.comm, BURST_BYTES, from, BURST)?;
            }
            self.wait(&mut mailbox, |_| {})?;
            mailbox.send(self.comm, vec![0], from, PONG)?;
            self.wait(&mut mailbox, |_| {})?;
        }
        if me != from {
            return Ok(0);
        }
        mailbox.receive(self.comm, 1, to, PONG)?;
        let begin = Instant::now();
        for _ in 0..BURST_MESSAGES {
            mailbox.send(self.comm, vec![0; BURST_BYTES], to, BURST)?;
        }
        self.wait(&mut mailbox, |_| {})?;
        let transfer_ns = (begin.elapsed().as_nanos() as u64).saturating_sub(round_trip_ns).max(1);
        Ok((BURST_MESSAGES * BURST_BYTES) as u64 * 1_000_000_000 / transfer_ns)
    }

    /// The last letter, when all is done; `seen` is told the labels as letters come.
    fn wait(&self, mailbox: &mut Mailbox, mut seen: impl FnMut(usize)) -> Result<Vec<u8>> {
        let mut last = Vec::new();
        let begin = Instant::now();
        while !mailbox.is_empty() {
            for (label, letter) in mailbox.done()? {
                seen(label);
                last = letter;
            }
            if begin.elapsed() < ATTENTION {
                thread::yield_now();
            } else {
                thread::sleep(NAP);
            }
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
