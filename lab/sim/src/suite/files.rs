//! Benchmarks of files: ranks are clients of the stack's file system, whose servers run on nodes besides.

use std::rc::Rc;

use super::benchmark::Benchmark;
use super::exchange::mb_s;
use super::file_access::{FileAccess, MAX_COUNT};
use super::options::Options;
use super::timing::Measurements;
use crate::events::Random;
use crate::models::time::Time;
use crate::mpi::collectives::{Group, barrier};
use crate::mpi::program::{Mpi, Tag, Task, join};
use crate::storage::{Client, FileSystem, Piece, serve};
use crate::testbed::Machine;

const BARRIER: Tag = 20;
/// Records that a thread accesses in an iteration.
const RECORDS: u64 = 8;

/// Whether a benchmark supports this number of clients.
///
/// # Errors
/// When sizes or counts are 0, or do not fit each other.
pub(super) fn check(benchmark: Benchmark, options: &Options, clients: u32) -> Result<(), String> {
    let (name, size) = (benchmark.name(), options.size);
    if options.iterations == 0 {
        return Err(format!("{name}: 0 iterations: nothing counts"));
    }
    if benchmark == Benchmark::IoTile {
        return options.files.check_tiles();
    }
    if size == 0 {
        return Err(format!("{name}: a size of 0 bytes: there is nothing to access"));
    }
    let FileAccess { threads, file_bytes, .. } = options.files;
    let all = u64::from(threads) * u64::from(clients);
    if benchmark == Benchmark::IoThreads && !(1..=MAX_COUNT).contains(&u64::from(threads)) {
        return Err(format!("{name}: {threads} threads: there are 1 to {MAX_COUNT}"));
    }
    if benchmark == Benchmark::IoThreads && file_bytes / size < all {
        return Err(format!(
            "{name}: a file of {file_bytes} bytes has no record of {size} bytes for each of {all} threads"
        ));
    }
    Ok(())
}

/// What a rank does: clients all turns, one after the other, servers what these ask for.
pub(super) async fn run(
    benchmark: Benchmark,
    mpi: &Mpi,
    (turns, seed): (&[(Options, Measurements)], u64),
    system: &Rc<FileSystem>,
) {
    if mpi.rank() >= system.clients() {
        return serve(mpi, system).await;
    }
    let client = Client::open(mpi, system).await;
    for (options, found) in turns {
        let rate = turn(benchmark, mpi, (options, seed), (&client, system.clients())).await;
        found.borrow_mut().push((u64::from(mpi.rank()), rate));
    }
    client.close().await;
}

/// Rate of this client after a barrier, in MB/s.
async fn turn(
    benchmark: Benchmark,
    mpi: &Mpi,
    (options, seed): (&Options, u64),
    (client, clients): (&Client, u32),
) -> f64 {
    let region = Piece { offset: u64::from(mpi.rank()) * options.size, bytes: options.size };
    let pieces = if benchmark == Benchmark::IoTile { options.files.rows(mpi.rank()) } else { vec![region] };
    let bytes = match benchmark {
        Benchmark::IoThreads => RECORDS * u64::from(options.files.threads) * options.size,
        _ => pieces.iter().map(|piece| piece.bytes).sum(),
    };
    let mut start = Time::default();
    for iteration in 0..options.warmup + options.iterations {
        if iteration == options.warmup {
            barrier(mpi, &Group::of(0, clients), BARRIER).await;
            start = mpi.time();
        }
        match benchmark {
            Benchmark::IoThreads => threads(mpi, client, (options, seed), iteration, clients).await,
            _ => {
                client.access(options.files.write, &pieces).await;
                mpi.compute(options.pattern.compute.unwrap_or_default()).await;
            }
        }
    }
    mb_s(bytes * u64::from(options.iterations), mpi.time() - start)
}

/// Each thread its own part of the file from front to back and again, or any records of it.
async fn threads(mpi: &Mpi, client: &Client, (options, seed): (&Options, u64), iteration: u32, clients: u32) {
    let FileAccess { write, threads, random, file_bytes, .. } = options.files;
    let records = file_bytes / options.size;
    let part = records / u64::from(threads * clients);
    let thread = |number: u32| -> Task {
        let (client, size) = (client.clone(), options.size);
        let number = mpi.rank() * threads + number;
        let mut order = Random::stream(seed, &format!("records of thread {number}, iteration {iteration}"));
        Box::pin(async move {
            for next in 0..RECORDS {
                let in_order = || u64::from(number) * part + (u64::from(iteration) * RECORDS + next) % part;
                let record = if random { order.below(records) } else { in_order() };
                client.access(write, &[Piece { offset: record * size, bytes: size }]).await;
            }
        })
    };
    join((0..threads).map(thread).collect()).await;
}

/// All that clients move over the time of the slowest, each having moved as much.
pub(super) fn together(parts: &[(u64, f64)]) -> f64 {
    parts.len() as f64 * parts.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min)
}

/// The file system of a run.
///
/// # Errors
/// When the stack has none.
pub(super) fn system(machine: &Machine) -> Result<Rc<FileSystem>, String> {
    let storage = machine.testbed.storage_of(&machine.stack)?.clone();
    let rails = machine.stack()?.rails.len();
    Ok(Rc::new(FileSystem::new(storage, machine.placement.ranks(), rails)))
}
