//! Options of `fishplate simulate` for patterns and for benchmarks of files, as the benchmark programs have them.

use clap::ValueEnum;
use fishplate_sim::models::time::Time;
use fishplate_sim::suite::{FileAccess, Neighbourhood, Pattern};

use crate::simulation::sizes;

/// Longest computation, in us, as the benchmark programs have it.
const MAX_US: u64 = 60_000_000;

/// Computation and neighbours of ranks.
#[derive(clap::Args)]
#[group(skip)]
pub struct PatternOptions {
    /// exchange, overlap: the computation, in us, in which nothing calls MPI [default: none in exchange; in overlap a
    /// quarter longer than the transfer takes without one]
    #[arg(long, requires = "testbed", value_name = "US", value_parser = clap::value_parser!(u64).range(0..=MAX_US))]
    compute: Option<u64>,

    /// exchange: greatest random extra computation of each rank and iteration, in us
    #[arg(long, requires = "testbed", value_name = "US", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=MAX_US))]
    imbalance: u64,

    /// exchange: dimensions of the grid of ranks; a rank has two neighbours in each
    #[arg(long, requires = "testbed", value_name = "D", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=3))]
    dimensions: u32,

    /// exchange: number of messages between pairs of ranks, instead of a grid
    #[arg(long, requires = "testbed", value_name = "N", conflicts_with = "dimensions", value_parser = clap::value_parser!(u32).range(1..=6))]
    neighbours: Option<u32>,

    /// exchange: call that sends
    #[arg(long, requires = "testbed", value_enum, value_name = "WORD", default_value_t = Send::Blocking)]
    send: Send,
}

/// How messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Send {
    /// MPI_Send
    Blocking,
    /// MPI_Isend
    Nonblocking,
}

impl PatternOptions {
    pub fn pattern(&self) -> Pattern {
        let time = |us: u64| Time::ns(us as f64 * 1e3);
        Pattern {
            compute: self.compute.map(time),
            imbalance: time(self.imbalance),
            neighbours: self.neighbours.map_or(Neighbourhood::Grid(self.dimensions), Neighbourhood::Pairs),
            blocking: self.send == Send::Blocking,
        }
    }
}

/// How files are accessed.
#[derive(clap::Args)]
#[group(skip)]
pub struct FileOptions {
    /// io_*: the operation
    #[arg(long, requires = "testbed", value_enum, value_name = "WORD", default_value_t = Operation::Read)]
    operation: Operation,

    /// io_threads: number of threads of each rank
    #[arg(long, requires = "testbed", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65536))]
    threads: u32,

    /// io_threads: order of each thread's records
    #[arg(long, requires = "testbed", value_enum, value_name = "WORD", default_value_t = Order::Sequential)]
    order: Order,

    /// io_threads: size of the file
    #[arg(long, requires = "testbed", value_name = "BYTES", default_value = "512M", value_parser = bytes)]
    file_size: u64,

    /// io_tile: numbers of tiles across and down
    #[arg(long, requires = "testbed", value_name = "WxH", default_value = "2x1", value_parser = pair)]
    tiles: (u64, u64),

    /// io_tile: pixels of a tile
    #[arg(long, requires = "testbed", value_name = "WxH", default_value = "1024x768", value_parser = pair)]
    tile: (u64, u64),

    /// io_tile: pixels that neighbours have in common
    #[arg(long, requires = "testbed", value_name = "WxH", default_value = "0x0", value_parser = pair)]
    overlap: (u64, u64),

    /// io_tile: size of a pixel
    #[arg(long, requires = "testbed", value_name = "BYTES", default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=4096))]
    element: u64,
}

/// An operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Operation {
    /// Writes
    Write,
    /// Reads
    Read,
}

/// The order in which a thread accesses the records of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// One record after the other
    Sequential,
    /// Records in random order
    Random,
}

impl FileOptions {
    /// As the suite has them.
    pub fn access(&self) -> FileAccess {
        FileAccess {
            write: self.operation == Operation::Write,
            threads: self.threads,
            random: self.order == Order::Random,
            file_bytes: self.file_size,
            tiles: self.tiles,
            tile: self.tile,
            overlap: self.overlap,
            element: self.element,
        }
    }
}

/// `512M`.
fn bytes(text: &str) -> Result<u64, String> {
    match sizes::parse(text).map_err(|error| error.to_string())?[..] {
        [one] => Ok(one),
        _ => Err("one size, not a list".into()),
    }
}

/// `1024x768`.
fn pair(text: &str) -> Result<(u64, u64), String> {
    let found = text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    found.ok_or_else(|| "it is two numbers, such as 1024x768".into())
}
