//! What a schedule costs, stage by stage.

use super::candidates::Job;
use super::clock::{Clock, Message};
use super::{Part, groups};
use crate::algorithm::Algorithm;
use crate::build::shares::overlaps;
use crate::map::{Cluster, Rank};
use crate::operation::{Blocks, Exchange, Operation};

const DELAY: &str = "delay of the WAN";
const TRANSFER: &str = "transfer over the WAN";

/// Stages one after the other, of the first segment; others follow as fast as the slowest stage lets them.
pub struct Stages<'a> {
    job: &'a Job<'a>,
    clock: Clock<'a>,
    parts: Vec<Part>,
    /// Segments that a message is cut into.
    segments: f64,
    /// How long the link between clusters is busy, and how long a host's rail is with it.
    link_ns: f64,
    rail_ns: f64,
}

impl<'a> Stages<'a> {
    /// The phases of an algorithm.
    pub fn of(job: &'a Job<'a>, algorithm: Algorithm) -> Vec<Part> {
        let segments = match algorithm {
            Algorithm::Coordinators { segments } | Algorithm::Shared { segments } => segments,
            Algorithm::Native | Algorithm::Direct { .. } => 1,
        };
        let segments = f64::from(segments);
        let clock = Clock::of_segments(job.map, job.network, segments);
        let mut stages = Stages { job, clock, parts: Vec::new(), segments, link_ns: 0.0, rail_ns: 0.0 };
        let is_shared = matches!(algorithm, Algorithm::Shared { .. });
        let is_direct = matches!(algorithm, Algorithm::Direct { .. });
        match job.operation {
            Operation::Barrier => stages.barrier(),
            Operation::Broadcast { root, len } if is_shared => stages.broadcast_shared(*root, job.bytes(*len)),
            Operation::Broadcast { root, len } => stages.broadcast(*root, job.bytes(*len)),
            Operation::Reduce { root, len, commutative } => {
                stages.reduce(*root, job.bytes(*len), is_shared, *commutative);
            }
            Operation::Allreduce { len, commutative } => stages.allreduce(job.bytes(*len), is_shared, *commutative),
            Operation::ReduceScatter { blocks, .. } => stages.reduce_scatter(blocks),
            Operation::Allgather { blocks } => stages.allgather(blocks, is_shared),
            Operation::Gather { root, blocks } => stages.gather(*root, blocks, is_direct),
            Operation::Scatter { root, blocks } => stages.scatter(*root, blocks, is_direct),
            Operation::Alltoall { exchange } => stages.alltoall(exchange, is_direct),
        }
        stages.parts
    }

    fn barrier(&mut self) {
        self.inside("inside", |stages, members| groups::barrier(&mut stages.clock, members));
        let messages = self.pairs(|stages, from, to| {
            let first = |cluster| stages.job.map.coordinator(cluster);
            vec![(first(from), first(to), 0.0)]
        });
        self.cross(&messages);
    }

    fn broadcast(&mut self, root: Rank, bytes: f64) {
        let (map, home) = (self.job.map, self.job.map.cluster_of(root));
        let segment = bytes / self.segments;
        let message = |cluster| Message { from: root, to: map.coordinator(cluster), bytes: segment };
        self.cross(&map.others(home).map(message).collect::<Vec<_>>());
        self.stage("broadcast inside", |stages| {
            for cluster in map.others(home) {
                groups::broadcast(&mut stages.clock, map.members(cluster), 0, segment);
            }
        });
        self.follow_overlapping();
        // The root's own cluster, at the same time and over the same rail, which may carry more than the WAN does.
        let mut at_home = Clock::new(map, self.job.network);
        at_home.occupy(root, map.others(home).count() as f64 * bytes);
        groups::broadcast(&mut at_home, map.members(home), map.local(root).0, bytes);
        let so_far: f64 = self.parts.iter().map(|part| part.ns).sum();
        let beyond = at_home.end_ns(map.members(home)) - so_far;
        self.parts.push(Part { what: "broadcast at the root's", ns: beyond.max(0.0) });
    }

