//! One-sided benchmarks with post, start, complete, wait.

use fishplate_engine::{Atomic, AtomicOperation, Datatype};

use super::benchmark::Benchmark;
use super::exchange::{mb_s, us};
use super::options::Options;
use super::timing::{Measurements, iterate};
use crate::models::time::Time;
use crate::mpi::costs::Costs;
use crate::mpi::program::{Mpi, Tag, Task, join};

const POST: Tag = 10;
const COMPLETE: Tag = 11;
const DATA: Tag = 12;
const REQUEST: Tag = 13;

/// Operation on the target's memory.
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

/// Operations of one epoch: `count` operations of `size` bytes each.
#[derive(Clone, Copy)]
struct Epoch {
    how: Access,
    count: u32,
    size: u64,
}

impl Epoch {
    /// Whether the target's process takes part: operations are messages, not the adapters' business. Then the last one
    /// says that it is the last, and nothing follows it.
    fn is_by_message(&self, mpi: &Mpi) -> bool {
        let Costs { put_by_message, get_by_message, .. } = mpi.costs();
        match self.how {
            Access::Put => (1..=put_by_message).contains(&self.size),
            Access::Get => (1..=get_by_message).contains(&self.size),
            Access::Accumulate => true,
        }
    }
}

/// All of an epoch on `target`, from start to complete.
async fn origin(mpi: &Mpi, target: u32, epoch: Epoch) {
    let Epoch { how, count, size } = epoch;
    mpi.recv(target, POST, 0).await;
    mpi.synchronise().await;
    let by_message = epoch.is_by_message(mpi);
    if how == Access::Get && by_message {
        return ask(mpi, target, epoch).await;
    }
    if how == Access::Get {
        // The target may go on only when its memory has been read.
        mpi.read(target, size, count).await;
        return mpi.send(target, COMPLETE, 0).await;
    }
    let mut requests = Vec::with_capacity(count as usize);
    for _ in 0..count {
        requests.push(if by_message { mpi.isend(target, DATA, size).await } else { mpi.put(target, size).await });
    }
    // On one connection no message overtakes the data.
    if !by_message {
        mpi.send(target, COMPLETE, 0).await;
    }
    mpi.wait_all(&requests).await;
}

/// Asks the target's process for data.
async fn ask(mpi: &Mpi, target: u32, Epoch { count, size, .. }: Epoch) {
    let mut requests = Vec::with_capacity(2 * count as usize);
    for _ in 0..count {
        requests.push(mpi.irecv(target, DATA, if mpi.is_eager(size) { size } else { 0 }).await);
        requests.push(mpi.isend(target, REQUEST, 0).await);
    }
    mpi.wait_all(&requests).await;
}

/// Answers such requests. They say where long data are to be written; a message behind these says that they are there.
async fn answer(mpi: &Mpi, origin: u32, Epoch { count, size, .. }: Epoch) {
    let mut requests = Vec::with_capacity(2 * count as usize);
    for _ in 0..count {
        mpi.recv(origin, REQUEST, 0).await;
        if mpi.is_eager(size) {
            requests.push(mpi.isend(origin, DATA, size).await);
        } else {
            requests.push(mpi.put(origin, size).await);
            requests.push(mpi.isend(origin, DATA, 0).await);
        }
    }
    mpi.wait_all(&requests).await;
}

async fn post(mpi: &Mpi, origin: u32) {
    mpi.send(origin, POST, 0).await;
}

async fn wait(mpi: &Mpi, origin: u32, epoch: Epoch) {
    let Epoch { how, count, size } = epoch;
    if !epoch.is_by_message(mpi) {
        mpi.recv(origin, COMPLETE, 0).await;
    } else if how == Access::Get {
        answer(mpi, origin, epoch).await;
    } else {
        for _ in 0..count {
            mpi.recv(origin, DATA, size).await;
            if how == Access::Accumulate {
                mpi.accumulate().await;
            }
        }
    }
    mpi.synchronise().await;
}

/// Both at once: a process that waits for answers gives some.
async fn origin_and_target(mpi: &Mpi, other: u32, epoch: Epoch) {
    let (acting, serving) = (mpi.clone(), mpi.clone());
    let acts: Task = Box::pin(async move { origin(&acting, other, epoch).await });
    let serves: Task = Box::pin(async move { wait(&serving, other, epoch).await });
    join(vec![acts, serves]).await;
}

pub(super) async fn latency(benchmark: Benchmark, mpi: &Mpi, options: &Options, found: &Measurements) {
    let other = 1 - mpi.rank();
    let epoch = Epoch { how: access(benchmark), count: 1, size: options.size };
    let times = iterate(mpi, options, async || {
        if mpi.rank() == 0 {
            origin(mpi, other, epoch).await;
        }
        post(mpi, other).await;
        wait(mpi, other, epoch).await;
        if mpi.rank() != 0 {
            origin(mpi, other, epoch).await;
        }
    })
    .await;
    if mpi.rank() == 0 {
        let half = Time(times.all().0 / (2 * u64::from(options.iterations)));
        found.borrow_mut().push((0, us(half)));
    }
}

pub(super) async fn bandwidth(benchmark: Benchmark, mpi: &Mpi, options: &Options, found: &Measurements) {
    let both = matches!(benchmark, Benchmark::PutBibandwidth | Benchmark::GetBibandwidth);
    let other = 1 - mpi.rank();
    let epoch = Epoch { how: access(benchmark), count: options.window, size: options.size };
    let (acts, serves) = (both || mpi.rank() == 0, both || mpi.rank() == 1);
    let times = iterate(mpi, options, async || {
        if serves {
            post(mpi, other).await;
        }
        match (acts, serves) {
            (true, true) => origin_and_target(mpi, other, epoch).await,
            (true, false) => origin(mpi, other, epoch).await,
            _ => wait(mpi, other, epoch).await,
        }
    })
    .await;
    if mpi.rank() == 0 {
        let each = options.size * u64::from(options.window) * u64::from(options.iterations);
        let bytes = if both { 2 * each } else { each };
        found.borrow_mut().push((0, mb_s(bytes, times.all())));
    }
}

/// An origin has done all of its operations.
const DONE: Tag = 14;

/// Operation on a word of 8 bytes.
fn operation(benchmark: Benchmark) -> Option<Atomic> {
    let operation = match benchmark {
        Benchmark::CompareAndSwap => AtomicOperation::SwapIfEqual,
        _ => AtomicOperation::Sum,
    };
    Atomic::new(operation, Datatype::Uint64, true, 1)
}

/// All ranks but the last run windows, each of which ends when all its results are there.
pub(super) async fn atomic(benchmark: Benchmark, mpi: &Mpi, options: &Options, found: &Measurements) {
    let (target, Some(what)) = (mpi.ranks() - 1, operation(benchmark)) else { return };
    if mpi.rank() == target {
        for origin in 0..target {
            mpi.recv(origin, DONE, 0).await;
        }
        return;
    }
    let times = iterate(mpi, options, async || {
        let mut requests = Vec::with_capacity(options.window as usize);
        for _ in 0..options.window {
            requests.push(mpi.atomic(target, what).await);
        }
        mpi.wait_all(&requests).await;
    })
    .await;
    let each = us(times.each(options)) / f64::from(options.window.max(1));
    found.borrow_mut().push((u64::from(mpi.rank()), each));
    mpi.send(target, DONE, 0).await;
}
