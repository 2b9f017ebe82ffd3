//! Atomic operations on words of the last rank, as the engine carries them: a frame there, which the target's process applies
//! while it is in MPI, and a frame with what was there before.

use fishplate_engine::{Atomic, AtomicOperation, Datatype};

use super::benchmark::Benchmark;
use super::exchange::us;
use super::options::Options;
use super::timing::{IterationTimes, Measurements};
use crate::mpi::program::{Mpi, Tag};

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
pub(super) async fn run(benchmark: Benchmark, mpi: &Mpi, options: &Options, found: &Measurements) {
    let (target, Some(what)) = (mpi.ranks() - 1, operation(benchmark)) else { return };
    if mpi.rank() == target {
        for origin in 0..target {
            mpi.recv(origin, DONE, 0).await;
        }
        return;
    }
    let mut times = IterationTimes::default();
    for iteration in 0..=options.warmup + options.iterations {
        if iteration >= options.warmup {
            times.mark(mpi.time());
        }
        if iteration == options.warmup + options.iterations {
            break;
        }
        let mut requests = Vec::with_capacity(options.window as usize);
        for _ in 0..options.window {
            requests.push(mpi.atomic(target, what).await);
        }
        mpi.wait_all(&requests).await;
    }
    let each = us(times.each(options)) / f64::from(options.window.max(1));
    found.borrow_mut().push((u64::from(mpi.rank()), each));
    mpi.send(target, DONE, 0).await;
}
