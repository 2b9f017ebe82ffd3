//! Costs of a schedule, phase by phase.

use super::problem::Problem;
use super::rank_clocks::{Message, RankClocks};
use super::{Phase, group_algorithms};
use crate::algorithm::Algorithm;
use crate::build::partition::overlaps;
use crate::map::{Cluster, Rank};
use crate::operation::{Blocks, Exchange, Operation};

const DELAY: &str = "delay of the WAN";
const TRANSFER: &str = "transfer over the WAN";

/// The phases of the first segment, one after the other; others follow as fast as the slowest stage lets them.
pub struct PhaseCosts<'a> {
    problem: &'a Problem<'a>,
    clocks: RankClocks<'a>,
    phases: Vec<Phase>,
    /// Segments that a message is cut into.
    segments: f64,
    /// How long the link between clusters is busy, and how long a host's rail is with it.
    link_ns: f64,
    rail_ns: f64,
}

impl<'a> PhaseCosts<'a> {
    /// The phases of an algorithm.
    pub fn of(problem: &'a Problem<'a>, algorithm: Algorithm) -> Vec<Phase> {
        let segments = match algorithm {
            Algorithm::Coordinators { segments } | Algorithm::Shared { segments } => segments,
            Algorithm::Native | Algorithm::Direct { .. } => 1,
        };
        let segments = f64::from(segments);
        let clocks = RankClocks::of_segments(problem.map, problem.network, segments);
        let mut costs = PhaseCosts { problem, clocks, phases: Vec::new(), segments, link_ns: 0.0, rail_ns: 0.0 };
        let is_shared = matches!(algorithm, Algorithm::Shared { .. });
        let is_direct = matches!(algorithm, Algorithm::Direct { .. });
        match problem.operation {
            Operation::Barrier => costs.barrier(),
            Operation::Broadcast { root, len } if is_shared => costs.broadcast_shared(*root, problem.bytes(*len)),
            Operation::Broadcast { root, len } => costs.broadcast(*root, problem.bytes(*len)),
            Operation::Reduce { root, len, commutative } => {
                costs.reduce(*root, problem.bytes(*len), is_shared, *commutative);
            }
            Operation::Allreduce { len, commutative } => costs.allreduce(problem.bytes(*len), is_shared, *commutative),
            Operation::ReduceScatter { blocks, .. } => costs.reduce_scatter(blocks),
            Operation::Allgather { blocks } => costs.allgather(blocks, is_shared),
            Operation::Gather { root, blocks } => costs.gather(*root, blocks, is_direct),
            Operation::Scatter { root, blocks } => costs.scatter(*root, blocks, is_direct),
            Operation::Alltoall { exchange } => costs.alltoall(exchange, is_direct),
        }
        costs.phases
    }

    fn barrier(&mut self) {
        self.inside("inside", |costs, members| group_algorithms::barrier(&mut costs.clocks, members));
        let messages = self.pairs(|costs, from, to| {
            let first = |cluster| costs.problem.map.coordinator(cluster);
            vec![(first(from), first(to), 0.0)]
        });
        self.cross(&messages);
    }

    fn broadcast(&mut self, root: Rank, bytes: f64) {
        let (map, home) = (self.problem.map, self.problem.map.cluster_of(root));
        let segment = bytes / self.segments;
        let message = |cluster| Message { from: root, to: map.coordinator(cluster), bytes: segment };
        self.cross(&map.others(home).map(message).collect::<Vec<_>>());
        self.stage("broadcast inside", |costs| {
            for cluster in map.others(home) {
                group_algorithms::broadcast(&mut costs.clocks, map.members(cluster), 0, segment);
            }
        });
        self.follow_overlapping();
        // The root's own cluster, at the same time and over the same rail, which may carry more than the WAN does.
        let mut at_home = RankClocks::new(map, self.problem.network);
        at_home.occupy(root, map.others(home).count() as f64 * bytes);
        group_algorithms::broadcast(&mut at_home, map.members(home), map.local(root).0, bytes);
        let so_far: f64 = self.phases.iter().map(|phase| phase.time_ns).sum();
        let beyond = at_home.end_ns(map.members(home)) - so_far;
        self.phases.push(Phase { name: "broadcast at the root's", time_ns: beyond.max(0.0) });
    }

