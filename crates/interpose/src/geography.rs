//! Where the ranks of MPI_COMM_WORLD are: found out when MPI starts.

use std::time::Duration;

use fishplate_collectives::{Inside, Network, Place, Wan};

use crate::clusters::Clusters;
use crate::distances::{Distances, to_bytes, to_numbers};
use crate::ffi::{Abi, Comm, Mailbox, Result, host_name};
use crate::survey;

/// Where everybody is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geography {
    /// Of each rank.
    pub places: Vec<Place>,
    /// What is between clusters.
    pub distances: Distances,
}

/// Tags of the first messages, which are on MPI_COMM_WORLD itself: the highest that MPI guarantees, which programs
/// hardly use, and not before all MPI_Init have returned.
const HELLO: i32 = 32767;
const VERDICT: i32 = 32766;

/// Room for the name of a host, with its length in front.
const NAME_BYTES: usize = 256;

/// How long a process sleeps that has only to wait, so that those that measure have processors.
const NAP: Duration = Duration::from_micros(200);
/// Naps until rank 0 no longer waits for ranks of which nothing is heard: they have not loaded this library. Counted, not
/// timed, so that a stopped machine does no harm; 10 s or more.
const MOST_NAPS: u32 = 50_000;

/// What a rank is told when all have said hello.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Off = 0,
    Measure = 1,
    Given = 2,
}

/// Finds out; nothing when all is one cluster, or when a part of the program is without this library. All ranks call
/// this. The communicator is `world`'s twin.
pub fn explore(abi: &'static Abi, given: Option<&Clusters>) -> Result<Option<(Comm, Geography, Vec<String>)>> {
    let world = Comm::world(abi);
    let (rank, ranks) = (world.rank()?, world.size()?);
    if ranks == 1 {
        return Ok(None);
    }
    let mut names = Vec::new();
    let mut clusters = None;
    let verdict = if rank == 0 {
        let heard;
        (heard, names) = hear(abi, world, ranks)?;
        let verdict = judge(&names, ranks, given, &mut clusters);
        tell(abi, world, &heard, verdict)?;
        verdict
    } else {
        say_hello(abi, world)?
    };
    if verdict == Verdict::Off {
        return Ok(None);
    }
    let comm = world.twin(abi)?;
    let hosts = share(abi, comm, rank, 0, ranks, || numbers_of(&names))?;
    let found = match verdict {
        Verdict::Given => {
            let clusters = share(abi, comm, rank, 0, ranks, || clusters.unwrap_or_default())?;
            survey::between(abi, comm, rank, &hosts, clusters)?
        }
        _ => survey::explore(abi, comm, rank, &hosts)?,
    };
    // What rank 0 knows counts: everybody must decide alike.
    let header = share(abi, comm, rank, 0, 1, || vec![found.as_ref().map_or(0, |found| found.encode().len() as u64)])?;
    let encoded =
        share(abi, comm, rank, 0, header[0] as usize, || found.map(|found| found.encode()).unwrap_or_default())?;
    let Some((clusters, distances)) = Distances::decode(&encoded, ranks) else {
        comm.free();
        return Ok(None);
    };
    let place = |(cluster, host): (&u64, &u64)| Place { cluster: *cluster, host: *host };
    let places = clusters.iter().zip(&hosts).map(place).collect();
    Ok(Some((comm, Geography { places, distances }, names)))
}

/// Rank 0: the ranks that are heard of, and their hosts.
fn hear(abi: &'static Abi, world: Comm, ranks: usize) -> Result<(Vec<usize>, Vec<String>)> {
    let mut mailbox = Mailbox::new(abi);
    for rank in 1..ranks {
        mailbox.receive(world, NAME_BYTES, rank, HELLO)?;
    }
    let mut names = vec![None; ranks];
    names[0] = Some(host_name());
    let mut naps = 0;
    while !mailbox.is_empty() && naps < MOST_NAPS {
        for (label, letter) in mailbox.done()? {
            let len = usize::from(letter[0]).min(NAME_BYTES - 1);
            names[label + 1] = Some(String::from_utf8_lossy(&letter[1..=len]).into_owned());
        }
        std::thread::sleep(NAP);
        naps += 1;
    }
    if !mailbox.is_empty() {
        mailbox.cancel()?;
        nap_until_done(&mut mailbox)?;
    }
    Ok(names.into_iter().enumerate().filter_map(|(rank, name)| Some((rank, name?))).unzip())
}

