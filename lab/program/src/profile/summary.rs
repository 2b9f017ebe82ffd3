//! Ranks of a program added up.

use std::collections::{BTreeMap, BTreeSet};

use fishplate_profile::calls::{self, Group};
use fishplate_profile::sizes;

use super::schema::{self, Call, Communicator, Counts, Late, Profile, Rank, Series, Site, Way, World};

/// Number of the papers' classes of sizes.
pub const CLASSES: usize = sizes::PAPER_BOUNDS.len() + 1;

/// The calls of all ranks, those that took longest first.
pub fn calls(world: &World) -> Vec<Call> {
    let mut sums: BTreeMap<&str, Call> = BTreeMap::new();
    for row in world.ranks.iter().flat_map(|rank| &rank.calls) {
        let none = || Call { call: row.call.clone(), counts: Counts::default(), errors: 0, late_ns: 0 };
        let sum = sums.entry(&row.call).or_insert_with(none);
        sum.counts.add(&row.counts);
        sum.errors = sum.errors.saturating_add(row.errors);
        sum.late_ns = sum.late_ns.saturating_add(row.late_ns);
    }
    let mut sums: Vec<Call> = sums.into_values().collect();
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.counts.time_ns));
    sums
}

/// The sites of all ranks, those that took longest first.
pub fn sites(world: &World) -> Vec<Site> {
    let mut sums: BTreeMap<(usize, &str), Counts> = BTreeMap::new();
    for site in world.ranks.iter().flat_map(|rank| &rank.sites) {
        sums.entry((site.place, &site.call)).or_default().add(&site.counts);
    }
    let sum = |((place, call), counts): ((usize, &str), Counts)| Site { call: call.into(), place, counts };
    let mut sums: Vec<Site> = sums.into_iter().map(sum).collect();
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.counts.time_ns));
    sums
}

/// Messages and bytes of all ranks by the papers' classes.
pub fn paper_classes(world: &World, way: Way) -> [(u64, u64); CLASSES] {
    let mut sums = [(0, 0); CLASSES];
    for (least, messages, bytes) in by_size(world, way) {
        let sum = &mut sums[sizes::paper_class(sizes::class(least))];
        add(sum, messages, bytes);
    }
    sums
}

/// Messages and bytes of all ranks by powers of two: least size, messages, bytes; those that there were.
pub fn by_size(world: &World, way: Way) -> Vec<(u64, u64, u64)> {
    let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for size in world.ranks.iter().flat_map(|rank| &rank.sizes).filter(|size| size.way == way) {
        let sum = sums.entry(size.least).or_default();
        add(sum, size.messages, size.bytes);
    }
    sums.into_iter().map(|(least, (messages, bytes))| (least, messages, bytes)).collect()
}

fn add(sum: &mut (u64, u64), messages: u64, bytes: u64) {
    *sum = (sum.0.saturating_add(messages), sum.1.saturating_add(bytes));
}

/// Communicators over all ranks, those with most time first.
pub fn communicators(world: &World) -> Vec<Communicator> {
    let mut sums: BTreeMap<u64, Communicator> = BTreeMap::new();
    for own in world.ranks.iter().flat_map(|rank| &rank.communicators) {
        match sums.get_mut(&own.id) {
            None => drop(sums.insert(own.id, own.clone())),
            Some(sum) => {
                sum.calls = sum.calls.saturating_add(own.calls);
                sum.time_ns = sum.time_ns.saturating_add(own.time_ns);
                sum.sent = sum.sent.saturating_add(own.sent);
                sum.received = sum.received.saturating_add(own.received);
            }
        }
    }
    let mut sums: Vec<Communicator> = sums.into_values().collect();
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.time_ns));
    sums
}

/// Late peers of all ranks.
pub fn late(world: &World) -> Late {
    Late {
        sender_ns: world.total(|rank| rank.late.sender_ns),
        receiver_ns: world.total(|rank| rank.late.receiver_ns),
        collective_ns: world.total(|rank| rank.late.collective_ns),
        events: world.total(|rank| rank.late.events),
        unmatched: world.total(|rank| rank.late.unmatched),
        sampling: world.ranks.iter().map(|rank| rank.late.sampling).max().unwrap_or(0),
    }
}

/// Programs, those that took longest first.
pub fn by_time(profile: &Profile) -> Vec<&World> {
    let mut worlds: Vec<&World> = profile.worlds.iter().collect();
    worlds.sort_by_key(|world| std::cmp::Reverse(world.total(|rank| rank.run_ns)));
    worlds
}

/// Names of the program's files.
pub fn programs(world: &World) -> String {
    let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_string();
    world.programs.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// How many hosts it ran on.
pub fn hosts(world: &World) -> usize {
    world.ranks.iter().map(schema::Rank::host_id).collect::<BTreeSet<_>>().len()
}

/// Time of a rank in calls of each group, less what it waited there for others.
pub fn transfer_by_group(rank: &Rank) -> Vec<(Group, u64)> {
    let of = |group| {
        let calls = rank.calls.iter().filter(|call| group_of(&call.call) == group);
        (group, schema::sum(calls.map(|call| call.counts.time_ns.saturating_sub(call.late_ns))))
    };
    Group::ALL.into_iter().map(of).collect()
}

/// Which group a call is shown with; one of another version is with the last.
fn group_of(name: &str) -> Group {
    let known = calls::table().iter().find(|call| call.name == name);
    known.map_or(Group::Management, |call| call.kind.group())
}

/// The longest time outside of MPI of a rank, by the mean of all: how much shorter the program could be if ranks had the
/// same to do. Nothing where they have nothing to do.
pub fn imbalance(world: &World) -> Option<f64> {
    let outside: Vec<f64> = world.ranks.iter().map(|rank| rank.outside_ns() as f64).collect();
    let mean = mean(&outside);
    (mean > 0.0).then(|| outside.iter().copied().fold(0.0, f64::max) / mean)
}

/// Of the time that requests were under way, the part in which the program computed. Nothing without requests.
pub fn overlap(world: &World) -> Option<f64> {
    let (hidden, waited) = (world.total(|rank| rank.hidden_ns) as f64, world.total(|rank| rank.waited_ns) as f64);
    (hidden + waited > 0.0).then(|| hidden / (hidden + waited))
}

/// Of anything but nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Interfaces of hosts that carried something: host, interface, bytes sent, bytes received.
pub fn interfaces(hosts: &[Series]) -> Vec<(String, String, u64, u64)> {
    let mut found = Vec::new();
    for series in hosts {
        for column in &series.columns {
            let Some(name) = column.name.strip_suffix(" sent") else { continue };
            let total = |way: &str| {
                let wanted = format!("{name} {way}");
                let column = series.columns.iter().find(|column| column.name == wanted);
                column.map_or(0, |column| column.data.iter().map(|bytes| u64::from(*bytes)).sum())
            };
            let (sent, received) = (total("sent"), total("received"));
            if sent + received > 0 {
                found.push((series.host.clone(), name.to_string(), sent, received));
            }
        }
    }
    found
}