    fn broadcast_shared(&mut self, root: Rank, bytes: f64) {
        let segment = bytes / self.segments;
        let home = self.problem.map.cluster_of(root);
        self.stage("scatter inside", |costs| {
            let carried = costs.carried(home, segment);
            group_algorithms::scatter_each(&mut costs.clocks, costs.problem.map.members(home), root, &|rank| {
                carried[rank.0]
            });
        });
        let messages = self.pairs(|costs, from, to| match from == home {
            true => costs.lanes(from, to, segment),
            false => Vec::new(),
        });
        self.cross(&messages);
        self.gather_shares(segment);
        self.follow_over_one_rail();
    }

    fn reduce(&mut self, root: Rank, bytes: f64, is_shared: bool, commutative: bool) {
        let segment = bytes / self.segments;
        let home = self.problem.map.cluster_of(root);
        self.reduce_inside(segment, is_shared, Some(root), commutative);
        let messages = self.pairs(|costs, from, to| match (to == home, is_shared) {
            (false, _) => Vec::new(),
            (true, true) => costs.lanes(from, to, segment),
            (true, false) => vec![(costs.problem.map.coordinator(from), root, segment)],
        });
        self.cross(&messages);
        self.combine(&messages);
        if is_shared {
            self.stage("gather inside", |costs| {
                let carried = costs.carried(home, segment);
                group_algorithms::gather_each(&mut costs.clocks, costs.problem.map.members(home), root, &|rank| {
                    carried[rank.0]
                });
            });
        }
        self.follow_over_one_rail();
    }

    fn allreduce(&mut self, bytes: f64, is_shared: bool, commutative: bool) {
        let segment = bytes / self.segments;
        self.reduce_inside(segment, is_shared, None, commutative);
        let messages = self.pairs(|costs, from, to| match is_shared {
            true => costs.lanes(from, to, segment),
            false => vec![(costs.problem.map.coordinator(from), costs.problem.map.coordinator(to), segment)],
        });
        self.cross(&messages);
        self.combine(&messages);
        match is_shared {
            true => self.gather_shares(segment),
            false => self.inside("broadcast inside", |costs, members| {
                group_algorithms::broadcast(&mut costs.clocks, members, 0, segment);
            }),
        }
        // Where each cluster is one host, what happens inside does not touch its rail.
        match self.problem.map.host_count() == self.problem.map.cluster_count() {
            true => self.follow_overlapping(),
            false => self.follow_over_one_rail(),
        }
    }

    fn reduce_scatter(&mut self, blocks: &Blocks) {
        let problem = self.problem;
        self.inside("reduce inside", |costs, members| {
            problem.map.clusters().for_each(|of| {
                group_algorithms::reduce_scatter(&mut costs.clocks, members, problem.bytes_of(blocks, of))
            });
        });
        let messages = self.pairs(|_, from, to| {
            let (receivers, owners) = (problem.map.members(from), problem.map.members(to));
            let lane = |(index, owner): (usize, &Rank)| {
                (receivers[index * receivers.len() / owners.len()], *owner, problem.bytes(blocks.len(*owner)))
            };
            owners.iter().enumerate().map(lane).collect()
        });
        self.cross(&messages);
        self.combine(&messages);
    }

    fn allgather(&mut self, blocks: &Blocks, is_shared: bool) {
        let problem = self.problem;
        self.inside("gather inside", |costs, members| {
            let bytes: Vec<f64> = members.iter().map(|rank| problem.bytes(blocks.len(*rank))).collect();
            group_algorithms::allgather(&mut costs.clocks, members, &bytes);
        });
        let messages = self.pairs(|_, from, to| match is_shared {
            true => {
                let (owners, receivers) = (problem.map.members(from), problem.map.members(to));
                let lane = |(index, owner): (usize, &Rank)| {
                    (*owner, receivers[index * receivers.len() / owners.len()], problem.bytes(blocks.len(*owner)))
                };
                owners.iter().enumerate().map(lane).collect()
            }
            false => vec![(problem.map.coordinator(from), problem.map.coordinator(to), problem.bytes_of(blocks, from))],
        });
        self.cross(&messages);
        self.stage(if is_shared { "gather inside what came" } else { "broadcast inside" }, |costs| {
            for cluster in problem.map.clusters() {
                let members = problem.map.members(cluster);
                for other in problem.map.others(cluster) {
                    let bytes = problem.bytes_of(blocks, other);
                    match is_shared {
                        true => {
                            let each = vec![bytes / members.len() as f64; members.len()];
                            group_algorithms::allgather(&mut costs.clocks, members, &each);
                        }
                        false => group_algorithms::broadcast(&mut costs.clocks, members, 0, bytes),
                    }
                }
            }
        });
    }

