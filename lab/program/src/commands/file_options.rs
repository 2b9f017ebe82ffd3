//! Options of `fishplate simulate` for benchmarks of files, as the benchmark programs have them.

use clap::ValueEnum;
use fishplate_sim::suite::FileAccess;

use crate::simulation::sizes;

/// How files are accessed.
#[derive(clap::Args)]
#[group(skip)]
pub struct Args {
    /// io_*: what is measured
    #[arg(long, requires = "testbed", value_enum, value_name = "WORD", default_value_t = Operation::Read)]
    operation: Operation,

    /// io_threads: threads of each rank
    #[arg(long, requires = "testbed", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65536))]
    threads: u32,

    /// io_threads: in which order each thread takes records
    #[arg(long, requires = "testbed", value_enum, value_name = "WORD", default_value_t = Order::Sequential)]
    order: Order,

    /// io_threads: size of the file
    #[arg(long, requires = "testbed", value_name = "BYTES", default_value = "512M", value_parser = bytes)]
    file_size: u64,

    /// io_tile: tiles side by side and one above the other
    #[arg(long, requires = "testbed", value_name = "WxH", default_value = "2x1", value_parser = pair)]
    tiles: (u64, u64),

    /// io_tile: pixels of a tile
    #[arg(long, requires = "testbed", value_name = "WxH", default_value = "1024x768", value_parser = pair)]
    tile: (u64, u64),

    /// io_tile: pixels that neighbours have in common
    #[arg(long, requires = "testbed", value_name = "WxH", default_value = "0x0", value_parser = pair)]
    overlap: (u64, u64),

    /// io_tile: of a pixel
    #[arg(long, requires = "testbed", value_name = "BYTES", default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=4096))]
    element: u64,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Operation {
    /// It is written.
    Write,
    /// It is read.
    Read,
}

/// How a thread goes through a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// One record after the other.
    Sequential,
    /// Any record.
    Random,
}

impl Args {
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
        _ => Err("one size is wanted, not a list".into()),
    }
}

/// `1024x768`.
fn pair(text: &str) -> Result<(u64, u64), String> {
    let found = text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    found.ok_or_else(|| "it is two numbers, such as 1024x768".into())
}
