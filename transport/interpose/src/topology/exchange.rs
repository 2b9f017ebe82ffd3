//! The messages at startup: rank 0 collects the hosts of all ranks, decides, and sends the topology to all ranks.

use std::collections::BTreeMap;
use std::time::Duration;

use fishplate_collectives::Place;
use fishplate_host::{Host, HostId, Labels};

use super::discovery;
use super::estimates::{Estimates, to_bytes, to_numbers};
use super::map::Topology;
use super::named_clusters::NamedClusters;
use super::probe::Prober;
use crate::ffi::{Abi, Comm, Mailbox, Result, host_name};

/// Tags of the first messages, which use MPI_COMM_WORLD itself: the highest tags that MPI guarantees. Programs hardly use
/// them, and not before all MPI_Init have returned.
const HOST: i32 = 32767;
const DECISION: i32 = 32766;

/// Length of a rank's message about its host: identity, length of the name, name.
const HOST_BYTES: usize = HostId::LEN + 1 + MAX_NAME_LEN;
const MAX_NAME_LEN: usize = 255;

/// Sleep time of processes that only wait, so that measuring processes have processors.
const SLEEP: Duration = Duration::from_micros(200);
/// Number of sleeps after which rank 0 gives up on ranks that send no message, usually as they did not load this library. At
/// least 10 s. Counted instead of timed, so that the suspension of a machine does no harm.
const MAX_SLEEPS: u32 = 50_000;

struct RankHost {
    id: u64,
    name: String,
}

/// Decision of rank 0 after all ranks sent their hosts.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Off,
    Measure,
    /// The cluster of each rank, which only rank 0 knows.
    Named(Vec<u64>),
}

/// Discovers the topology; `None` if all ranks are in one cluster, or some ranks did not load this library. Collective. The
/// communicator returned is a duplicate of MPI_COMM_WORLD.
pub fn discover(abi: &'static Abi, named: Option<&NamedClusters>) -> Result<Option<(Comm, Topology, Vec<String>)>> {
    let world = Comm::world(abi);
    let (rank, ranks) = (world.rank()?, world.size()?);
    if ranks == 1 {
        return Ok(None);
    }
    let mut known = Vec::new();
    let decision = if rank == 0 {
        let answered;
        (answered, known) = collect_hosts(abi, world, ranks)?;
        let decision = decide(&known, ranks, named);
        send_decision(abi, world, &answered, &decision)?;
        decision
    } else {
        send_host(abi, world)?
    };
    if decision == Decision::Off {
        return Ok(None);
    }
    let comm = world.twin(abi)?;
    let prober = Prober { abi, comm, rank };
    let hosts = broadcast(prober, ranks, host_numbers(&known))?;
    let found = match decision {
        Decision::Named(clusters) => discovery::measure_between(prober, &hosts, broadcast(prober, ranks, clusters)?)?,
        _ => discovery::discover_clusters(prober, &hosts)?,
    };
    // Rank 0's settings apply, as all ranks must decide equally.
    let encoded = found.map(|found| found.encode()).unwrap_or_default();
    let length = broadcast(prober, 1, vec![encoded.len() as u64])?;
    let encoded = broadcast(prober, length[0] as usize, encoded)?;
    let Some((clusters, estimates)) = Estimates::decode(&encoded, ranks) else {
        comm.free();
        return Ok(None);
    };
    let place = |(cluster, host): (&u64, &u64)| Place { cluster: *cluster, host: *host };
    let places = clusters.iter().zip(&hosts).map(place).collect();
    Ok(Some((comm, Topology { places, estimates }, labels(&known))))
}

/// At rank 0: the ranks that sent their hosts, and these hosts.
fn collect_hosts(abi: &'static Abi, world: Comm, ranks: usize) -> Result<(Vec<usize>, Vec<RankHost>)> {
    let mut mailbox = Mailbox::new(abi);
    for rank in 1..ranks {
        mailbox.receive(world, HOST_BYTES, rank, HOST)?;
    }
    let mut hosts: Vec<Option<RankHost>> = (0..ranks).map(|_| None).collect();
    hosts[0] = Some(RankHost::own());
    let mut sleeps = 0;
    while !mailbox.is_empty() && sleeps < MAX_SLEEPS {
        for (label, message) in mailbox.completed()? {
            hosts[label + 1] = RankHost::decode(&message);
        }
        std::thread::sleep(SLEEP);
        sleeps += 1;
    }
    if !mailbox.is_empty() {
        mailbox.cancel()?;
        sleep_until_complete(&mut mailbox)?;
    }
    Ok(hosts.into_iter().enumerate().filter_map(|(rank, host)| Some((rank, host?))).unzip())
}

fn decide(hosts: &[RankHost], ranks: usize, named: Option<&NamedClusters>) -> Decision {
    if hosts.len() < ranks {
        fishplate_guest::report(format_args!(
            "{} of {ranks} ranks have not said within 10 s where they are: all collective operations are the MPI's own",
            ranks - hosts.len()
        ));
        return Decision::Off;
    }
    let names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
    match named.map(|named| named.of_ranks(&names)) {
        None if host_numbers(hosts).iter().all(|host| *host == 0) => Decision::Off,
        None => Decision::Measure,
        Some(Ok(found)) if found.iter().all(|cluster| *cluster == found[0]) => Decision::Off,
        Some(Ok(found)) => Decision::Named(found.into_iter().map(|cluster| cluster as u64).collect()),
        Some(Err(problem)) => {
            fishplate_guest::report(format_args!(
                "FISHPLATE_CLUSTERS: {problem}: all collective operations are the MPI's own"
            ));
            Decision::Off
        }
    }
}

