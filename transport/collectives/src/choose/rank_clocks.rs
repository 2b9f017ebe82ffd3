//! A clock for each rank, which advances round by round of messages: the cost model of an algorithm.

use crate::map::{ClusterMap, Rank};
use crate::network::Network;

const NS_PER_S: f64 = 1e9;
/// A sender's own time for each message, as a part of the latency inside: about what one call of a kernel's
/// sockets takes of a short message's way.
const OVERHEAD: f64 = 0.25;
/// Where several hosts together send more at once over a link than it carries in this number of round trips, and it is slower
/// than they are, its queue overflows,
const HELD_ROUND_TRIPS: f64 = 3.0;
/// and lost packets are sent again: the time grows by this factor. Measured with four hosts and four on a link of 1
/// Gbit/s, 1 ms away: 1.2 times for an allgather of 256 KiB, 1.7 times for an allreduce of 1 MiB.
const FLOODED: f64 = 1.4;

/// A message of a round.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub from: Rank,
    pub to: Rank,
    pub bytes: f64,
}

/// Ranks with clocks of their own, which wait for what they receive.
pub struct RankClocks<'a> {
    map: &'a ClusterMap,
    network: &'a Network,
    ready_ns: Vec<f64>,
    crossings: Vec<u32>,
    wan_bytes: f64,
    /// Rounds like each that follow it at once.
    segments: f64,
}

