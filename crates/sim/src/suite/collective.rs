//! Collective benchmarks: the time of one operation, mean over the ranks, a barrier before each.

use super::benchmark::Benchmark;
use super::exchange::us;
use super::run::{Findings, Options};
use crate::models::time::Time;
use crate::mpi::collectives::{Group, allreduce, alltoall, barrier, broadcast, reduce, ring};
use crate::mpi::program::Mpi;

const BARRIER: u32 = 20;
const OPERATION: u32 = 30;

pub(super) async fn run(benchmark: Benchmark, mpi: &Mpi, options: &Options, found: &Findings) {
    let group = Group::all(mpi);
    let mut total = Time::default();
    for iteration in 0..options.warmup + options.iterations {
        barrier(mpi, &group, BARRIER).await;
        let start = mpi.time();
        let size = options.size;
        match benchmark {
            Benchmark::Bcast => broadcast(mpi, &group, options.broadcast, size, OPERATION).await,
            Benchmark::Reduce => reduce(mpi, &group, size, OPERATION).await,
            Benchmark::Allreduce => allreduce(mpi, &group, size, OPERATION).await,
            Benchmark::Allgather => ring(mpi, &group, size * u64::from(mpi.ranks()), OPERATION).await,
            Benchmark::Alltoall => alltoall(mpi, &group, size, OPERATION).await,
            _ => barrier(mpi, &group, OPERATION).await,
        }
        if iteration >= options.warmup {
            total = total + (mpi.time() - start);
        }
    }
    found.borrow_mut().push((u64::from(mpi.rank()), us(total) / f64::from(options.iterations)));
}