fn send_decision(abi: &'static Abi, world: Comm, ranks: &[usize], decision: &Decision) -> Result<()> {
    let mut mailbox = Mailbox::new(abi);
    for rank in ranks.iter().filter(|rank| **rank != 0) {
        mailbox.send(world, vec![decision.number()], *rank, DECISION)?;
    }
    sleep_until_complete(&mut mailbox).map(|_| ())
}

impl Decision {
    /// As it is sent.
    fn number(&self) -> u8 {
        match self {
            Decision::Off => 0,
            Decision::Measure => 1,
            Decision::Named(_) => 2,
        }
    }
}

impl RankHost {
    fn own() -> RankHost {
        RankHost { id: Host::own().id().number(), name: host_name() }
    }

    fn encode(&self) -> Vec<u8> {
        let name = &self.name.as_bytes()[..self.name.len().min(MAX_NAME_LEN)];
        let mut message = [&self.id.to_be_bytes()[..], &[name.len() as u8], name].concat();
        message.resize(HOST_BYTES, 0);
        message
    }

    fn decode(message: &[u8]) -> Option<RankHost> {
        let (id, rest) = message.split_first_chunk()?;
        let (len, rest) = rest.split_first()?;
        let name = String::from_utf8_lossy(rest.get(..usize::from(*len))?).into_owned();
        Some(RankHost { id: u64::from_be_bytes(*id), name })
    }
}

fn send_host(abi: &'static Abi, world: Comm) -> Result<Decision> {
    let mut mailbox = Mailbox::new(abi);
    mailbox.send(world, RankHost::own().encode(), 0, HOST)?;
    let decision = mailbox.receive(world, 1, 0, DECISION)?;
    let messages = sleep_until_complete(&mut mailbox)?;
    let value = messages.into_iter().find(|(label, _)| *label == decision).map(|(_, message)| message[0]);
    let all = [Decision::Measure, Decision::Named(Vec::new())];
    Ok(all.into_iter().find(|decision| Some(decision.number()) == value).unwrap_or(Decision::Off))
}

/// Broadcasts `len` numbers from rank 0; the numbers of other ranks are ignored.
fn broadcast(Prober { abi, comm, rank }: Prober, len: usize, numbers: Vec<u64>) -> Result<Vec<u64>> {
    if len == 0 {
        return Ok(Vec::new());
    }
    let message = if rank == 0 { to_bytes(&numbers) } else { vec![0; len * size_of::<u64>()] };
    let mut mailbox = Mailbox::new(abi);
    mailbox.broadcast(comm, message, 0)?;
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

/// Numbers hosts from 0 in the order of their first rank.
fn host_numbers(hosts: &[RankHost]) -> Vec<u64> {
    let mut known: BTreeMap<u64, u64> = BTreeMap::new();
    hosts
        .iter()
        .map(|host| {
            let next = known.len() as u64;
            *known.entry(host.id).or_insert(next)
        })
        .collect()
}

/// Name of the host of each rank, as sent by the host's first rank.
fn labels(hosts: &[RankHost]) -> Vec<String> {
    let mut first: BTreeMap<u64, &str> = BTreeMap::new();
    for host in hosts {
        first.entry(host.id).or_insert(&host.name);
    }
    let one = |host: &RankHost| Some((HostId::of_number(host.id)?, first[&host.id]));
    let labels = Labels::of(hosts.iter().filter_map(one));
    hosts.iter().map(|host| one(host).map_or_else(String::new, |(id, name)| labels.label(id, name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(known: &[(u64, &str)]) -> Vec<RankHost> {
        known.iter().map(|(id, name)| RankHost { id: *id, name: (*name).into() }).collect()
    }

    #[test]
    fn hosts_get_numbers_in_their_order() {
        let hosts = hosts(&[(7, "node"), (8, "node"), (7, "alias"), (9, "c")]);
        assert_eq!(host_numbers(&hosts), [0, 1, 0, 2]);
        assert_eq!(labels(&hosts), ["node (1)", "node (2)", "node (1)", "c"]);
    }

    #[test]
    fn facts_of_a_ranks_host_arrive() {
        for name in ["node", "", &"n".repeat(MAX_NAME_LEN)] {
            let message = RankHost { id: 5, name: name.into() }.encode();
            let RankHost { id, name: decoded } = RankHost::decode(&message).unwrap();
            assert_eq!((message.len(), id, decoded.as_str()), (HOST_BYTES, 5, name));
        }
        assert_eq!(RankHost { id: 5, name: "n".repeat(999) }.encode().len(), HOST_BYTES);
        assert!(RankHost::decode(&[0; 8]).is_none() && RankHost::decode(&[9; 12]).is_none());
    }

    #[test]
    fn one_cluster_needs_nothing() {
        let hosts = hosts(&[(1, "a"), (2, "b")]);
        let named = |text: &str| decide(&hosts, 2, Some(&NamedClusters::parse(text).unwrap()));
        assert_eq!([named("a,b"), named("a;b")], [Decision::Off, Decision::Named(vec![0, 1])]);
        assert_eq!(decide(&hosts[..1], 2, None), Decision::Off);
        assert_eq!(decide(&hosts, 2, None), Decision::Measure);
    }
}
