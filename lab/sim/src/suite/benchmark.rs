//! The benchmarks by name.

use crate::named::named;

named! {
    /// A benchmark of the suite.
    Benchmark {
        /// Ping-pong.
        Latency = "latency",
        /// Windows one way, each acknowledged.
        Bandwidth = "bandwidth",
        /// Windows both ways.
        Bibandwidth = "bibandwidth",
        /// Windows between several pairs.
        MessageRate = "message_rate",
        /// Ping-pong with each peer in turn.
        Nhop = "nhop",
        /// All to rank + d.
        DisplacedRing = "displaced_ring",
        /// One-sided.
        PutLatency = "put_latency",
        /// One-sided.
        GetLatency = "get_latency",
        /// One-sided.
        AccumulateLatency = "accumulate_latency",
        /// One-sided.
        PutBandwidth = "put_bandwidth",
        /// One-sided.
        GetBandwidth = "get_bandwidth",
        /// One-sided.
        PutBibandwidth = "put_bibandwidth",
        /// One-sided.
        GetBibandwidth = "get_bibandwidth",
        /// Atomic operations.
        FetchAndOp = "fetch_and_op",
        /// Atomic operations.
        CompareAndSwap = "compare_and_swap",
        /// Collective.
        Barrier = "barrier",
        /// Collective.
        Bcast = "bcast",
        /// Collective.
        Reduce = "reduce",
        /// Collective.
        Allreduce = "allreduce",
        /// Collective.
        Allgather = "allgather",
        /// Collective.
        Alltoall = "alltoall",
        /// Messages one way without a window: as many under way as the transport lets.
        Stream = "stream",
        /// Compute, exchange both ways, compute.
        Exchange = "exchange",
        /// The part of a transfer that a computation does not hide.
        Overlap = "overlap",
        /// Files: each client a region.
        IoContiguous = "io_contiguous",
        /// Files: each client a tile of a picture.
        IoTile = "io_tile",
        /// Files: several threads of each client.
        IoThreads = "io_threads",
    }
}

/// Quantity of a benchmark's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Time of one operation.
    Us,
    /// 10^6 bytes a second.
    MbS,
    /// Messages a second over all pairs.
    Messages,
}

use Benchmark::*;

impl Benchmark {
    /// The benchmark with this name.
    pub fn of(name: &str) -> Option<Benchmark> {
        Benchmark::ALL.iter().find(|(known, _)| *known == name).map(|(_, benchmark)| *benchmark)
    }

    /// Quantity of its values.
    pub fn unit(self) -> Unit {
        match self {
            Bandwidth | Bibandwidth | DisplacedRing | PutBandwidth | GetBandwidth | PutBibandwidth | GetBibandwidth
            | Stream | IoContiguous | IoTile | IoThreads => Unit::MbS,
            MessageRate => Unit::Messages,
            _ => Unit::Us,
        }
    }

    /// Its minimum and maximum number of ranks.
    pub fn ranks(self) -> (u32, u32) {
        match self {
            Latency | Bandwidth | Bibandwidth | PutLatency | GetLatency | AccumulateLatency | PutBandwidth
            | GetBandwidth | PutBibandwidth | GetBibandwidth | Overlap => (2, 2),
            IoContiguous | IoTile | IoThreads => (1, 1024),
            _ => (2, u32::MAX),
        }
    }

    /// Whether it does atomic operations on words of 8 bytes.
    pub fn is_atomic(self) -> bool {
        matches!(self, FetchAndOp | CompareAndSwap)
    }

    /// Default number of operations of a window.
    pub fn default_window(self) -> u32 {
        if self.is_atomic() { 1 } else { 64 }
    }

    /// Whether its ranks are clients of a file system, whose servers come besides.
    pub fn is_of_files(self) -> bool {
        matches!(self, IoContiguous | IoTile | IoThreads)
    }

    /// Default sizes: first and last in bytes, doubling.
    pub fn default_sizes(self) -> (u64, u64) {
        match self {
            Barrier => (0, 0),
            Bcast | Allgather | Alltoall => (1, 1 << 20),
            Reduce | Allreduce => (4, 1 << 20),
            MessageRate => (1, 4 << 10),
            Nhop | FetchAndOp | CompareAndSwap => (8, 8),
            Exchange | Overlap => (8, 4 << 20),
            DisplacedRing => (1 << 20, 1 << 20),
            IoContiguous | IoThreads => (256 << 10, 256 << 10),
            IoTile => (24 << 20, 24 << 20),
            AccumulateLatency => (4, 4 << 20),
            _ => (1, 4 << 20),
        }
    }
}
