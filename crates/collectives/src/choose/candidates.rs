//! The candidates for an operation, with what each would cost.

use super::clock::Clock;
use super::groups::Delivery;
use super::stages::Stages;
use super::{Candidate, Part, ahead, groups, traffic};
use crate::algorithm::{AT_ONCE, Algorithm, MAX_SEGMENTS};
use crate::build;
use crate::map::{Cluster, ClusterMap, Rank};
use crate::network::{Library, Network};
use crate::operation::{Blocks, Exchange, Operation};

/// No segment is shorter (32 KiB): each makes all ranks of a cluster take part once more. Measured with more ranks than
/// processors, 1 ms apart: a broadcast of 128 KiB takes 1.5 ms on average in segments of 32 KiB, 2.9 in ones of 8.
const MIN_SEGMENT_BYTES: f64 = 32_768.0;

/// Longer messages MPIs take flat over all ranks, as if hosts did not matter: MPICH 5.0.2, on two hosts with four ranks
/// each, needs one crossing for a broadcast up to 16 KiB, and two or three for longer ones.
const BY_HOSTS_BYTES: f64 = 16_384.0;

/// Up to here MPICH's reduce sends whole operands (2 KiB). The same is assumed of an allreduce that is not MPICH's.
const REDUCED_WHOLE_BYTES: f64 = 2_048.0;

/// What is to be done, where.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub operation: &'a Operation,
    pub element_bytes: usize,
    pub map: &'a ClusterMap,
    pub network: &'a Network,
}