    fn gather(&mut self, root: Rank, blocks: &Blocks, is_direct: bool) {
        let problem = self.problem;
        let home = problem.map.cluster_of(root);
        self.stage("gather inside", |costs| {
            for cluster in problem.map.clusters().filter(|cluster| !is_direct || *cluster == home) {
                let members = problem.map.members(cluster);
                let representative = if cluster == home { problem.map.local(root).0 } else { 0 };
                let mean = problem.bytes_of(blocks, cluster) / members.len() as f64;
                group_algorithms::gather(&mut costs.clocks, members, representative, mean);
            }
        });
        let messages = self.pairs(|_, from, to| match (to == home, is_direct) {
            (false, _) => Vec::new(),
            (true, true) => {
                problem.map.members(from).iter().map(|r| (*r, root, problem.bytes(blocks.len(*r)))).collect()
            }
            (true, false) => vec![(problem.map.coordinator(from), root, problem.bytes_of(blocks, from))],
        });
        self.cross(&messages);
    }

    fn scatter(&mut self, root: Rank, blocks: &Blocks, is_direct: bool) {
        let problem = self.problem;
        let home = problem.map.cluster_of(root);
        let messages = self.pairs(|_, from, to| match (from == home, is_direct) {
            (false, _) => Vec::new(),
            (true, true) => problem.map.members(to).iter().map(|r| (root, *r, problem.bytes(blocks.len(*r)))).collect(),
            (true, false) => vec![(root, problem.map.coordinator(to), problem.bytes_of(blocks, to))],
        });
        self.cross(&messages);
        self.stage("scatter inside", |costs| {
            for cluster in problem.map.clusters().filter(|cluster| !is_direct || *cluster == home) {
                let members = problem.map.members(cluster);
                let representative = if cluster == home { problem.map.local(root).0 } else { 0 };
                let mean = problem.bytes_of(blocks, cluster) / members.len() as f64;
                group_algorithms::scatter(&mut costs.clocks, members, representative, mean);
            }
        });
    }

    fn alltoall(&mut self, exchange: &Exchange, is_direct: bool) {
        let problem = self.problem;
        let between = |from: Cluster, to: Cluster| {
            problem.bytes_exchanged(exchange, problem.map.members(from), problem.map.members(to))
        };
        let mean = |from: Cluster, to: Cluster, at: Cluster| between(from, to) / problem.map.members(at).len() as f64;
        if !is_direct {
            self.each_pair("gather inside", |costs, here, other| {
                group_algorithms::gather(&mut costs.clocks, problem.map.members(here), 0, mean(here, other, here));
            });
        }
        self.inside("exchange inside", |costs, members| {
            problem.alltoall(&mut costs.clocks, members, exchange);
        });
        let messages = self.pairs(|_, from, to| match is_direct {
            true => {
                let each = |from: &Rank| problem.map.members(to).iter().map(move |to| (*from, *to)).collect::<Vec<_>>();
                let pairs = problem.map.members(from).iter().flat_map(each);
                pairs.map(|(from, to)| (from, to, problem.bytes(exchange.len(from, to)))).collect()
            }
            false => vec![(problem.map.coordinator(from), problem.map.coordinator(to), between(from, to))],
        });
        self.cross(&messages);
        if !is_direct {
            self.each_pair("sort and scatter inside", |costs, here, other| {
                costs.clocks.work(problem.map.coordinator(here), between(other, here));
                group_algorithms::scatter(&mut costs.clocks, problem.map.members(here), 0, mean(other, here, here));
            });
        }
    }

    fn reduce_inside(&mut self, bytes: f64, is_shared: bool, root: Option<Rank>, commutative: bool) {
        let map = self.problem.map;
        self.inside("reduce inside", |costs, members| match is_shared {
            true => group_algorithms::reduce_scatter(&mut costs.clocks, members, bytes),
            false => {
                let root = root.filter(|root| map.cluster_of(*root) == map.cluster_of(members[0]));
                let local_root = root.map_or(0, |root| map.local(root).0);
                costs.problem.reduce(&mut costs.clocks, members, local_root, bytes, commutative);
            }
        });
    }

    fn gather_shares(&mut self, bytes: f64) {
        self.inside("gather inside", |costs, members| {
            let carried = costs.carried(costs.problem.map.cluster_of(members[0]), bytes);
            let each: Vec<f64> = members.iter().map(|rank| carried[rank.0]).collect();
            group_algorithms::allgather(&mut costs.clocks, members, &each);
        });
    }

