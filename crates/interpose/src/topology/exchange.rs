//! The messages at startup: rank 0 collects the names of hosts, decides, and tells all ranks the topology.

use std::time::Duration;

use fishplate_collectives::Place;

use super::discovery;
use super::estimates::{Estimates, to_bytes, to_numbers};
use super::map::Topology;
use super::named_clusters::NamedClusters;
use crate::ffi::{Abi, Comm, Mailbox, Result, host_name};

/// Tags of the first messages, which are on MPI_COMM_WORLD itself: the highest that MPI guarantees, which programs
/// hardly use, and not before all MPI_Init have returned.
const HOST_NAME: i32 = 32767;
const DECISION: i32 = 32766;

/// Room for the name of a host, with its length in front.
const NAME_BYTES: usize = 256;

/// How long a process sleeps that has only to wait, so that those that measure have processors.
const SLEEP: Duration = Duration::from_micros(200);
/// Sleeps after which rank 0 no longer waits for ranks that send nothing: they have not loaded this library. Counted, not
/// timed, so that a stopped machine does no harm; 10 s or more.
const MOST_SLEEPS: u32 = 50_000;

/// What rank 0 tells each rank when all have sent their names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Off = 0,
    Measure = 1,
    Named = 2,
}

/// Finds out where ranks are; nothing when all are in one cluster, or when a part of the program is without this
/// library. All ranks call this. The communicator is `world`'s twin.
pub fn discover(abi: &'static Abi, named: Option<&NamedClusters>) -> Result<Option<(Comm, Topology, Vec<String>)>> {
    let world = Comm::world(abi);
    let (rank, ranks) = (world.rank()?, world.size()?);
    if ranks == 1 {
        return Ok(None);
    }
    let mut names = Vec::new();
    let mut clusters = None;
    let decision = if rank == 0 {
        let answered;
        (answered, names) = collect_host_names(abi, world, ranks)?;
        let decision = decide(&names, ranks, named, &mut clusters);
        send_decision(abi, world, &answered, decision)?;
        decision
    } else {
        send_host_name(abi, world)?
    };
    if decision == Decision::Off {
        return Ok(None);
    }
    let comm = world.twin(abi)?;
    let hosts = broadcast(abi, comm, rank, 0, ranks, || host_numbers(&names))?;
    let found = match decision {
        Decision::Named => {
            let clusters = broadcast(abi, comm, rank, 0, ranks, || clusters.unwrap_or_default())?;
            discovery::measure_between(abi, comm, rank, &hosts, clusters)?
        }
        _ => discovery::discover_clusters(abi, comm, rank, &hosts)?,
    };
    // What rank 0 knows counts: everybody must decide alike.
    let header =
        broadcast(abi, comm, rank, 0, 1, || vec![found.as_ref().map_or(0, |found| found.encode().len() as u64)])?;
    let encoded =
        broadcast(abi, comm, rank, 0, header[0] as usize, || found.map(|found| found.encode()).unwrap_or_default())?;
    let Some((clusters, estimates)) = Estimates::decode(&encoded, ranks) else {
        comm.free();
        return Ok(None);
    };
    let place = |(cluster, host): (&u64, &u64)| Place { cluster: *cluster, host: *host };
    let places = clusters.iter().zip(&hosts).map(place).collect();
    Ok(Some((comm, Topology { places, estimates }, names)))
}

/// Rank 0: the ranks that have sent their names, and these names.
fn collect_host_names(abi: &'static Abi, world: Comm, ranks: usize) -> Result<(Vec<usize>, Vec<String>)> {
    let mut mailbox = Mailbox::new(abi);
    for rank in 1..ranks {
        mailbox.receive(world, NAME_BYTES, rank, HOST_NAME)?;
    }
    let mut names = vec![None; ranks];
    names[0] = Some(host_name());
    let mut sleeps = 0;
    while !mailbox.is_empty() && sleeps < MOST_SLEEPS {
        for (label, message) in mailbox.completed()? {
            let len = usize::from(message[0]).min(NAME_BYTES - 1);
            names[label + 1] = Some(String::from_utf8_lossy(&message[1..=len]).into_owned());
        }
        std::thread::sleep(SLEEP);
        sleeps += 1;
    }
    if !mailbox.is_empty() {
        mailbox.cancel()?;
        sleep_until_complete(&mut mailbox)?;
    }
    Ok(names.into_iter().enumerate().filter_map(|(rank, name)| Some((rank, name?))).unzip())
}