impl Job<'_> {
    /// The MPI's own algorithm: flat over all ranks, or for short messages among one rank of each host and inside of the
    /// hosts, which some MPIs do.
    pub fn native(&self) -> Candidate {
        let all: Vec<Rank> = (0..self.map.ranks()).map(Rank).collect();
        let mut flat = Clock::new(self.map, self.network);
        self.carried_out(&mut flat, &all);
        let by_hosts = self.by_hosts(&all).filter(|clock| self.is_as_mpich() || clock.elapsed_ns() < flat.elapsed_ns());
        let (clock, what) = match by_hosts {
            Some(clock) => (clock, "among hosts, and inside of them"),
            None => (flat, "among all ranks"),
        };
        Candidate {
            algorithm: Algorithm::Native,
            parts: vec![Part { what, ns: clock.elapsed_ns() }],
            wan_bytes: clock.wan_bytes(),
            wan_crossings: clock.wan_crossings(),
        }
    }

    /// Those with schedules, each in the form that suits it best.
    pub fn with_schedules(&self) -> Vec<Candidate> {
        if !build::keeps_order(self.map, self.operation) {
            return Vec::new();
        }
        let has_many_hosts = self.map.host_count() > self.map.cluster_count();
        let best = |forms: Vec<Algorithm>| {
            let candidates = forms.into_iter().map(|algorithm| self.candidate(algorithm));
            candidates.min_by(|one, other| one.time_ns().total_cmp(&other.time_ns()))
        };
        self.algorithms(has_many_hosts).into_iter().filter_map(best).collect()
    }

    /// Whether a candidate stays below this share of the MPI's own time also if hosts share a link that carries no more than
    /// one of them, where it is not known what they reach together. Asked of those that count on the rates of all hosts.
    pub fn bears_sharing(&self, candidate: &Candidate, margin: f64) -> bool {
        if !matches!(candidate.algorithm, Algorithm::Shared { .. }) {
            return true;
        }
        let network = self.network.where_hosts_share();
        let job = Job { network: &network, ..*self };
        job.candidate(candidate.algorithm).time_ns() < margin * job.native().time_ns()
    }

    /// The forms of each algorithm that there is.
    fn algorithms(&self, has_many_hosts: bool) -> Vec<Vec<Algorithm>> {
        let in_segments = |of: fn(u16) -> Algorithm| self.segments().into_iter().map(of).collect::<Vec<_>>();
        let coordinators = || in_segments(|segments| Algorithm::Coordinators { segments });
        let direct = |ahead| vec![Algorithm::Direct { ahead }];
        match self.operation {
            Operation::Barrier => vec![direct(AT_ONCE)],
            Operation::Gather { .. } | Operation::Scatter { .. } => vec![coordinators(), direct(AT_ONCE)],
            Operation::Alltoall { exchange } => vec![coordinators(), direct(ahead::of_exchange(self, exchange))],
            // Who gets a block has its own rail to receive it.
            Operation::ReduceScatter { .. } => vec![vec![Algorithm::Shared { segments: 1 }]],
            // Where each cluster is one host, there is nobody to share with.
            _ if has_many_hosts && self.is_worth_sharing() => {
                vec![coordinators(), in_segments(|segments| Algorithm::Shared { segments })]
            }
            // Segments from all hosts keep a link flooded that one could fill. Measured as in `Clock`: an allreduce of 1 MiB
            // takes 22 ms in 8 segments and 24 in 32, the MPI's own 19.
            _ if has_many_hosts => vec![coordinators(), vec![Algorithm::Shared { segments: 1 }]],
            _ => vec![coordinators()],
        }
    }

    /// Whether hosts of a cluster reach much more together than alone, between any two clusters.
    fn is_worth_sharing(&self) -> bool {
        let is_worth_it = |from, to| self.network.between(from, to).is_worth_sharing();
        self.map.clusters().all(|from| self.map.others(from).all(|to| is_worth_it(from, to)))
    }

    fn segments(&self) -> Vec<u16> {
        let bytes = self.bytes(self.operation.len());
        let fits = |segments: &u16| *segments == 1 || bytes / f64::from(*segments) >= MIN_SEGMENT_BYTES;
        (0..u16::BITS).map(|exponent| 1 << exponent).take_while(|count| *count <= MAX_SEGMENTS).filter(fits).collect()
    }

    fn candidate(&self, algorithm: Algorithm) -> Candidate {
        Candidate {
            algorithm,
            parts: Stages::of(self, algorithm),
            wan_bytes: (traffic::wan_elements(self.operation, self.map) * self.element_bytes) as u64,
            wan_crossings: traffic::wan_crossings(algorithm, self.map),
        }
    }

    /// Bytes of so many elements.
    pub fn bytes(&self, len: usize) -> f64 {
        len as f64 * self.element_bytes as f64
    }

    /// Bytes of the blocks of a cluster.
    pub fn bytes_of(&self, blocks: &Blocks, cluster: Cluster) -> f64 {
        self.map.members(cluster).iter().map(|rank| self.bytes(blocks.len(*rank))).sum()
    }

    /// Bytes of an exchange from some ranks to others.
    pub fn bytes_exchanged(&self, exchange: &Exchange, from: &[Rank], to: &[Rank]) -> f64 {
        from.iter().flat_map(|from| to.iter().map(|to| self.bytes(exchange.len(*from, *to)))).sum()
    }

    /// The whole operation among a group that holds all ranks.
    fn carried_out(&self, clock: &mut Clock, all: &[Rank]) {
        let mean = |blocks: &Blocks| self.bytes(blocks.total()) / all.len() as f64;
        match self.operation {
            Operation::Barrier => self.barrier(clock, all),
            Operation::Broadcast { root, len } => groups::broadcast(clock, all, root.0, self.bytes(*len)),
            Operation::Reduce { root, len, commutative } => {
                self.reduce(clock, all, root.0, self.bytes(*len), *commutative);
            }
            Operation::Allreduce { len, commutative } => self.allreduce(clock, all, *len, *commutative),
            Operation::Allgather { blocks } => {
                let bytes: Vec<f64> = all.iter().map(|rank| self.bytes(blocks.len(*rank))).collect();
                groups::allgather(clock, all, &bytes);
            }
            Operation::ReduceScatter { blocks, .. } => {
                groups::reduce_scatter(clock, all, self.bytes(blocks.total()));
            }
            Operation::Gather { root, blocks } if blocks.is_equal() => groups::gather(clock, all, root.0, mean(blocks)),
            Operation::Scatter { root, blocks } if blocks.is_equal() => {
                groups::scatter(clock, all, root.0, mean(blocks));
            }
            Operation::Gather { root, blocks } => {
                groups::gather_each(clock, all, *root, &|rank| self.bytes(blocks.len(rank)));
            }
            Operation::Scatter { root, blocks } => {
                groups::scatter_each(clock, all, *root, &|rank| self.bytes(blocks.len(rank)));
            }
            Operation::Alltoall { exchange } => self.alltoall(clock, all, exchange),
        }
    }

    /// Blocks among a group.
    pub fn alltoall(&self, clock: &mut Clock, group: &[Rank], exchange: &Exchange) {
        let mean = self.bytes_exchanged(exchange, group, group) / group.len().pow(2) as f64;
        let delivery = self.delivery(group.len(), mean);
        groups::alltoall(clock, group, &|from, to| self.bytes(exchange.len(from, to)), delivery);
    }

    /// How blocks of so many bytes on the average get from each rank to each. In MPICH they travel together up to 256 bytes,
    /// from 8 ranks on, and in pairs beyond 32 KiB. Open MPI 4 and 5 have a table for each number of ranks
    /// (`coll_tuned_decision_fixed.c`), of which this is the outline.
    fn delivery(&self, ranks: usize, bytes: f64) -> Delivery {
        match self.network.library() {
            Library::Mpich if bytes <= 256.0 && ranks >= 8 => Delivery::Together { mean: bytes },
            Library::Mpich if bytes > 32_768.0 => Delivery::InPairs,
            Library::Other if bytes < 512.0 && ranks >= 16 => Delivery::Together { mean: bytes },
            Library::Other if bytes >= 262_144.0 && ranks >= 64 => Delivery::InPairs,
            _ => Delivery::AtOnce,
        }
    }

    /// MPICH disseminates. In Open MPI 4 and 5 partners exchange; among a few ranks, all go through one (its
    /// `coll_tuned_decision_fixed.c`).
    fn barrier(&self, clock: &mut Clock, group: &[Rank]) {
        match (self.network.library(), group.len()) {
            (Library::Other, 4..8) => groups::barrier_through_one(clock, group),
            (Library::Other, ..64) => groups::allreduce(clock, group, 0.0, true),
            _ => groups::barrier(clock, group),
        }
    }

    /// MPICH reduces parts of long operands, Open MPI 5 none (its `coll_tuned_decision_fixed.c`; but for less than 8 bytes
    /// among two or three ranks).
    pub fn reduce(&self, clock: &mut Clock, group: &[Rank], root: usize, bytes: f64, commutative: bool) {
        let is_whole = self.network.library() == Library::Other || bytes <= REDUCED_WHOLE_BYTES;
        groups::reduce(clock, group, root, bytes, is_whole || !commutative);
    }

    /// MPICH, from 3.4 on, exchanges whole operands up to 8 bytes, or where there are fewer elements than ranks (its
    /// `maint/tuning/coll/mpir/generic.json`).
    fn allreduce(&self, clock: &mut Clock, group: &[Rank], len: usize, commutative: bool) {
        let bytes = self.bytes(len);
        let is_short = match self.network.library() {
            Library::Mpich => bytes <= 8.0 || len < 1 << group.len().ilog2(),
            Library::Other => bytes <= REDUCED_WHOLE_BYTES,
        };
        groups::allreduce(clock, group, bytes, is_short || !commutative);
    }

    /// Whether it is known that hosts come first.
    fn is_as_mpich(&self) -> bool {
        self.network.library() == Library::Mpich && matches!(self.operation, Operation::Allreduce { .. })
    }

    /// As MPIs that know hosts do it, where there are hosts with several ranks.
    fn by_hosts(&self, all: &[Rank]) -> Option<Clock<'_>> {
        let mut hosts: Vec<Vec<Rank>> = vec![Vec::new(); self.map.host_count()];
        all.iter().for_each(|rank| hosts[self.map.host_of(*rank)].push(*rank));
        let is_long = self.bytes(self.operation.len()) > BY_HOSTS_BYTES;
        if is_long || hosts.len() == all.len() || !build::keeps_order(self.map, self.operation) {
            return None;
        }
        let mut clock = Clock::new(self.map, self.network);
        let leader = |host: &Vec<Rank>, root: Option<Rank>| root.filter(|root| host.contains(root)).unwrap_or(host[0]);
        let leaders = |root| hosts.iter().map(|host| leader(host, root)).collect::<Vec<Rank>>();
        let position = |group: &[Rank], rank: Rank| group.iter().position(|other| *other == rank).unwrap_or(0);
        match self.operation {
            Operation::Barrier => {
                hosts.iter().for_each(|host| self.barrier(&mut clock, host));
                self.barrier(&mut clock, &leaders(None));
                hosts.iter().for_each(|host| groups::broadcast(&mut clock, host, 0, 0.0));
            }
            Operation::Broadcast { root, len } => {
                let leaders = leaders(Some(*root));
                groups::broadcast(&mut clock, &leaders, position(&leaders, *root), self.bytes(*len));
                for (host, leader) in hosts.iter().zip(&leaders) {
                    groups::broadcast(&mut clock, host, position(host, *leader), self.bytes(*len));
                }
            }
            Operation::Reduce { root, len, commutative } => {
                let leaders = leaders(Some(*root));
                for (host, leader) in hosts.iter().zip(&leaders) {
                    self.reduce(&mut clock, host, position(host, *leader), self.bytes(*len), *commutative);
                }
                self.reduce(&mut clock, &leaders, position(&leaders, *root), self.bytes(*len), *commutative);
            }
            Operation::Allreduce { len, commutative } => {
                let bytes = self.bytes(*len);
                hosts.iter().for_each(|host| self.reduce(&mut clock, host, 0, bytes, *commutative));
                self.allreduce(&mut clock, &leaders(None), *len, *commutative);
                hosts.iter().for_each(|host| groups::broadcast(&mut clock, host, 0, bytes));
            }
            _ => return None,
        }
        Some(clock)
    }
}
