//! The benchmarks by name.

/// A benchmark of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Benchmark {
    /// Ping-pong.
    Latency,
    /// Windows one way, each acknowledged.
    Bandwidth,
    /// Windows both ways.
    Bibandwidth,
    /// Windows between several pairs.
    MessageRate,
    /// Ping-pong with each peer in turn.
    Nhop,
    /// All to rank + d.
    DisplacedRing,
    /// One-sided.
    PutLatency,
    /// One-sided.
    GetLatency,
    /// One-sided.
    AccumulateLatency,
    /// One-sided.
    PutBandwidth,
    /// One-sided.
    GetBandwidth,
    /// One-sided.
    PutBibandwidth,
    /// One-sided.
    GetBibandwidth,
    /// Atomic operations.
    FetchAndOp,
    /// Atomic operations.
    CompareAndSwap,
    /// Collective.
    Barrier,
    /// Collective.
    Bcast,
    /// Collective.
    Reduce,
    /// Collective.
    Allreduce,
    /// Collective.
    Allgather,
    /// Collective.
    Alltoall,
    /// Messages one way without a window: as many under way as the transport lets.
    Stream,
    /// Compute, exchange both ways, compute.
    Exchange,
    /// The part of a transfer that a computation does not hide.
    Overlap,
    /// Files: each client a region.
    IoContiguous,
    /// Files: each client a tile of a picture.
    IoTile,
    /// Files: several threads of each client.
    IoThreads,
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
    /// All of them with their names.
    pub const ALL: &'static [(&'static str, Benchmark)] = &[
        ("latency", Latency),
        ("bandwidth", Bandwidth),
        ("bibandwidth", Bibandwidth),
        ("message_rate", MessageRate),
        ("nhop", Nhop),
        ("displaced_ring", DisplacedRing),
        ("put_latency", PutLatency),
        ("get_latency", GetLatency),
        ("accumulate_latency", AccumulateLatency),
        ("put_bandwidth", PutBandwidth),
        ("get_bandwidth", GetBandwidth),
        ("put_bibandwidth", PutBibandwidth),
        ("get_bibandwidth", GetBibandwidth),
        ("fetch_and_op", FetchAndOp),
        ("compare_and_swap", CompareAndSwap),
        ("barrier", Barrier),
        ("bcast", Bcast),
        ("reduce", Reduce),
        ("allreduce", Allreduce),
        ("allgather", Allgather),
        ("alltoall", Alltoall),
        ("stream", Stream),
        ("exchange", Exchange),
        ("overlap", Overlap),
        ("io_contiguous", IoContiguous),
        ("io_tile", IoTile),
        ("io_threads", IoThreads),
    ];

    /// The benchmark with this name.
    pub fn of(name: &str) -> Option<Benchmark> {
        Benchmark::ALL.iter().find(|(known, _)| *known == name).map(|(_, benchmark)| *benchmark)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Benchmark::ALL.iter().find(|(_, benchmark)| *benchmark == self).map_or("", |(name, _)| *name)
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
