//! Operations of MPI calls, without their times: each iteration of a loop yields equal values.

use serde::{Deserialize, Serialize};

/// An active request: the lowest number that was free when it was created.
pub type Slot = u32;

/// A communicator: its index among the definitions of its rank.
pub type CommunicatorNumber = u32;

/// The operation of a call. Ranks are ranks in MPI_COMM_WORLD unless stated otherwise; sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// Not a call: defines the communicator of a number, from here on.
    Communicator {
        /// The number.
        number: CommunicatorNumber,
        /// Identifier: equal on all its ranks and unique among communicators that exist at the same time. 0: unknown.
        context: u64,
        /// Its ranks, in order; for an intercommunicator, those of the remote group.
        members: Vec<u32>,
    },
    /// Not a call: the calls that follow are of this thread of the process, in the order in which they returned.
    Thread {
        /// Number of the thread; the first one is 0.
        number: u32,
        /// Whether the thread was in MPI at the same time as another thread.
        is_beside: bool,
    },
    /// Sends.
    Send(Send),
    /// Receives.
    Receive(Receive),
    /// Sends and receives at the same time.
    Exchange(Send, Receive),
    /// Waits until requests are complete. Unsuccessful tests are not recorded.
    Wait(Vec<Completed>),
    /// A collective operation.
    Collective(Collective),
    /// A one-sided operation.
    OneSided {
        /// Communicator of the window.
        window: CommunicatorNumber,
        /// Target rank.
        target: u32,
        /// Bytes written to the target.
        written: u64,
        /// Bytes read from the target.
        read: u64,
        /// The request, if the call creates one.
        request: Option<Slot>,
    },
    /// Synchronizes one-sided operations.
    Epoch {
        /// Communicator of the window.
        window: CommunicatorNumber,
        /// Kind of synchronization.
        kind: Epoch,
    },
    /// MPI_Buffer_detach, MPI_Buffer_flush: waits until all messages in the program's buffers are sent.
    Flush,
    /// MPI_Finalize, or the end of the trace.
    End,
    /// MPI_Comm_attach_buffer, MPI_Comm_flush_buffer, MPI_Comm_detach_buffer: from here on the communicator has a buffer of
    /// its own; waits until all messages in it are sent.
    FlushCommunicator {
        /// The communicator.
        communicator: CommunicatorNumber,
    },
}

/// A message to send.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Send {
    /// Communicator of the message.
    pub communicator: CommunicatorNumber,
    /// Destination rank.
    pub to: u32,
    /// Tag.
    pub tag: i32,
    /// Size of the message.
    pub bytes: u64,
    /// When the send is complete.
    pub mode: Mode,
    /// Whether the datatype has gaps.
    pub has_gaps: bool,
    /// The request of a nonblocking send.
    pub request: Option<Slot>,
}

/// When a send is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// When its buffer may be reused, as the MPI library decides: MPI_Send, MPI_Rsend.
    Standard,
    /// At once, as the message is copied to a buffer of the program: MPI_Bsend.
    Buffered,
    /// When the receive has started: MPI_Ssend.
    Synchronous,
}

/// A message to receive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Receive {
    /// Communicator of the message.
    pub communicator: CommunicatorNumber,
    /// Source rank; `None`: MPI_ANY_SOURCE.
    pub from: Option<u32>,
    /// Tag; `None`: MPI_ANY_TAG.
    pub tag: Option<i32>,
    /// Size of the receive buffer.
    pub bytes: u64,
    /// Whether the datatype has gaps.
    pub has_gaps: bool,
    /// The request of a nonblocking receive.
    pub request: Option<Slot>,
}

/// A request that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Completed {
    /// The request.
    pub request: Slot,
    /// Source and tag of the message, for a receive with MPI_ANY_SOURCE or MPI_ANY_TAG.
    pub source: Option<(u32, i32)>,
    /// Whether it was cancelled.
    pub is_cancelled: bool,
}

/// A collective operation of one rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Collective {
    /// Which operation.
    pub kind: CollectiveKind,
    /// Communicator of the operation.
    pub communicator: CommunicatorNumber,
    /// Root, as a rank in the communicator; `None` for operations without a root.
    pub root: Option<u32>,
    /// Bytes that this rank sends.
    pub sent: Sizes,
    /// Bytes that this rank receives.
    pub received: Sizes,
    /// For neighbourhood operations: the ranks that send to this rank, and those that it sends to.
    pub neighbors: Option<(Vec<u32>, Vec<u32>)>,
    /// The request of a nonblocking operation.
    pub request: Option<Slot>,
}

/// Kind of a collective operation. Variants with a size for each rank (MPI_Gatherv) are of the kind without (MPI_Gather).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CollectiveKind {
    /// MPI_Barrier.
    Barrier,
    /// MPI_Bcast.
    Broadcast,
    /// MPI_Gather.
    Gather,
    /// MPI_Scatter.
    Scatter,
    /// MPI_Allgather.
    Allgather,
    /// MPI_Alltoall.
    Alltoall,
    /// MPI_Reduce.
    Reduce,
    /// MPI_Allreduce.
    Allreduce,
    /// MPI_Reduce_scatter.
    ReduceScatter,
    /// MPI_Scan, MPI_Exscan.
    Scan,
    /// MPI_Neighbor_allgather.
    NeighborAllgather,
    /// MPI_Neighbor_alltoall.
    NeighborAlltoall,
    /// Creation of a communicator or a window.
    Make,
}

/// Sizes in bytes, by rank of a communicator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sizes {
    /// One size for each rank; in reductions, the size of the vector.
    Each(u64),
    /// A size for each rank or each neighbour.
    Of(Vec<u64>),
}

/// Synchronization of one-sided operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Epoch {
    /// MPI_Win_fence: of all ranks.
    Fence,
    /// Operations begun so far are complete at this target; `None`: at all targets.
    Flush(Option<u32>),
}

impl Sizes {
    /// The size of one rank.
    pub fn of(&self, rank: usize) -> u64 {
        match self {
            Sizes::Each(bytes) => *bytes,
            Sizes::Of(bytes) => bytes.get(rank).copied().unwrap_or(0),
        }
    }

    /// The sum over `ranks` ranks.
    pub fn sum(&self, ranks: usize) -> u64 {
        match self {
            Sizes::Each(bytes) => bytes * ranks as u64,
            Sizes::Of(bytes) => bytes.iter().sum(),
        }
    }
}