    fn broadcast_shared(&mut self, root: Rank, bytes: f64) {
        let segment = bytes / self.segments;
        let home = self.job.map.cluster_of(root);
        self.stage("scatter inside", |stages| {
            let carried = stages.carried(home, segment);
            groups::scatter_each(&mut stages.clock, stages.job.map.members(home), root, &|rank| carried[rank.0]);
        });
        let messages = self.pairs(|stages, from, to| match from == home {
            true => stages.lanes(from, to, segment),
            false => Vec::new(),
        });
        self.cross(&messages);
        self.gather_shares(segment);
        self.follow_over_one_rail();
    }

    fn reduce(&mut self, root: Rank, bytes: f64, is_shared: bool, commutative: bool) {
        let segment = bytes / self.segments;
        let home = self.job.map.cluster_of(root);
        self.reduce_inside(segment, is_shared, Some(root), commutative);
        let messages = self.pairs(|stages, from, to| match (to == home, is_shared) {
            (false, _) => Vec::new(),
            (true, true) => stages.lanes(from, to, segment),
            (true, false) => vec![(stages.job.map.coordinator(from), root, segment)],
        });
        self.cross(&messages);
        self.combine(&messages);
        if is_shared {
            self.stage("gather inside", |stages| {
                let carried = stages.carried(home, segment);
                groups::gather_each(&mut stages.clock, stages.job.map.members(home), root, &|rank| carried[rank.0]);
            });
        }
        self.follow_over_one_rail();
    }

    fn allreduce(&mut self, bytes: f64, is_shared: bool, commutative: bool) {
        let segment = bytes / self.segments;
        self.reduce_inside(segment, is_shared, None, commutative);
        let messages = self.pairs(|stages, from, to| match is_shared {
            true => stages.lanes(from, to, segment),
            false => vec![(stages.job.map.coordinator(from), stages.job.map.coordinator(to), segment)],
        });
        self.cross(&messages);
        self.combine(&messages);
        match is_shared {
            true => self.gather_shares(segment),
            false => self.inside("broadcast inside", |stages, members| {
                groups::broadcast(&mut stages.clock, members, 0, segment);
            }),
        }
        // Where each cluster is one host, what happens inside does not touch its rail.
        match self.job.map.host_count() == self.job.map.cluster_count() {
            true => self.follow_overlapping(),
            false => self.follow_over_one_rail(),
        }
    }

    fn reduce_scatter(&mut self, blocks: &Blocks) {
        let job = self.job;
        self.inside("reduce inside", |stages, members| {
            job.map
                .clusters()
                .for_each(|of| groups::reduce_scatter(&mut stages.clock, members, job.bytes_of(blocks, of)));
        });
        let messages = self.pairs(|_, from, to| {
            let (catchers, owners) = (job.map.members(from), job.map.members(to));
            let lane = |(index, owner): (usize, &Rank)| {
                (catchers[index * catchers.len() / owners.len()], *owner, job.bytes(blocks.len(*owner)))
            };
            owners.iter().enumerate().map(lane).collect()
        });
        self.cross(&messages);
        self.combine(&messages);
    }

    fn allgather(&mut self, blocks: &Blocks, is_shared: bool) {
        let job = self.job;
        self.inside("gather inside", |stages, members| {
            let bytes: Vec<f64> = members.iter().map(|rank| job.bytes(blocks.len(*rank))).collect();
            groups::allgather(&mut stages.clock, members, &bytes);
        });
        let messages = self.pairs(|_, from, to| match is_shared {
            true => {
                let (owners, catchers) = (job.map.members(from), job.map.members(to));
                let lane = |(index, owner): (usize, &Rank)| {
                    (*owner, catchers[index * catchers.len() / owners.len()], job.bytes(blocks.len(*owner)))
                };
                owners.iter().enumerate().map(lane).collect()
            }
            false => vec![(job.map.coordinator(from), job.map.coordinator(to), job.bytes_of(blocks, from))],
        });
        self.cross(&messages);
        self.stage(if is_shared { "gather inside what came" } else { "broadcast inside" }, |stages| {
            for cluster in job.map.clusters() {
                let members = job.map.members(cluster);
                for other in job.map.others(cluster) {
                    let bytes = job.bytes_of(blocks, other);
                    match is_shared {
                        true => {
                            let each = vec![bytes / members.len() as f64; members.len()];
                            groups::allgather(&mut stages.clock, members, &each);
                        }
                        false => groups::broadcast(&mut stages.clock, members, 0, bytes),
                    }
                }
            }
        });
    }

