//! Repetition for some time, by all ranks together.

use std::future::Future;

use crate::models::time::Time;
use crate::mpi::program::Mpi;

/// Approximate time between two readings of the clock, in nanoseconds.
const LOOK_NS: f64 = 10e6;

/// Repeats `turn` for `time`, `least` to `most` times; one turn takes about `about_ns`. Returns the number of turns and
/// their total time.
pub(super) async fn repeat<F: Future<Output = ()>>(
    mpi: &Mpi,
    (time, least, most): (Time, u64, u64),
    about_ns: f64,
    turn: impl Fn() -> F,
) -> (u64, Time) {
    let start = mpi.greatest(mpi.time()).await;
    let batch = ((LOOK_NS / about_ns) as u64).clamp(1, 100);
    let mut turns = 0;
    loop {
        for _ in 0..batch.min(most - turns) {
            turn().await;
            turns += 1;
        }
        let passed = mpi.greatest(mpi.time()).await - start;
        if turns >= most || turns >= least && passed >= time {
            return (turns, passed);
        }
    }
}
