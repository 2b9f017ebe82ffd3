//! The choice of the fastest algorithm, from estimates of the network.
//!
//! [`candidates`] lists the algorithms of a [`problem`]. What each would cost is simulated message by message, with a
//! clock a rank ([`rank_clocks`]): a schedule's phases in [`phases`], the MPI's own in [`native_cost`], both by the
//! textbook algorithms within a group ([`group_algorithms`]). Other modules of this crate use [`choose`] only.

mod candidates;
mod group_algorithms;
mod native_cost;
mod phases;
mod problem;
mod rank_clocks;
mod send_window;
mod wan_traffic;

use problem::Problem;

use crate::algorithm::Algorithm;
use crate::map::ClusterMap;
use crate::network::Network;
use crate::operation::Operation;

/// The share of the MPI's own time that an algorithm must stay below to be taken: estimates err by about as much, and no
/// operation may become slower.
const MARGIN: f64 = 0.9;

/// A phase of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Its description.
    pub name: &'static str,
    /// How much later it makes the end, in nanoseconds.
    pub time_ns: f64,
}

/// An algorithm that could be taken, and what it would cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its phases.
    pub phases: Vec<Phase>,
    /// Bytes of payload that cross between clusters, all clusters and both ways together.
    pub wan_bytes: u64,
    /// Most crossings between clusters that follow each other.
    pub wan_crossings: u32,
}

impl Candidate {
    /// How long it would take, in nanoseconds.
    pub fn time_ns(&self) -> f64 {
        self.phases.iter().map(|phase| phase.time_ns).sum()
    }
}

/// The chosen algorithm, and the candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The chosen algorithm.
    pub algorithm: Algorithm,
    /// All that was looked at: the MPI's own first, then those with schedules.
    pub candidates: Vec<Candidate>,
    /// Why it was chosen.
    pub why: &'static str,
}

/// The algorithm for an operation on elements of `element_bytes` bytes. Deterministic: equal arguments give equal results on
/// all ranks.
///
/// Times are modelled message by message, at a cost that grows with ranks squared at worst: keep what was chosen.
pub fn choose(operation: &Operation, element_bytes: usize, map: &ClusterMap, network: &Network) -> Choice {
    let problem = Problem { operation, element_bytes, map, network };
    let mut candidates = vec![problem.native()];
    if map.cluster_count() > 1 {
        candidates.extend(problem.with_schedules());
    }
    let (algorithm, why) = best_of(&problem, &candidates);
    Choice { algorithm, candidates, why }
}

/// The best of the candidates, of which the first is the MPI's own, and why it is.
fn best_of(problem: &Problem, candidates: &[Candidate]) -> (Algorithm, &'static str) {
    let limit_ns = MARGIN * candidates[0].time_ns();
    let mut others: Vec<&Candidate> = candidates[1..].iter().collect();
    others.sort_by(|one, other| one.time_ns().total_cmp(&other.time_ns()));
    let mut faster = others.iter().take_while(|candidate| candidate.time_ns() < limit_ns);
    let why = match others.first() {
        None if problem.map.cluster_count() < 2 => "all ranks are in one cluster",
        None => "operands that do not commute must stay in rank order, which clusters interleave",
        Some(fastest) if fastest.time_ns() >= limit_ns => "no schedule looks faster by a tenth",
        Some(_) => "no schedule looks faster by a tenth if the hosts of a cluster share one link",
    };
    match faster.find(|candidate| problem.bears_sharing(candidate, MARGIN)) {
        None => (Algorithm::Native, why),
        Some(best) => (best.algorithm, "it looks fastest"),
    }
}