fn decide(names: &[String], ranks: usize, named: Option<&NamedClusters>, clusters: &mut Option<Vec<u64>>) -> Decision {
    if names.len() < ranks {
        fishplate_guest::report(format_args!(
            "{} of {ranks} ranks have not loaded this library: all collective operations are the MPI's own",
            ranks - names.len()
        ));
        return Decision::Off;
    }
    match named.map(|named| named.of_ranks(names)) {
        None if host_numbers(names).iter().all(|host| *host == 0) => Decision::Off,
        None => Decision::Measure,
        Some(Ok(found)) if found.iter().all(|cluster| *cluster == found[0]) => Decision::Off,
        Some(Ok(found)) => {
            *clusters = Some(found.into_iter().map(|cluster| cluster as u64).collect());
            Decision::Named
        }
        Some(Err(problem)) => {
            fishplate_guest::report(format_args!(
                "FISHPLATE_CLUSTERS: {problem}: all collective operations are the MPI's own"
            ));
            Decision::Off
        }
    }
}

fn send_decision(abi: &'static Abi, world: Comm, ranks: &[usize], decision: Decision) -> Result<()> {
    let mut mailbox = Mailbox::new(abi);
    for rank in ranks.iter().filter(|rank| **rank != 0) {
        mailbox.send(world, vec![decision as u8], *rank, DECISION)?;
    }
    sleep_until_complete(&mut mailbox).map(|_| ())
}

fn send_host_name(abi: &'static Abi, world: Comm) -> Result<Decision> {
    let name = host_name();
    let len = name.len().min(NAME_BYTES - 1);
    let mut message = vec![0; NAME_BYTES];
    message[0] = len as u8;
    message[1..=len].copy_from_slice(&name.as_bytes()[..len]);
    let mut mailbox = Mailbox::new(abi);
    mailbox.send(world, message, 0, HOST_NAME)?;
    let decision = mailbox.receive(world, 1, 0, DECISION)?;
    let messages = sleep_until_complete(&mut mailbox)?;
    let value = messages.into_iter().find(|(label, _)| *label == decision).map(|(_, message)| message[0]);
    Ok(match value {
        Some(1) => Decision::Measure,
        Some(2) => Decision::Named,
        _ => Decision::Off,
    })
}

/// Broadcasts numbers that one rank has.
fn broadcast(
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
    let message = if rank == root { to_bytes(&make()) } else { vec![0; len * size_of::<u64>()] };
    let mut mailbox = Mailbox::new(abi);
    mailbox.broadcast(comm, message, root)?;
    let messages = sleep_until_complete(&mut mailbox)?;
    Ok(messages.first().map_or(Vec::new(), |(_, message)| to_numbers(message)))
}

fn sleep_until_complete(mailbox: &mut Mailbox) -> Result<Vec<(usize, Vec<u8>)>> {
    let mut messages = Vec::new();
    loop {
        messages.extend(mailbox.completed()?);
        if mailbox.is_empty() {
            return Ok(messages);
        }
        std::thread::sleep(SLEEP);
    }
}

/// Equal names get equal numbers, from 0 in the order in which they come.
fn host_numbers(names: &[String]) -> Vec<u64> {
    let mut known: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    names
        .iter()
        .map(|name| {
            let next = known.len() as u64;
            *known.entry(name).or_insert(next)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_numbers_in_their_order() {
        let names: Vec<String> = ["b", "a", "b", "c"].map(String::from).to_vec();
        assert_eq!(host_numbers(&names), [0, 1, 0, 2]);
    }

    #[test]
    fn one_cluster_needs_nothing() {
        let names: Vec<String> = ["a", "b"].map(String::from).to_vec();
        let mut clusters = None;
        let decided = |text: &str, clusters: &mut Option<Vec<u64>>| {
            decide(&names, 2, Some(&NamedClusters::parse(text).unwrap()), clusters)
        };
        assert!(decided("a,b", &mut clusters) == Decision::Off);
        assert!(decided("a;b", &mut clusters) == Decision::Named);
        assert_eq!(clusters, Some(vec![0, 1]));
        assert!(decide(&names[..1], 2, None, &mut None) == Decision::Off);
        assert!(decide(&names, 2, None, &mut None) == Decision::Measure);
    }
}