fn judge(names: &[String], ranks: usize, given: Option<&Clusters>, clusters: &mut Option<Vec<u64>>) -> Verdict {
    if names.len() < ranks {
        crate::tell::tell(format_args!(
            "{} of {ranks} ranks have not loaded this library: all collective operations are the MPI's own",
            ranks - names.len()
        ));
        return Verdict::Off;
    }
    match given.map(|given| given.of_ranks(names)) {
        None if numbers_of(names).iter().all(|host| *host == 0) => Verdict::Off,
        None => Verdict::Measure,
        Some(Ok(found)) if found.iter().all(|cluster| *cluster == found[0]) => Verdict::Off,
        Some(Ok(found)) => {
            *clusters = Some(found.into_iter().map(|cluster| cluster as u64).collect());
            Verdict::Given
        }
        Some(Err(problem)) => {
            crate::tell::tell(format_args!(
                "FISHPLATE_CLUSTERS: {problem}: all collective operations are the MPI's own"
            ));
            Verdict::Off
        }
    }
}

fn tell(abi: &'static Abi, world: Comm, ranks: &[usize], verdict: Verdict) -> Result<()> {
    let mut mailbox = Mailbox::new(abi);
    for rank in ranks.iter().filter(|rank| **rank != 0) {
        mailbox.send(world, vec![verdict as u8], *rank, VERDICT)?;
    }
    nap_until_done(&mut mailbox).map(|_| ())
}

fn say_hello(abi: &'static Abi, world: Comm) -> Result<Verdict> {
    let name = host_name();
    let len = name.len().min(NAME_BYTES - 1);
    let mut letter = vec![0; NAME_BYTES];
    letter[0] = len as u8;
    letter[1..=len].copy_from_slice(&name.as_bytes()[..len]);
    let mut mailbox = Mailbox::new(abi);
    mailbox.send(world, letter, 0, HELLO)?;
    let verdict = mailbox.receive(world, 1, 0, VERDICT)?;
    let letters = nap_until_done(&mut mailbox)?;
    let value = letters.into_iter().find(|(label, _)| *label == verdict).map(|(_, letter)| letter[0]);
    Ok(match value {
        Some(1) => Verdict::Measure,
        Some(2) => Verdict::Given,
        _ => Verdict::Off,
    })
}

/// Numbers that one rank has, for all.
fn share(
    abi: &'static Abi,
    comm: Comm,
    rank: usize,
    root: usize,
    len: usize,
    make: impl FnOnce() -> Vec<u64>,
) -> Result<Vec<u64>> {
    if len == 0 {
        return Ok(Vec::new());
    }
    let letter = if rank == root { to_bytes(&make()) } else { vec![0; len * size_of::<u64>()] };
    let mut mailbox = Mailbox::new(abi);
    mailbox.broadcast(comm, letter, root)?;
    let letters = nap_until_done(&mut mailbox)?;
    Ok(letters.first().map_or(Vec::new(), |(_, letter)| to_numbers(letter)))
}

fn nap_until_done(mailbox: &mut Mailbox) -> Result<Vec<(usize, Vec<u8>)>> {
    let mut letters = Vec::new();
    loop {
        letters.extend(mailbox.done()?);
        if mailbox.is_empty() {
            return Ok(letters);
        }
        std::thread::sleep(NAP);
    }
}

/// As JSON.
fn list(numbers: impl Iterator<Item = Option<u64>>) -> String {
    let words: Vec<String> = numbers.map(|number| number.map_or("null".into(), |number| number.to_string())).collect();
    format!("[{}]", words.join(", "))
}