impl<'a> RankClocks<'a> {
    pub fn new(map: &'a ClusterMap, network: &'a Network) -> RankClocks<'a> {
        RankClocks::of_segments(map, network, 1.0)
    }

    /// Time of the first of a sequence of segments.
    pub fn of_segments(map: &'a ClusterMap, network: &'a Network, segments: f64) -> RankClocks<'a> {
        let ranks = map.ranks();
        RankClocks { map, network, ready_ns: vec![0.0; ranks], crossings: vec![0; ranks], wan_bytes: 0.0, segments }
    }

    /// Messages that are sent at the same time share the rails of their hosts, and the link between their clusters.
    pub fn round(&mut self, messages: impl IntoIterator<Item = Message>) {
        let messages: Vec<Message> = messages.into_iter().collect();
        let load = Load::of(self.map, &messages);
        let before = (self.ready_ns.clone(), self.crossings.clone());
        let mut earlier = vec![0.0; self.ready_ns.len()];
        for message in &messages {
            let (from, to) = (message.from.0, message.to.0);
            let (delay_ns, transfer_ns) = self.way(message, &load);
            let overhead_ns = self.network.inside(self.map.cluster_of(message.from)).latency_ns as f64 * OVERHEAD;
            // The first one's is part of the delay.
            let sent_ns = before.0[from] + transfer_ns + earlier[from] * overhead_ns;
            earlier[from] += 1.0;
            self.ready_ns[from] = self.ready_ns[from].max(sent_ns);
            self.ready_ns[to] = self.ready_ns[to].max(sent_ns + delay_ns);
            let is_crossing = self.is_crossing(message);
            self.crossings[to] = self.crossings[to].max(before.1[from] + u32::from(is_crossing));
            if is_crossing {
                self.wan_bytes += message.bytes;
            }
        }
    }

    /// Lets a rank copy or reduce.
    pub fn work(&mut self, rank: Rank, bytes: f64) {
        let inside = self.network.inside(self.map.cluster_of(rank));
        self.ready_ns[rank.0] += bytes * NS_PER_S / inside.copy_bytes_per_s as f64;
    }

    /// A rank's rail first carries `bytes` bytes, at the rate within a cluster.
    pub fn occupy(&mut self, rank: Rank, bytes: f64) {
        let inside = self.network.inside(self.map.cluster_of(rank));
        self.ready_ns[rank.0] += bytes * NS_PER_S / inside.bytes_per_s as f64;
    }

    /// When these ranks are done, in nanoseconds.
    pub fn end_ns(&self, ranks: &[Rank]) -> f64 {
        ranks.iter().map(|rank| self.ready_ns[rank.0]).fold(0.0, f64::max)
    }

    /// When all are done, in nanoseconds.
    pub fn elapsed_ns(&self) -> f64 {
        self.ready_ns.iter().copied().fold(0.0, f64::max)
    }

    /// Bytes that crossed between clusters so far.
    pub fn wan_bytes(&self) -> u64 {
        self.wan_bytes.round() as u64
    }

    /// Most crossings so far that followed each other.
    pub fn wan_crossings(&self) -> u32 {
        self.crossings.iter().copied().max().unwrap_or(0)
    }

    /// How long the rails of single hosts are busy with messages between clusters, in nanoseconds.
    pub fn rails_ns(&self, messages: &[Message]) -> f64 {
        let load = Load::of(self.map, messages);
        let busy_ns = |message: &Message| {
            let wan = self.network.between(self.map.cluster_of(message.from), self.map.cluster_of(message.to));
            load.at_hosts(self.map, message) * NS_PER_S / wan.host_bytes_per_s as f64
        };
        messages.iter().map(busy_ns).fold(0.0, f64::max)
    }

    fn is_crossing(&self, message: &Message) -> bool {
        self.map.cluster_of(message.from) != self.map.cluster_of(message.to)
    }

    /// Delay, and how long a message takes to pass, in nanoseconds.
    fn way(&self, message: &Message, load: &Load) -> (f64, f64) {
        let (from, to) = (self.map.cluster_of(message.from), self.map.cluster_of(message.to));
        let inside = self.network.inside(from);
        let ns = |bytes: f64, bytes_per_s: u64| bytes * NS_PER_S / bytes_per_s as f64;
        if self.map.host_of(message.from) == self.map.host_of(message.to) {
            return (inside.latency_ns as f64, ns(message.bytes, inside.copy_bytes_per_s));
        }
        let at_hosts = load.at_hosts(self.map, message);
        let between = load.between[from.0 * self.map.cluster_count() + to.0];
        let at_link_ns = |shared: Option<u64>| shared.map_or(0.0, |rate| ns(between, rate));
        if from == to {
            let at_switch_ns = at_link_ns(inside.shared_bytes_per_s);
            return (inside.latency_ns as f64, ns(at_hosts, inside.bytes_per_s).max(at_switch_ns));
        }
        let wan = self.network.between(from, to);
        let (at_rail_ns, at_link_ns) = (ns(at_hosts, wan.host_bytes_per_s), at_link_ns(wan.shared_bytes_per_s));
        let is_flooded =
            at_link_ns > at_rail_ns && at_link_ns * self.segments > HELD_ROUND_TRIPS * wan.round_trip_ns as f64;
        let at_link_ns = if is_flooded { at_link_ns * FLOODED } else { at_link_ns };
        (wan.round_trip_ns as f64 / 2.0, at_rail_ns.max(at_link_ns))
    }
}

/// Bytes of a round that share something.
struct Load {
    /// Bytes that leave each host.
    out: Vec<f64>,
    /// Bytes that arrive at each host.
    into: Vec<f64>,
    /// Bytes from the hosts of each cluster to other hosts of each cluster.
    between: Vec<f64>,
}

impl Load {
    fn of(map: &ClusterMap, messages: &[Message]) -> Load {
        let clusters = map.cluster_count();
        let hosts = || vec![0.0; map.host_count()];
        let mut load = Load { out: hosts(), into: hosts(), between: vec![0.0; clusters * clusters] };
        for Message { from, to, bytes } in messages {
            if map.host_of(*from) != map.host_of(*to) {
                load.out[map.host_of(*from)] += bytes;
                load.into[map.host_of(*to)] += bytes;
                load.between[map.cluster_of(*from).0 * clusters + map.cluster_of(*to).0] += bytes;
            }
        }
        load
    }

