//! Makes a profile from the recordings of ranks.

use std::collections::BTreeMap;

use fishplate_host::Labels;
use fishplate_profile::rank_file::size;
use fishplate_profile::read::{self, Current, State};
use fishplate_profile::series_file::STEP_NS;
use fishplate_profile::{calls, sizes};

use super::clocks::Clocks;
use super::late::{self, Waiting};
use super::places::Places;
use super::raw::{Raw, RawRank};
use super::schema::{Call, Column, Counts, End, Peer, Profile, Rank, SCHEMA, Series, Site, Size, Way, World};

/// Totals of the program.
pub fn profile(mut raw: Raw, exit_code: Option<u8>) -> Profile {
    label_hosts(&mut raw);
    Profile {
        schema: SCHEMA.into(),
        fishplate: env!("CARGO_PKG_VERSION").into(),
        unseen: Vec::new(),
        command: raw.launch.command,
        started: raw.launch.started,
        exit_code,
        worlds: worlds(raw.ranks).into_iter().map(world).collect(),
        hosts: raw.hosts.into_iter().map(series).collect(),
        unreadable: raw.unreadable,
    }
}

/// Hosts with equal names get numbers in the order of ranks.
fn label_hosts(raw: &mut Raw) {
    let mut ranks: Vec<&RawRank> = raw.ranks.iter().collect();
    ranks.sort_by_key(|rank| rank.counts.rank);
    let of_ranks = ranks.iter().map(|rank| (rank.counts.host_id, rank.counts.host.as_str()));
    let labels = Labels::of(of_ranks.chain(raw.hosts.iter().map(|series| (series.host_id, series.host.as_str()))));
    for RawRank { counts, .. } in &mut raw.ranks {
        counts.host = labels.label(counts.host_id, &counts.host);
    }
    let of_ranks = raw.ranks.iter_mut().filter_map(|rank| rank.series.as_mut());
    of_ranks.chain(&mut raw.hosts).for_each(|series| series.host = labels.label(series.host_id, &series.host));
}

/// `raw` are its ranks, at least one.
fn world(raw: Vec<RawRank>) -> World {
    let clocks = Clocks::estimate(&raw);
    let waiting = late::waiting(&raw, &clocks);
    let mut programs: Vec<String> = Vec::new();
    for rank in &raw {
        if !programs.contains(&rank.counts.program) {
            programs.push(rank.counts.program.clone());
        }
    }
    let (size, library) = (raw[0].counts.ranks, raw[0].counts.library.clone());
    let mut places = Places::default();
    let ranks = raw.into_iter().zip(&waiting).map(|(raw, waiting)| rank(raw, waiting, &mut places)).collect();
    World { size, programs, library, clocks: clocks.all, places: places.all, ranks, absent: Vec::new() }
}

fn rank(raw: RawRank, waiting: &Waiting, places: &mut Places) -> Rank {
    let ended_ns = raw.ended_ns;
    let counts = raw.counts;
    let run_ns = ended_ns.saturating_sub(counts.started_ns);
    Rank {
        end: end(&counts, ended_ns, places),
        rank: counts.rank,
        host: counts.host.clone(),
        host_id: Some(counts.host_id),
        pid: counts.pid,
        started_ns: counts.started_realtime_ns,
        run_ns,
        in_mpi_ns: counts.in_mpi_ns.min(run_ns.saturating_mul(counts.threads.max(1))),
        paused_ns: counts.paused_ns,
        threads: counts.threads,
        hidden_ns: counts.hidden_ns,
        waited_ns: counts.waited_ns,
        late: waiting.late,
        lost: counts.lost,
        calls: used_calls(&counts, waiting),
        sites: used_sites(&counts, places),
        sizes: used_sizes(&counts),
        peers: peers(&counts),
        foreign: counts.foreign,
        communicators: counts.communicators,
        series: raw.series.map(series),
    }
}

fn end(counts: &read::Rank, ended_ns: u64, places: &mut Places) -> End {
    match counts.state {
        State::Finalized => End::Finalized,
        State::Aborted(code) => End::Aborted(code),
        State::Running => match counts.current {
            Some(Current { call, since_ns, caller }) => End::Unfinished {
                call: Some(name(call)),
                place: Some(places.find(caller, &counts.modules)),
                for_ns: ended_ns.saturating_sub(since_ns),
            },
            None => End::Unfinished { call: None, place: None, for_ns: ended_ns.saturating_sub(counts.last_ns) },
        },
    }
}

