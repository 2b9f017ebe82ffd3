//! The send window of an exchange: by how many messages the sends of a rank may be ahead of its receives, so that the WAN
//! is busy and not flooded.
//!
//! A received message shows that one sent at the same time has arrived as well, so what the WAN holds in a round
//! trip keeps it busy twice over. More waits in the queue of the link at best. Measured with two hosts 1 ms apart, four
//! ranks each: blocks of 40 000 bytes take 6.0 ms two ahead, 9 to 13 all at once, of which a fifth is lost and sent
//! again; blocks of 64 KiB 10.3 ms one ahead, 11.5 two ahead, 12 all at once.

use super::problem::Problem;
use crate::algorithm::UNLIMITED_WINDOW;
use crate::map::Cluster;
use crate::operation::Exchange;

/// The window in messages, of an exchange in which each rank sends to each of the other clusters.
pub fn of_exchange(problem: &Problem, exchange: &Exchange) -> u16 {
    let clusters = || problem.map.clusters();
    let most = clusters().map(|cluster| of_cluster(problem, exchange, cluster)).fold(1.0, f64::max).ceil();
    let messages = clusters().map(|cluster| messages_of_each(problem, cluster)).fold(0.0, f64::max);
    if most >= messages { UNLIMITED_WINDOW } else { most as u16 }
}

fn of_cluster(problem: &Problem, exchange: &Exchange, cluster: Cluster) -> f64 {
    let others = || problem.map.others(cluster);
    let members = |cluster| problem.map.members(cluster);
    let sent: f64 = others().map(|other| problem.bytes_exchanged(exchange, members(cluster), members(other))).sum();
    let held: f64 = others().map(|other| held_by_wan(problem, cluster, other)).sum();
    // Bytes of one message of each rank.
    held / (sent / messages_of_each(problem, cluster)).max(1.0)
}

/// Messages that each rank of a cluster sends to other clusters.
fn messages_of_each(problem: &Problem, cluster: Cluster) -> f64 {
    (problem.map.ranks() - problem.map.members(cluster).len()) as f64
}

/// Bytes that are under way between two clusters when their WAN is busy for a round trip.
fn held_by_wan(problem: &Problem, from: Cluster, to: Cluster) -> f64 {
    let wan = problem.network.between(from, to);
    let hosts = problem.map.host_leaders(from).len() as f64;
    let shared = wan.shared_bytes_per_s.map_or(f64::INFINITY, |rate| rate as f64);
    (hosts * wan.host_bytes_per_s as f64).min(shared) * wan.round_trip_ns as f64 / 1e9
}