    fn gather(&mut self, root: Rank, blocks: &Blocks, is_direct: bool) {
        let job = self.job;
        let home = job.map.cluster_of(root);
        self.stage("gather inside", |stages| {
            for cluster in job.map.clusters().filter(|cluster| !is_direct || *cluster == home) {
                let members = job.map.members(cluster);
                let speaker = if cluster == home { job.map.local(root).0 } else { 0 };
                let mean = job.bytes_of(blocks, cluster) / members.len() as f64;
                groups::gather(&mut stages.clock, members, speaker, mean);
            }
        });
        let messages = self.pairs(|_, from, to| match (to == home, is_direct) {
            (false, _) => Vec::new(),
            (true, true) => job.map.members(from).iter().map(|r| (*r, root, job.bytes(blocks.len(*r)))).collect(),
            (true, false) => vec![(job.map.coordinator(from), root, job.bytes_of(blocks, from))],
        });
        self.cross(&messages);
    }

    fn scatter(&mut self, root: Rank, blocks: &Blocks, is_direct: bool) {
        let job = self.job;
        let home = job.map.cluster_of(root);
        let messages = self.pairs(|_, from, to| match (from == home, is_direct) {
            (false, _) => Vec::new(),
            (true, true) => job.map.members(to).iter().map(|r| (root, *r, job.bytes(blocks.len(*r)))).collect(),
            (true, false) => vec![(root, job.map.coordinator(to), job.bytes_of(blocks, to))],
        });
        self.cross(&messages);
        self.stage("scatter inside", |stages| {
            for cluster in job.map.clusters().filter(|cluster| !is_direct || *cluster == home) {
                let members = job.map.members(cluster);
                let speaker = if cluster == home { job.map.local(root).0 } else { 0 };
                let mean = job.bytes_of(blocks, cluster) / members.len() as f64;
                groups::scatter(&mut stages.clock, members, speaker, mean);
            }
        });
    }

    fn alltoall(&mut self, exchange: &Exchange, is_direct: bool) {
        let job = self.job;
        let between =
            |from: Cluster, to: Cluster| job.bytes_exchanged(exchange, job.map.members(from), job.map.members(to));
        let mean = |from: Cluster, to: Cluster, at: Cluster| between(from, to) / job.map.members(at).len() as f64;
        if !is_direct {
            self.each_pair("gather inside", |stages, here, other| {
                groups::gather(&mut stages.clock, job.map.members(here), 0, mean(here, other, here));
            });
        }
        self.inside("exchange inside", |stages, members| {
            job.alltoall(&mut stages.clock, members, exchange);
        });
        let messages = self.pairs(|_, from, to| match is_direct {
            true => {
                let each = |from: &Rank| job.map.members(to).iter().map(move |to| (*from, *to)).collect::<Vec<_>>();
                let pairs = job.map.members(from).iter().flat_map(each);
                pairs.map(|(from, to)| (from, to, job.bytes(exchange.len(from, to)))).collect()
            }
            false => vec![(job.map.coordinator(from), job.map.coordinator(to), between(from, to))],
        });
        self.cross(&messages);
        if !is_direct {
            self.each_pair("sort and scatter inside", |stages, here, other| {
                stages.clock.work(job.map.coordinator(here), between(other, here));
                groups::scatter(&mut stages.clock, job.map.members(here), 0, mean(other, here, here));
            });
        }
    }

    fn reduce_inside(&mut self, bytes: f64, is_shared: bool, root: Option<Rank>, commutative: bool) {
        let map = self.job.map;
        self.inside("reduce inside", |stages, members| match is_shared {
            true => groups::reduce_scatter(&mut stages.clock, members, bytes),
            false => {
                let root = root.filter(|root| map.cluster_of(*root) == map.cluster_of(members[0]));
                let local_root = root.map_or(0, |root| map.local(root).0);
                stages.job.reduce(&mut stages.clock, members, local_root, bytes, commutative);
            }
        });
    }

    fn gather_shares(&mut self, bytes: f64) {
        self.inside("gather inside", |stages, members| {
            let carried = stages.carried(stages.job.map.cluster_of(members[0]), bytes);
            let each: Vec<f64> = members.iter().map(|rank| carried[rank.0]).collect();
            groups::allgather(&mut stages.clock, members, &each);
        });
    }

