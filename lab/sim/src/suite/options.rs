//! How a benchmark runs, and what comes out.

use fishplate_collectives::Algorithm;

use super::file_access::FileAccess;
use super::neighbours::Neighbourhood;
use crate::models::time::Time;
use crate::mpi::collectives::Broadcast;

/// How a benchmark runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Message size in bytes.
    pub size: u64,
    /// Messages of a window.
    pub window: u32,
    /// Iterations that count.
    pub iterations: u32,
    /// Iterations before.
    pub warmup: u32,
    /// Broadcast algorithm.
    pub broadcast: Broadcast,
    /// Collective operations by a schedule that knows the clusters, instead of the library's own algorithms.
    pub algorithm: Option<Algorithm>,
    /// Before each collective operation all ranks are brought to the same time, instead of by a barrier, whose end
    /// differs by the delay of a long-distance link; the value is the time until the last rank is done, not the mean.
    pub aligned: bool,
    /// The barrier before a collective operation knows which ranks share a host, as MPICH's does.
    pub by_host: bool,
    /// The value is the median of the iterations, as programs tell it, not their mean.
    pub median: bool,
    /// Senders and receivers where a benchmark has them, instead of rank i and i + n/2.
    pub pairs: Option<Vec<(u32, u32)>>,
    /// Computation and neighbours of `exchange` and `overlap`.
    pub pattern: Pattern,
    /// How files are accessed.
    pub files: FileAccess,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            size: 8,
            window: 64,
            iterations: 4,
            warmup: 2,
            broadcast: Broadcast::Mpich,
            algorithm: None,
            aligned: false,
            by_host: false,
            median: false,
            pairs: None,
            pattern: Pattern::default(),
            files: FileAccess::default(),
        }
    }
}

/// The results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The value; where there are several, their mean.
    pub value: f64,
    /// Values by peer, displacement or rank, where a benchmark has them.
    pub parts: Vec<(u64, f64)>,
    /// Policies at the end, as rank 0 explains them for the first peer.
    pub policies: String,
    /// Events of the simulation.
    pub events: u64,
    /// When it ended.
    pub end: Time,
}

/// How a pattern runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pattern {
    /// The computation. None: nothing in `exchange`, and a quarter longer than the transfer takes alone in `overlap`.
    pub compute: Option<Time>,
    /// Maximum of a random addition to the computation, for each rank and iteration.
    pub imbalance: Time,
    /// With whom each rank exchanges.
    pub neighbours: Neighbourhood,
    /// A send ends before the next begins.
    pub blocking: bool,
}

impl Default for Pattern {
    fn default() -> Self {
        let neighbours = Neighbourhood::Grid(1);
        Pattern { compute: None, imbalance: Time::default(), neighbours, blocking: true }
    }
}
