//! One-sided benchmarks with post, start, complete, wait.

use super::benchmark::Benchmark;
use super::exchange::{mb_s, us};
use super::run::{Findings, Options};
use crate::models::time::Time;
use crate::mpi::program::Mpi;

const POST: u32 = 10;
const COMPLETE: u32 = 11;
const DATA: u32 = 12;

/// What is done to the target's memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Put,
    Get,
    Accumulate,
}

fn access(benchmark: Benchmark) -> Access {
    match benchmark {
        Benchmark::GetLatency | Benchmark::GetBandwidth | Benchmark::GetBibandwidth => Access::Get,
        Benchmark::AccumulateLatency => Access::Accumulate,
        _ => Access::Put,
    }
}

/// So many operations on `target`, from start to complete.
async fn origin(mpi: &Mpi, target: u32, how: Access, count: u32, size: u64) {
    mpi.recv(target, POST, 0).await;
    mpi.synchronise().await;
    if how == Access::Get {
        // The target may go on only when its memory has been read.
        mpi.read(target, size, count).await;
        return mpi.send(target, COMPLETE, 0).await;
    }
    let mut requests = Vec::with_capacity(count as usize);
    for _ in 0..count {
        requests.push(match how {
            // Sent as a message, which the target adds.
            Access::Accumulate => mpi.isend(target, DATA, size).await,
            _ => mpi.put(target, size).await,
        });
    }
    // On one connection nothing overtakes the data.
    mpi.send(target, COMPLETE, 0).await;
    mpi.wait_all(&requests).await;
}

async fn post(mpi: &Mpi, origin: u32) {
    mpi.send(origin, POST, 0).await;
}

async fn wait(mpi: &Mpi, origin: u32, how: Access, count: u32, size: u64) {
    if how == Access::Accumulate {
        for _ in 0..count {
            mpi.recv(origin, DATA, size).await;
            mpi.accumulate().await;
        }
    }
    mpi.recv(origin, COMPLETE, 0).await;
    mpi.synchronise().await;
}

pub(super) async fn latency(benchmark: Benchmark, mpi: &Mpi, options: &Options, found: &Findings) {
    let (how, other, size) = (access(benchmark), 1 - mpi.rank(), options.size);
    let mut start = mpi.time();
    for iteration in 0..options.warmup + options.iterations {
        if iteration == options.warmup {
            start = mpi.time();
        }
        if mpi.rank() == 0 {
            origin(mpi, other, how, 1, size).await;
            post(mpi, other).await;
            wait(mpi, other, how, 1, size).await;
        } else {
            post(mpi, other).await;
            wait(mpi, other, how, 1, size).await;
            origin(mpi, other, how, 1, size).await;
        }
    }
    if mpi.rank() == 0 {
        let half = Time((mpi.time() - start).0 / (2 * u64::from(options.iterations)));
        found.borrow_mut().push((0, us(half)));
    }
}

pub(super) async fn bandwidth(benchmark: Benchmark, mpi: &Mpi, options: &Options, found: &Findings) {
    let both = matches!(benchmark, Benchmark::PutBibandwidth | Benchmark::GetBibandwidth);
    let (how, other, size, count) = (access(benchmark), 1 - mpi.rank(), options.size, options.window);
    let (acts, serves) = (both || mpi.rank() == 0, both || mpi.rank() == 1);
    let mut start = mpi.time();
    for iteration in 0..options.warmup + options.iterations {
        if iteration == options.warmup {
            start = mpi.time();
        }
        if serves {
            post(mpi, other).await;
        }
        if acts {
            origin(mpi, other, how, count, size).await;
        }
        if serves {
            wait(mpi, other, how, count, size).await;
        }
    }
    if mpi.rank() == 0 {
        let each = size * u64::from(count) * u64::from(options.iterations);
        let bytes = if both { 2 * each } else { each };
        found.borrow_mut().push((0, mb_s(bytes, mpi.time() - start)));
    }
}