/// Equal names get equal numbers, from 0 in the order in which they come.
fn numbers_of(names: &[String]) -> Vec<u64> {
    let mut known: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    names
        .iter()
        .map(|name| {
            let next = known.len() as u64;
            *known.entry(name).or_insert(next)
        })
        .collect()
}

impl Geography {
    /// A line of JSON: hosts of each cluster, and what is between them.
    pub fn line(&self, names: &[String]) -> String {
        let clusters = self.distances.clusters() as u64;
        let of = |cluster| {
            let mut hosts: Vec<&str> = Vec::new();
            for (_, name) in self.places.iter().zip(names).filter(|(place, _)| place.cluster == cluster) {
                if !hosts.contains(&name.as_str()) {
                    hosts.push(name);
                }
            }
            hosts
        };
        let hosts: Vec<Vec<&str>> = (0..clusters).map(of).collect();
        let pairs = || (0..clusters).flat_map(|from| (from + 1..clusters).map(move |to| (from, to)));
        let distances = &self.distances;
        let mb = |bytes_per_s: u64| bytes_per_s / 1_000_000;
        let round_trips: Vec<u64> = pairs().map(|(from, to)| distances.round_trip_ns(from, to) / 1000).collect();
        let rates: Vec<u64> = pairs().map(|(from, to)| mb(distances.bytes_per_s(from, to))).collect();
        let shared = list(pairs().map(|(from, to)| distances.shared_bytes_per_s(from, to).map(mb)));
        let near = || (0..clusters).map(|cluster| distances.near(cluster));
        let latencies = list(near().map(|near| near.map(|near| near.latency_ns / 1000)));
        let inside = list(near().map(|near| near.map(|near| mb(near.bytes_per_s))));
        let inside_shared = list(near().map(|near| near.map(|near| mb(near.shared_bytes_per_s))));
        format!(
            "{{\"hosts\":{hosts:?},\"round_trips_us\":{round_trips:?},\"rates_mb_per_s\":{rates:?},\"shared_mb_per_s\":\
             {shared},\"inside_latencies_us\":{latencies},\"inside_mb_per_s\":{inside},\"inside_shared_mb_per_s\":\
             {inside_shared}}}\n"
        )
    }

    /// What is known of the network of these clusters.
    pub fn network(&self, clusters: &[u64]) -> Network {
        let wan = |(from, to): (u64, u64)| Wan {
            round_trip_ns: self.distances.round_trip_ns(from, to),
            host_bytes_per_s: self.distances.bytes_per_s(from, to),
            shared_bytes_per_s: self.distances.shared_bytes_per_s(from, to),
        };
        let inside = |cluster: &u64| match self.distances.near(*cluster) {
            Some(near) => Inside {
                latency_ns: near.latency_ns,
                bytes_per_s: near.bytes_per_s,
                shared_bytes_per_s: Some(near.shared_bytes_per_s.max(near.bytes_per_s)),
                ..Inside::UNMEASURED
            },
            None => Inside::UNMEASURED,
        };
        let pairs = clusters.iter().flat_map(|from| clusters.iter().map(|to| (*from, *to)));
        Network::new(clusters.iter().map(inside).collect(), pairs.map(wan).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_numbers_in_their_order() {
        let names: Vec<String> = ["b", "a", "b", "c"].map(String::from).to_vec();
        assert_eq!(numbers_of(&names), [0, 1, 0, 2]);
    }

    #[test]
    fn one_cluster_needs_nothing() {
        let names: Vec<String> = ["a", "b"].map(String::from).to_vec();
        let mut clusters = None;
        let judged = |text: &str, clusters: &mut Option<Vec<u64>>| {
            judge(&names, 2, Some(&Clusters::parse(text).unwrap()), clusters)
        };
        assert!(judged("a,b", &mut clusters) == Verdict::Off);
        assert!(judged("a;b", &mut clusters) == Verdict::Given);
        assert_eq!(clusters, Some(vec![0, 1]));
        assert!(judge(&names[..1], 2, None, &mut None) == Verdict::Off);
        assert!(judge(&names, 2, None, &mut None) == Verdict::Measure);
    }
}
