//! Communication patterns of applications: compute and exchange, or compute while a transfer is in flight. A computation
//! calls no MPI.

use super::exchange::us;
use super::neighbours::Neighbour;
use super::options::Options;
use super::timing::{Measurements, typical};
use crate::events::Random;
use crate::models::time::Time;
use crate::mpi::collectives::{Group, barrier};
use crate::mpi::program::{Mpi, Tag};

const BARRIER: Tag = 20;
const OVERLAP: Tag = 1;
/// Number of transfers that measure the time of one without computation.
const TRIALS: usize = 9;
/// Default ratio of a computation to this time.
const SPARE: f64 = 1.25;

/// Receives, sends and a wait with all neighbours, after a computation.
pub(super) async fn exchange(mpi: &Mpi, options: &Options, seed: u64, found: &Measurements) {
    let pattern = &options.pattern;
    let neighbours = pattern.neighbours.of(mpi.rank(), mpi.ranks());
    let mut random = Random::stream(seed, &format!("imbalance of rank {}", mpi.rank()));
    let mut times = Vec::new();
    for iteration in 0..options.warmup + options.iterations {
        if iteration == options.warmup {
            // Not before each: neighbours that wait for each other are part of the pattern.
            barrier(mpi, &Group::all(mpi), BARRIER).await;
        }
        let more = Time(random.below(pattern.imbalance.0 + 1));
        mpi.compute(pattern.compute.unwrap_or_default() + more).await;
        let start = mpi.time();
        with_all(mpi, &neighbours, options).await;
        times.push(mpi.time() - start);
    }
    let counted = times.split_off(options.warmup as usize);
    found.borrow_mut().push((u64::from(mpi.rank()), us(typical(counted, options))));
}

async fn with_all(mpi: &Mpi, neighbours: &[Neighbour], options: &Options) {
    let mut requests = Vec::new();
    for neighbour in neighbours {
        requests.push(mpi.irecv(neighbour.rank, Tag::from(neighbour.receives), options.size).await);
    }
    for neighbour in neighbours {
        if options.pattern.blocking {
            mpi.send(neighbour.rank, Tag::from(neighbour.sends), options.size).await;
        } else {
            requests.push(mpi.isend(neighbour.rank, Tag::from(neighbour.sends), options.size).await);
        }
    }
    mpi.wait_all(&requests).await;
}

/// Time to wait for a transfer in both directions after a computation.
pub(super) async fn overlap(mpi: &Mpi, options: &Options, found: &Measurements) {
    let compute = match options.pattern.compute {
        Some(time) => time,
        None => Time((alone(mpi, options).await.0 as f64 * SPARE) as u64),
    };
    let mut waits = Vec::new();
    for iteration in 0..options.warmup + options.iterations {
        let (_, waited) = transfer(mpi, options.size, compute).await;
        if iteration >= options.warmup {
            waits.push(waited);
        }
    }
    found.borrow_mut().push((u64::from(mpi.rank()), us(typical(waits, options))));
}

/// A transfer without a computation, as the slower rank sees it.
async fn alone(mpi: &Mpi, options: &Options) -> Time {
    // The first may set up connections.
    transfer(mpi, options.size, Time::default()).await;
    let mut times = Vec::new();
    for _ in 0..TRIALS {
        let (started, waited) = transfer(mpi, options.size, Time::default()).await;
        times.push(started + waited);
    }
    times.sort();
    mpi.greatest(times[TRIALS / 2]).await
}

/// How long starting it took, and waiting for it.
async fn transfer(mpi: &Mpi, size: u64, compute: Time) -> (Time, Time) {
    let other = 1 - mpi.rank();
    barrier(mpi, &Group::all(mpi), BARRIER).await;
    let begun = mpi.time();
    let requests = [mpi.irecv(other, OVERLAP, size).await, mpi.isend(other, OVERLAP, size).await];
    let started = mpi.time() - begun;
    mpi.compute(compute).await;
    let begun = mpi.time();
    mpi.wait_all(&requests).await;
    (started, mpi.time() - begun)
}
