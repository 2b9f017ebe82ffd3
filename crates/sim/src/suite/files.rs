//! Benchmarks of files: ranks are clients of the stack's file system, whose servers run on nodes besides.

use std::rc::Rc;

use super::benchmark::Benchmark;
use super::exchange::mb_s;
use super::options::{Machine, Options};
use super::timing::Measurements;
use crate::events::Random;
use crate::models::time::Time;
use crate::mpi::collectives::{Group, barrier};
use crate::mpi::program::{Mpi, Tag, Task, join};
use crate::storage::{Client, FileSystem, Piece, serve};

const BARRIER: Tag = 20;
/// Records that a thread accesses in an iteration.
const RECORDS: u64 = 8;
/// Threads of a client, tiles, pixels and bytes of them, at most, each way.
const MOST: u64 = 1 << 16;

/// How files are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAccess {
    /// Whether they are written.
    pub write: bool,
    /// Threads of each client of `io_threads`.
    pub threads: u32,
    /// Whether these take records of all of the file, in any order.
    pub random: bool,
    /// Length of the file of `io_threads`, in bytes.
    pub file_bytes: u64,
    /// Tiles of `io_tile` side by side and one above the other.
    pub tiles: (u64, u64),
    /// Pixels of a tile.
    pub tile: (u64, u64),
    /// Pixels that neighbours have in common.
    pub overlap: (u64, u64),
    /// Bytes of a pixel.
    pub element: u64,
}

impl Default for FileAccess {
    fn default() -> Self {
        FileAccess {
            write: false,
            threads: 1,
            random: false,
            file_bytes: 512 << 20,
            tiles: (2, 1),
            tile: (1024, 768),
            overlap: (0, 0),
            element: 32,
        }
    }
}

impl FileAccess {
    /// Bytes of a tile of `io_tile`.
    pub fn tile_bytes(&self) -> u64 {
        self.tile.0 * self.tile.1 * self.element
    }

    /// The rows of one client's tile; those of the picture follow each other in the file.
    fn rows(&self, rank: u32) -> Vec<Piece> {
        let steps = (self.tile.0 - self.overlap.0, self.tile.1 - self.overlap.1);
        let number = u64::from(rank) % (self.tiles.0 * self.tiles.1);
        let (left, top) = (number % self.tiles.0 * steps.0, number / self.tiles.0 * steps.1);
        let width = self.tiles.0 * steps.0 + self.overlap.0;
        let bytes = self.tile.0 * self.element;
        (0..self.tile.1).map(|row| Piece { offset: ((top + row) * width + left) * self.element, bytes }).collect()
    }

    /// Whether `io_tile` has such tiles.
    fn check_tiles(&self) -> Result<(), String> {
        let FileAccess { tiles, tile, overlap, element, .. } = *self;
        let numbers = [tiles.0, tiles.1, tile.0, tile.1, element];
        if numbers.contains(&0) || numbers.iter().any(|number| *number > MOST) {
            return Err(format!(
                "io_tile: {}x{} tiles of {}x{} pixels of {element} bytes: each number is from 1 to {MOST}",
                tiles.0, tiles.1, tile.0, tile.1
            ));
        }
        if overlap.0 >= tile.0 || overlap.1 >= tile.1 {
            return Err(format!(
                "io_tile: an overlap of {}x{} is not less than a tile of {}x{}",
                overlap.0, overlap.1, tile.0, tile.1
            ));
        }
        Ok(())
    }
}

/// Whether a benchmark can run so with so many clients.
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
    if benchmark == Benchmark::IoThreads && !(1..=MOST).contains(&u64::from(threads)) {
        return Err(format!("{name}: {threads} threads: there are 1 to {MOST}"));
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

/// What this client moves from a barrier on, in MB/s.
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
    let rails = machine.testbed.stack(&machine.stack)?.rails.len();
    Ok(Rc::new(FileSystem::new(storage, machine.placement.ranks(), rails)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_the_picture_once() {
        let files = FileAccess { tiles: (2, 3), tile: (16, 8), element: 4, ..FileAccess::default() };
        let mut pieces: Vec<Piece> = (0..6).flat_map(|rank| files.rows(rank)).collect();
        pieces.sort_by_key(|piece| piece.offset);
        let end = pieces.iter().fold(0, |end, piece| {
            assert_eq!(piece.offset, end);
            end + piece.bytes
        });
        assert_eq!(end, 6 * files.tile_bytes());
    }

    #[test]
    fn neighbours_have_their_overlap_in_common() {
        let files = FileAccess { tiles: (2, 1), tile: (8, 2), overlap: (3, 0), element: 1, ..FileAccess::default() };
        let offsets = |rank| files.rows(rank).iter().map(|piece| piece.offset).collect::<Vec<_>>();
        assert_eq!((offsets(0), offsets(1), offsets(2)), (vec![0, 13], vec![5, 18], vec![0, 13]));
    }
}
