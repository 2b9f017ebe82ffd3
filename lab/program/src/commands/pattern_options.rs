//! Options of `fishplate simulate` for patterns, as the benchmark programs have them.

use clap::ValueEnum;
use fishplate_sim::models::time::Time;
use fishplate_sim::suite::{Neighbourhood, Pattern};

/// Longest computation, in us, as the benchmark programs have it.
const MAX_US: u64 = 60_000_000;

/// Computation and neighbours of ranks.
#[derive(clap::Args)]
#[group(skip)]
pub struct Args {
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

impl Args {
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