    /// Bytes that share a rail with a message, at the busier end.
    fn at_hosts(&self, map: &ClusterMap, message: &Message) -> f64 {
        self.out[map.host_of(message.from)].max(self.into[map.host_of(message.to)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{IntraCluster, Wan};

    const GIGABYTE: u64 = 1_000_000_000;

    fn network(shared_bytes_per_s: Option<u64>) -> Network {
        let inside = IntraCluster {
            latency_ns: 40,
            bytes_per_s: GIGABYTE,
            copy_bytes_per_s: 2 * GIGABYTE,
            ..IntraCluster::UNMEASURED
        };
        Network::uniform(2, inside, Wan { round_trip_ns: 2000, host_bytes_per_s: GIGABYTE, shared_bytes_per_s })
    }

    fn message(from: usize, to: usize, bytes: f64) -> Message {
        Message { from: Rank(from), to: Rank(to), bytes }
    }

    #[test]
    fn messages_that_leave_one_host_share_its_rail() {
        let map = ClusterMap::of_clusters(&[0, 0, 1, 1]);
        let network = network(None);
        let mut clocks = RankClocks::new(&map, &network);
        clocks.round([message(0, 2, 100.0), message(0, 3, 100.0)]);
        assert_eq!((clocks.elapsed_ns(), clocks.wan_crossings(), clocks.wan_bytes()), (1210.0, 1, 200));
        clocks.round([message(2, 3, 0.0)]);
        assert_eq!((clocks.elapsed_ns(), clocks.wan_crossings()), (1240.0, 1));
        clocks.round([message(3, 0, 0.0)]);
        assert_eq!((clocks.elapsed_ns(), clocks.wan_crossings()), (2240.0, 2));
    }

    #[test]
    fn hosts_share_the_link_between_their_clusters() {
        let map = ClusterMap::of_clusters(&[0, 0, 1, 1]);
        let network = network(Some(GIGABYTE / 2));
        let mut clocks = RankClocks::new(&map, &network);
        clocks.round([message(0, 2, 100.0), message(1, 3, 100.0)]);
        assert_eq!(clocks.elapsed_ns(), 1400.0);
    }

    #[test]
    fn messages_that_flood_a_shared_link_cross_again_in_part() {
        let map = ClusterMap::of_clusters(&[0, 0, 1, 1]);
        let network = network(Some(GIGABYTE / 2));
        let both = |bytes| [message(0, 2, bytes), message(1, 3, bytes)];
        let elapsed_ns = |messages: &[Message], segments| {
            let mut clocks = RankClocks::of_segments(&map, &network, segments);
            clocks.round(messages.iter().copied());
            clocks.elapsed_ns()
        };
        assert_eq!(elapsed_ns(&both(2000.0), 1.0), 1000.0 + 8000.0 * FLOODED);
        assert_eq!(elapsed_ns(&both(200.0), 10.0), 1000.0 + 800.0 * FLOODED, "its segments follow each other");
        assert_eq!(elapsed_ns(&both(200.0), 7.0), 1800.0);
    }

    #[test]
    fn hosts_of_a_cluster_share_its_switch() {
        let map = ClusterMap::of_clusters(&[0, 0, 0, 0, 1]);
        let inside = IntraCluster { latency_ns: 40, shared_bytes_per_s: Some(GIGABYTE), ..IntraCluster::UNMEASURED };
        let wan = Wan { round_trip_ns: 2000, host_bytes_per_s: GIGABYTE, shared_bytes_per_s: None };
        let network = Network::uniform(2, inside, wan);
        let elapsed_ns = |messages: &[Message]| {
            let mut clocks = RankClocks::new(&map, &network);
            clocks.round(messages.iter().copied());
            clocks.elapsed_ns()
        };
        assert_eq!(elapsed_ns(&[message(0, 1, 1000.0)]), 1040.0);
        assert_eq!(elapsed_ns(&[message(0, 1, 1000.0), message(2, 3, 1000.0)]), 2040.0);
    }
}