fn used_calls(counts: &read::Rank, waiting: &Waiting) -> Vec<Call> {
    let used = counts.calls.iter().enumerate().filter(|(_, counts)| counts.count > 0);
    let call = |(call, calls): (usize, &Counts)| {
        let (errors, late_ns) = (counts.errors[call], waiting.by_call_ns[call]);
        Call { call: name(call), counts: *calls, errors, late_ns }
    };
    used.map(call).collect()
}

/// Sites at one place are added up.
fn used_sites(counts: &read::Rank, places: &mut Places) -> Vec<Site> {
    let mut sites: BTreeMap<(usize, usize), Counts> = BTreeMap::new();
    for site in &counts.sites {
        let place = places.find(site.caller, &counts.modules);
        sites.entry((place, site.call)).or_default().add(&site.counts);
    }
    sites.into_iter().map(|((place, call), counts)| Site { call: name(call), place, counts }).collect()
}

fn used_sizes(counts: &read::Rank) -> Vec<Size> {
    const WAYS: [(usize, Way); size::KINDS] = [
        (size::SENT, Way::Sent),
        (size::RECEIVED, Way::Received),
        (size::COLLECTIVE, Way::Collective),
        (size::ONE_SIDED, Way::OneSided),
        (size::FILE, Way::File),
    ];
    let of = |(kind, way): (usize, Way)| {
        let classes = counts.sizes[kind].iter().enumerate();
        classes.map(move |(class, &(messages, bytes))| Size { way, least: sizes::least(class), messages, bytes })
    };
    WAYS.into_iter().flat_map(of).filter(|size| size.messages > 0).collect()
}

fn peers(counts: &read::Rank) -> Vec<Peer> {
    let peers = counts.peers.iter().enumerate().filter(|(_, peer)| peer.sent > 0 || peer.received > 0);
    peers.map(|(rank, traffic)| Peer { rank, traffic: *traffic }).collect()
}

fn name(call: usize) -> String {
    calls::table()[call].name.clone()
}

fn series(read: read::Series) -> Series {
    let columns = read.names.into_iter().zip(read.columns).map(|(name, data)| Column { name, data }).collect();
    let host_id = Some(read.host_id);
    Series { host: read.host, host_id, step_ns: STEP_NS, first_step: read.first_step, is_cut: read.is_cut, columns }
}