    /// Who receives reduces what came.
    fn combine(&mut self, messages: &[Message]) {
        self.stage("combine", |costs| {
            messages.iter().for_each(|message| costs.clocks.work(message.to, message.bytes));
        });
    }

    fn cross(&mut self, messages: &[Message]) {
        let network = self.problem.network;
        let delay_ns = |message: &Message| {
            let clusters = [message.from, message.to].map(|rank| self.problem.map.cluster_of(rank));
            network.between(clusters[0], clusters[1]).round_trip_ns as f64 / 2.0
        };
        let delay_ns = messages.iter().map(delay_ns).fold(0.0, f64::max);
        let before_ns = self.clocks.elapsed_ns();
        self.clocks.round(messages.iter().copied());
        let crossed_ns = self.clocks.elapsed_ns() - before_ns;
        self.link_ns = (crossed_ns - delay_ns).max(0.0);
        self.rail_ns = self.clocks.rails_ns(messages);
        self.phases.push(Phase { name: DELAY, time_ns: crossed_ns - self.link_ns });
        self.phases.push(Phase { name: TRANSFER, time_ns: self.link_ns });
    }

    fn stage(&mut self, name: &'static str, run: impl FnOnce(&mut Self)) {
        let before_ns = self.clocks.elapsed_ns();
        run(self);
        self.phases.push(Phase { name, time_ns: self.clocks.elapsed_ns() - before_ns });
    }

    fn inside(&mut self, name: &'static str, run: impl Fn(&mut Self, &[Rank])) {
        let map = self.problem.map;
        self.stage(name, |costs| map.clusters().for_each(|cluster| run(costs, map.members(cluster))));
    }

    fn each_pair(&mut self, name: &'static str, run: impl Fn(&mut Self, Cluster, Cluster)) {
        let map = self.problem.map;
        self.stage(name, |costs| {
            map.clusters().for_each(|here| map.others(here).for_each(|other| run(costs, here, other)));
        });
    }

    /// The other segments, when all phases overlap: each follows as soon as the slowest phase lets it.
    fn follow_overlapping(&mut self) {
        let busy_ns =
            self.phases.iter().filter(|phase| phase.name != DELAY).map(|phase| phase.time_ns).fold(0.0, f64::max);
        self.follow(busy_ns);
    }

    /// The other segments, when a host does all phases over one rail: only the link between clusters overlaps.
    fn follow_over_one_rail(&mut self) {
        let inside = self.phases.iter().filter(|phase| phase.name != DELAY && phase.name != TRANSFER);
        let busy_ns = inside.map(|phase| phase.time_ns).sum::<f64>() + self.rail_ns;
        self.follow(busy_ns.max(self.link_ns));
    }

    fn follow(&mut self, each_ns: f64) {
        if self.segments > 1.0 {
            self.phases.push(Phase { name: "further segments", time_ns: (self.segments - 1.0) * each_ns });
        }
    }

    /// Messages from each cluster to each other one.
    fn pairs(&self, of: impl Fn(&Self, Cluster, Cluster) -> Vec<(Rank, Rank, f64)>) -> Vec<Message> {
        let map = self.problem.map;
        let pairs = map.clusters().flat_map(|from| map.others(from).map(move |to| (from, to)));
        let messages = pairs.flat_map(|(from, to)| of(self, from, to));
        messages.map(|(from, to, bytes)| Message { from, to, bytes }).collect()
    }

    /// Shares of `bytes` bytes carried by each rank of a cluster, by rank.
    fn carried(&self, cluster: Cluster, bytes: f64) -> Vec<f64> {
        let map = self.problem.map;
        let host_leaders = map.host_leaders(cluster);
        let mut carried = vec![0.0; map.ranks()];
        host_leaders
            .iter()
            .for_each(|local| carried[map.global(cluster, *local).0] = bytes / host_leaders.len() as f64);
        carried
    }

    /// The parts of `bytes` bytes that the hosts of a cluster send to those of another.
    fn lanes(&self, from: Cluster, to: Cluster, bytes: f64) -> Vec<(Rank, Rank, f64)> {
        let map = self.problem.map;
        let lanes = overlaps(map.host_leaders(from).len(), map.host_leaders(to).len());
        let rank = |cluster: Cluster, index: usize| map.global(cluster, map.host_leaders(cluster)[index]);
        lanes.into_iter().map(|(one, other, phase)| (rank(from, one), rank(to, other), phase * bytes)).collect()
    }
}
