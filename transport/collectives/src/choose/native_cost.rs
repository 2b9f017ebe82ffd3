//! Costs of the MPI's own algorithms: on the whole communicator, and inside of a cluster.

use super::group_algorithms::{self, Delivery};
use super::problem::Problem;
use super::rank_clocks::RankClocks;
use super::{Candidate, Phase};
use crate::algorithm::Algorithm;
use crate::build;
use crate::map::Rank;
use crate::network::Library;
use crate::operation::{Blocks, Exchange, Operation};

/// Longer messages MPIs take flat over all ranks, as if hosts did not matter: MPICH 5.0.2, on two hosts with four ranks
/// each, needs one crossing for a broadcast up to 16 KiB, and two or three for longer ones.
const BY_HOSTS_BYTES: f64 = 16_384.0;

/// Up to here MPICH's reduce sends whole operands (2 KiB). An allreduce of another library is assumed to have this limit too.
const REDUCED_WHOLE_BYTES: f64 = 2_048.0;

impl Problem<'_> {
    /// The MPI's own algorithm: flat over all ranks, or for short messages among one rank of each host and inside of the
    /// hosts, which some MPIs do.
    pub fn native(&self) -> Candidate {
        let all: Vec<Rank> = (0..self.map.ranks()).map(Rank).collect();
        let mut flat = RankClocks::new(self.map, self.network);
        self.carried_out(&mut flat, &all);
        let by_hosts =
            self.by_hosts(&all).filter(|clocks| self.is_as_mpich() || clocks.elapsed_ns() < flat.elapsed_ns());
        let (clocks, name) = match by_hosts {
            Some(clocks) => (clocks, "among hosts, and inside of them"),
            None => (flat, "among all ranks"),
        };
        Candidate {
            algorithm: Algorithm::Native,
            phases: vec![Phase { name, time_ns: clocks.elapsed_ns() }],
            wan_bytes: clocks.wan_bytes(),
            wan_crossings: clocks.wan_crossings(),
        }
    }

    /// The whole operation among a group that holds all ranks.
    fn carried_out(&self, clocks: &mut RankClocks, all: &[Rank]) {
        let mean = |blocks: &Blocks| self.bytes(blocks.total()) / all.len() as f64;
        match self.operation {
            Operation::Barrier => self.barrier(clocks, all),
            Operation::Broadcast { root, len } => group_algorithms::broadcast(clocks, all, root.0, self.bytes(*len)),
            Operation::Reduce { root, len, commutative } => {
                self.reduce(clocks, all, root.0, self.bytes(*len), *commutative);
            }
            Operation::Allreduce { len, commutative } => self.allreduce(clocks, all, *len, *commutative),
            Operation::Allgather { blocks } => {
                let bytes: Vec<f64> = all.iter().map(|rank| self.bytes(blocks.len(*rank))).collect();
                group_algorithms::allgather(clocks, all, &bytes);
            }
            Operation::ReduceScatter { blocks, .. } => {
                group_algorithms::reduce_scatter(clocks, all, self.bytes(blocks.total()));
            }
            Operation::Gather { root, blocks } if blocks.is_equal() => {
                group_algorithms::gather(clocks, all, root.0, mean(blocks))
            }
            Operation::Scatter { root, blocks } if blocks.is_equal() => {
                group_algorithms::scatter(clocks, all, root.0, mean(blocks));
            }
            Operation::Gather { root, blocks } => {
                group_algorithms::gather_each(clocks, all, *root, &|rank| self.bytes(blocks.len(rank)));
            }
            Operation::Scatter { root, blocks } => {
                group_algorithms::scatter_each(clocks, all, *root, &|rank| self.bytes(blocks.len(rank)));
            }
            Operation::Alltoall { exchange } => self.alltoall(clocks, all, exchange),
        }
    }

    /// Blocks among a group.
    pub fn alltoall(&self, clocks: &mut RankClocks, group: &[Rank], exchange: &Exchange) {
        let mean = self.bytes_exchanged(exchange, group, group) / group.len().pow(2) as f64;
        let delivery = self.delivery(group.len(), mean);
        group_algorithms::alltoall(clocks, group, &|from, to| self.bytes(exchange.len(from, to)), delivery);
    }

    /// Exchange of blocks of this mean length, in bytes, between all ranks. In MPICH they travel together up to 256
    /// bytes, from 8 ranks on, and in pairs beyond 32 KiB. Open MPI 4 and 5 have a table for each number of ranks
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
    fn barrier(&self, clocks: &mut RankClocks, group: &[Rank]) {
        match (self.network.library(), group.len()) {
            (Library::Other, 4..8) => group_algorithms::barrier_through_one(clocks, group),
            (Library::Other, ..64) => group_algorithms::allreduce(clocks, group, 0.0, true),
            _ => group_algorithms::barrier(clocks, group),
        }
    }

    /// MPICH reduces parts of long operands, Open MPI 5 none (its `coll_tuned_decision_fixed.c`; but for less than 8
    /// bytes among two or three ranks).
    pub fn reduce(&self, clocks: &mut RankClocks, group: &[Rank], root: usize, bytes: f64, commutative: bool) {
        let is_whole = self.network.library() == Library::Other || bytes <= REDUCED_WHOLE_BYTES;
        group_algorithms::reduce(clocks, group, root, bytes, is_whole || !commutative);
    }

    /// MPICH, from 3.4 on, exchanges whole operands up to 8 bytes, or where there are fewer elements than ranks (its
    /// `maint/tuning/coll/mpir/generic.json`).
    fn allreduce(&self, clocks: &mut RankClocks, group: &[Rank], len: usize, commutative: bool) {
        let bytes = self.bytes(len);
        let is_short = match self.network.library() {
            Library::Mpich => bytes <= 8.0 || len < 1 << group.len().ilog2(),
            Library::Other => bytes <= REDUCED_WHOLE_BYTES,
        };
        group_algorithms::allreduce(clocks, group, bytes, is_short || !commutative);
    }

    /// Whether it is known that hosts come first.
    fn is_as_mpich(&self) -> bool {
        self.network.library() == Library::Mpich && matches!(self.operation, Operation::Allreduce { .. })
    }

    /// As MPIs that know hosts do it, where there are hosts with several ranks.
    fn by_hosts(&self, all: &[Rank]) -> Option<RankClocks<'_>> {
        let mut hosts: Vec<Vec<Rank>> = vec![Vec::new(); self.map.host_count()];
        all.iter().for_each(|rank| hosts[self.map.host_of(*rank)].push(*rank));
        let is_long = self.bytes(self.operation.len()) > BY_HOSTS_BYTES;
        if is_long || hosts.len() == all.len() || !build::keeps_order(self.map, self.operation) {
            return None;
        }
        let mut clocks = RankClocks::new(self.map, self.network);
        let leader = |host: &Vec<Rank>, root: Option<Rank>| root.filter(|root| host.contains(root)).unwrap_or(host[0]);
        let leaders = |root| hosts.iter().map(|host| leader(host, root)).collect::<Vec<Rank>>();
        let position = |group: &[Rank], rank: Rank| group.iter().position(|other| *other == rank).unwrap_or(0);
        match self.operation {
            Operation::Barrier => {
                hosts.iter().for_each(|host| self.barrier(&mut clocks, host));
                self.barrier(&mut clocks, &leaders(None));
                hosts.iter().for_each(|host| group_algorithms::broadcast(&mut clocks, host, 0, 0.0));
            }
            Operation::Broadcast { root, len } => {
                let leaders = leaders(Some(*root));
                group_algorithms::broadcast(&mut clocks, &leaders, position(&leaders, *root), self.bytes(*len));
                for (host, leader) in hosts.iter().zip(&leaders) {
                    group_algorithms::broadcast(&mut clocks, host, position(host, *leader), self.bytes(*len));
                }
            }
            Operation::Reduce { root, len, commutative } => {
                let leaders = leaders(Some(*root));
                for (host, leader) in hosts.iter().zip(&leaders) {
                    self.reduce(&mut clocks, host, position(host, *leader), self.bytes(*len), *commutative);
                }
                self.reduce(&mut clocks, &leaders, position(&leaders, *root), self.bytes(*len), *commutative);
            }
            Operation::Allreduce { len, commutative } => {
                let bytes = self.bytes(*len);
                hosts.iter().for_each(|host| self.reduce(&mut clocks, host, 0, bytes, *commutative));
                self.allreduce(&mut clocks, &leaders(None), *len, *commutative);
                hosts.iter().for_each(|host| group_algorithms::broadcast(&mut clocks, host, 0, bytes));
            }
            _ => return None,
        }
        Some(clocks)
    }
}
