//! Collective benchmarks: the time of one operation, mean over the ranks, a barrier before each.

use fishplate_collectives::{Blocks, Cluster, ClusterMap, Exchange, Operation, Rank, Schedule, schedule};

use super::benchmark::Benchmark;
use super::exchange::us;
use super::options::Options;
use super::timing::{Measurements, typical};
use crate::models::time::Time;
use crate::mpi::collectives::{
    Group, allreduce, alltoall, barrier, barrier_by_host, broadcast, reduce, ring, scheduled,
};
use crate::mpi::program::{Mpi, Tag};

const BARRIER: Tag = 20;
const OPERATION: Tag = 30;

/// The operation of a benchmark among `ranks` ranks, with sizes in bytes.
fn operation(benchmark: Benchmark, ranks: usize, size: u64) -> Option<Operation> {
    let (root, len) = (Rank(0), size as usize);
    Some(match benchmark {
        Benchmark::Barrier => Operation::Barrier,
        Benchmark::Bcast => Operation::Broadcast { root, len },
        Benchmark::Reduce => Operation::Reduce { root, len, commutative: true },
        Benchmark::Allreduce => Operation::Allreduce { len, commutative: true },
        Benchmark::Allgather => Operation::Allgather { blocks: Blocks::equal(ranks, len) },
        Benchmark::Alltoall => Operation::Alltoall { exchange: Exchange::equal(ranks, len) },
        _ => return None,
    })
}

/// Program of `rank` if a schedule was requested.
///
/// # Errors
/// When the algorithm has none for this benchmark.
pub(super) fn plan(
    benchmark: Benchmark,
    options: &Options,
    map: &ClusterMap,
    rank: u32,
) -> Result<Option<Schedule>, String> {
    let Some(algorithm) = options.algorithm else { return Ok(None) };
    let operation = operation(benchmark, map.ranks(), options.size);
    let steps = operation.and_then(|operation| schedule(&operation, map, algorithm, Rank(rank as usize), false));
    steps.map(Some).ok_or_else(|| format!("{} has no schedule \"{algorithm}\" here", benchmark.name()))
}

pub(super) async fn run(benchmark: Benchmark, mpi: &Mpi, options: &Options, map: &ClusterMap, found: &Measurements) {
    let all = Group::all(mpi);
    let cluster = cluster(mpi, map);
    // `run::run` has checked that there is a plan if one was asked for.
    let plan = plan(benchmark, options, map, mpi.rank()).ok().flatten();
    let mut each = Vec::new();
    for iteration in 0..options.warmup + options.iterations {
        if options.aligned {
            mpi.align().await
        } else if options.by_host {
            barrier_by_host(mpi, map, BARRIER).await
        } else {
            barrier(mpi, &all, BARRIER).await
        };
        let start = mpi.time();
        match &plan {
            Some(schedule) => scheduled(mpi, schedule, &cluster, OPERATION).await,
            None => native(benchmark, mpi, &all, options).await,
        }
        if iteration >= options.warmup {
            each.push(mpi.time() - start);
        }
    }
    if options.median {
        return add_shares(found, &each, mpi.ranks());
    }
    found.borrow_mut().push((u64::from(mpi.rank()), us(typical(each, options))));
}

/// The time of an iteration is the mean over the ranks.
fn add_shares(found: &Measurements, times: &[Time], ranks: u32) {
    let mut found = found.borrow_mut();
    for (iteration, time) in times.iter().enumerate() {
        if found.len() == iteration {
            found.push((iteration as u64, 0.0));
        }
        found[iteration].1 += us(*time) / f64::from(ranks);
    }
}

/// As the library does it by itself.
async fn native(benchmark: Benchmark, mpi: &Mpi, all: &Group, options: &Options) {
    let size = options.size;
    match benchmark {
        Benchmark::Bcast => broadcast(mpi, all, options.broadcast, size, OPERATION).await,
        Benchmark::Reduce => reduce(mpi, all, size, OPERATION).await,
        Benchmark::Allreduce => allreduce(mpi, all, size, OPERATION).await,
        Benchmark::Allgather => ring(mpi, all, size * u64::from(mpi.ranks()), OPERATION).await,
        Benchmark::Alltoall => alltoall(mpi, all, size, OPERATION).await,
        _ => barrier(mpi, all, OPERATION).await,
    }
}

/// The ranks of this one's cluster, which follow each other.
fn cluster(mpi: &Mpi, map: &ClusterMap) -> Group {
    let Cluster(index) = map.cluster_of(Rank(mpi.rank() as usize));
    let members = map.members(Cluster(index));
    Group::of(members[0].0 as u32, members.len() as u32)
}