/// Splits processes, in the order of their start, into their worlds.
///
/// A world has a number if its MPI provides one. Among processes with equal numbers and sizes of world, a second
/// process with one rank begins another world: the program was run again.
fn worlds(ranks: Vec<RawRank>) -> Vec<Vec<RawRank>> {
    let mut worlds: Vec<Vec<RawRank>> = Vec::new();
    for rank in ranks {
        let own = &rank.counts;
        let fits = |world: &Vec<RawRank>| {
            let first = &world[0].counts;
            let is_same = first.world == own.world && first.ranks == own.ranks;
            is_same && world.iter().all(|other| other.counts.rank != own.rank)
        };
        match worlds.iter_mut().find(|world| fits(world)) {
            Some(world) => world.push(rank),
            None => worlds.push(vec![rank]),
        }
    }
    for world in &mut worlds {
        world.sort_by_key(|rank| rank.counts.rank);
    }
    worlds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::print;
    use crate::profile::summary;
    use crate::profile::test_ranks::{call, host_id, rank};

    fn of(ranks: Vec<RawRank>) -> Profile {
        profile(Raw { ranks, ..Raw::default() }, Some(0))
    }

    #[test]
    fn hosts_are_distinguished_by_more_than_names() {
        let at = |number: usize, name: &str, host: &str| {
            let mut rank = rank(number, 4);
            (rank.counts.host, rank.counts.host_id, rank.counts.pid) = (name.into(), host_id(host), 1);
            rank
        };
        let series = |name: &str, host: &str| read::Series {
            rank: None,
            host: name.into(),
            host_id: host_id(host),
            first_step: 0,
            is_cut: false,
            names: vec!["eth0 sent".into(), "eth0 received".into()],
            columns: vec![vec![5], vec![5]],
        };
        let ranks = vec![at(3, "node", "y"), at(0, "node", "x"), at(1, "node", "x"), at(2, "alias", "x")];
        let hosts = vec![series("node", "y"), series("node", "x")];
        let profile = profile(Raw { ranks, hosts, ..Raw::default() }, Some(0));
        let world = &profile.worlds[0];
        let names: Vec<&str> = world.ranks.iter().map(|rank| rank.host.as_str()).collect();
        assert_eq!((summary::hosts(world), names), (2, vec!["node (1)", "node (1)", "alias", "node (2)"]));
        let names: Vec<&str> = profile.hosts.iter().map(|series| series.host.as_str()).collect();
        assert_eq!(names, ["node (2)", "node (1)"]);
        let shown = print::table::render(&profile, 8);
        assert!(shown.contains("4 ranks on 2 hosts") && shown.contains("node (2)"), "{shown}");
        // A record of before has names alone.
        let mut before = world.clone();
        before.ranks.iter_mut().for_each(|rank| rank.host_id = None);
        assert_eq!(summary::hosts(&before), 3);
    }

    #[test]
    fn sites_on_one_line_are_one() {
        let mut one = rank(0, 1);
        let counts = Counts { count: 2, time_ns: 10, longest_ns: 7, sent: 5, received: 0 };
        for caller in [0x500, 0x500, 0x600] {
            one.counts.sites.push(read::Site { call: call("MPI_Send"), caller, counts });
        }
        let world = &of(vec![one]).worlds[0];
        assert_eq!((world.places.len(), world.ranks[0].sites.len()), (2, 2));
        let sum = world.ranks[0].sites[0].counts;
        assert_eq!((sum.count, sum.time_ns, sum.longest_ns, sum.sent), (4, 20, 7, 10));
    }

    #[test]
    fn programs_that_run_again_and_others_are_distinguished() {
        let mut ranks = vec![rank(0, 2), rank(1, 2), rank(0, 3), rank(1, 2), rank(0, 2)];
        ranks.push(rank(1, 3));
        let sizes: Vec<(usize, usize)> = of(ranks).worlds.iter().map(|w| (w.size, w.ranks.len())).collect();
        assert_eq!(sizes, [(2, 2), (3, 2), (2, 2)]);
        // Programs that run concurrently are distinguished by their numbers.
        let mut ranks = vec![rank(0, 2), rank(0, 2), rank(1, 2), rank(1, 2)];
        for (number, rank) in ranks.iter_mut().enumerate() {
            rank.counts.world = 1 + u64::from(number == 1 || number == 2);
            rank.counts.pid = number as u64;
        }
        let pids = |world: &World| world.ranks.iter().map(|rank| rank.pid).collect::<Vec<_>>();
        assert_eq!(of(ranks).worlds.iter().map(pids).collect::<Vec<_>>(), [[0, 3], [1, 2]]);
    }

    #[test]
    fn any_numbers_can_be_shown() {
        let mut one = rank(0, 2);
        let [count, time_ns, longest_ns, sent] = [u64::MAX; 4];
        let most = Counts { count, time_ns, longest_ns, sent, received: 0 };
        one.counts.calls.fill(most);
        one.counts.sizes.iter_mut().for_each(|sizes| sizes.fill((u64::MAX, u64::MAX)));
        one.counts.peers.fill(read::Traffic { sent, sent_bytes: sent, received: 1, received_bytes: 1 });
        (one.counts.in_mpi_ns, one.counts.threads, one.counts.hidden_ns) = (u64::MAX, u64::MAX, u64::MAX);
        let mut other = rank(1, 2);
        other.counts.calls.fill(most);
        other.counts.last_ns = u64::MAX;
        let profile = of(vec![one, other]);
        assert!(print::table::render(&profile, 3).contains("app: 2 ranks"));
        assert!(print::page::render(&profile).contains("Profile of app"));
        let text = serde_json::to_string(&profile).unwrap();
        assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
    }
}