    /// Who receives reduces what came.
    fn combine(&mut self, messages: &[Message]) {
        self.stage("combine", |stages| {
            messages.iter().for_each(|message| stages.clock.work(message.to, message.bytes));
        });
    }

    fn cross(&mut self, messages: &[Message]) {
        let network = self.job.network;
        let delay_ns = |message: &Message| {
            let clusters = [message.from, message.to].map(|rank| self.job.map.cluster_of(rank));
            network.between(clusters[0], clusters[1]).round_trip_ns as f64 / 2.0
        };
        let delay_ns = messages.iter().map(delay_ns).fold(0.0, f64::max);
        let before_ns = self.clock.elapsed_ns();
        self.clock.round(messages);
        let crossed_ns = self.clock.elapsed_ns() - before_ns;
        self.link_ns = (crossed_ns - delay_ns).max(0.0);
        self.rail_ns = self.clock.rails_ns(messages);
        self.parts.push(Part { what: DELAY, ns: crossed_ns - self.link_ns });
        self.parts.push(Part { what: TRANSFER, ns: self.link_ns });
    }

    fn stage(&mut self, what: &'static str, run: impl FnOnce(&mut Self)) {
        let before_ns = self.clock.elapsed_ns();
        run(self);
        self.parts.push(Part { what, ns: self.clock.elapsed_ns() - before_ns });
    }

    fn inside(&mut self, what: &'static str, run: impl Fn(&mut Self, &[Rank])) {
        let map = self.job.map;
        self.stage(what, |stages| map.clusters().for_each(|cluster| run(stages, map.members(cluster))));
    }

    fn each_pair(&mut self, what: &'static str, run: impl Fn(&mut Self, Cluster, Cluster)) {
        let map = self.job.map;
        self.stage(what, |stages| {
            map.clusters().for_each(|here| map.others(here).for_each(|other| run(stages, here, other)));
        });
    }

    /// The other segments, when all stages overlap: each follows as soon as the slowest stage lets it.
    fn follow_overlapping(&mut self) {
        let busy_ns = self.parts.iter().filter(|part| part.what != DELAY).map(|part| part.ns).fold(0.0, f64::max);
        self.follow(busy_ns);
    }

    /// The other segments, when a host does all stages over one rail: only the link between clusters overlaps.
    fn follow_over_one_rail(&mut self) {
        let inside = self.parts.iter().filter(|part| part.what != DELAY && part.what != TRANSFER);
        let busy_ns = inside.map(|part| part.ns).sum::<f64>() + self.rail_ns;
        self.follow(busy_ns.max(self.link_ns));
    }

    fn follow(&mut self, each_ns: f64) {
        if self.segments > 1.0 {
            self.parts.push(Part { what: "further segments", ns: (self.segments - 1.0) * each_ns });
        }
    }

    /// Messages from each cluster to each other one.
    fn pairs(&self, of: impl Fn(&Self, Cluster, Cluster) -> Vec<(Rank, Rank, f64)>) -> Vec<Message> {
        let map = self.job.map;
        let pairs = map.clusters().flat_map(|from| map.others(from).map(move |to| (from, to)));
        let messages = pairs.flat_map(|(from, to)| of(self, from, to));
        messages.map(|(from, to, bytes)| Message { from, to, bytes }).collect()
    }

    /// Bytes that each rank of a cluster carries of so many, by rank.
    fn carried(&self, cluster: Cluster, bytes: f64) -> Vec<f64> {
        let map = self.job.map;
        let carriers = map.carriers(cluster);
        let mut carried = vec![0.0; map.ranks()];
        carriers.iter().for_each(|local| carried[map.global(cluster, *local).0] = bytes / carriers.len() as f64);
        carried
    }

    /// What the hosts of a cluster send to those of another, of so many bytes.
    fn lanes(&self, from: Cluster, to: Cluster, bytes: f64) -> Vec<(Rank, Rank, f64)> {
        let map = self.job.map;
        let lanes = overlaps(map.carriers(from).len(), map.carriers(to).len());
        let rank = |cluster: Cluster, index: usize| map.global(cluster, map.carriers(cluster)[index]);
        lanes.into_iter().map(|(one, other, part)| (rank(from, one), rank(to, other), part * bytes)).collect()
    }
}
