//! What a call of MPI does, without its time: the same call in a loop is the same value.

use serde::{Deserialize, Serialize};

/// A request that is under way, by the lowest number that was free when it was made.
pub type Slot = u32;

/// A communicator, by its place among the definitions of its rank.
pub type CommunicatorNumber = u32;

/// What a call does. Ranks are those of MPI_COMM_WORLD, unless it says otherwise; sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// No call: from here on a communicator has this number.
    Communicator {
        /// The number.
        number: CommunicatorNumber,
        /// The same on all its ranks, and of no other communicator that exists at the same time. 0: not known.
        context: u64,
        /// Its ranks, in order; of an intercommunicator, those of the other group.
        members: Vec<u32>,
    },
    /// No call: those that follow are of this thread of the process, in the order in which they returned.
    Thread {
        /// Which; the first one is 0.
        number: u32,
        /// It was in MPI while another one was.
        is_beside: bool,
    },
    /// Sends.
    Send(Send),
    /// Receives.
    Receive(Receive),
    /// Sends and receives at the same time.
    Exchange(Send, Receive),
    /// Waits until requests are complete. Looks at requests that found nothing are not recorded.
    Wait(Vec<Completed>),
    /// A collective operation.
    Collective(Collective),
    /// A one-sided operation.
    OneSided {
        /// Ranks of the window, as a communicator.
        window: CommunicatorNumber,
        /// To which rank.
        target: u32,
        /// What is written there.
        written: u64,
        /// What is read from there.
        read: u64,
        /// Where it has one.
        request: Option<Slot>,
    },
    /// Begin or end of one-sided operations.
    Epoch {
        /// Ranks of the window.
        window: CommunicatorNumber,
        /// Which.
        kind: Epoch,
    },
    /// MPI_Buffer_detach, MPI_Buffer_flush: waits until what is in buffers of the program's has gone.
    Flush,
    /// MPI_Finalize, or the end of the trace.
    End,
    /// MPI_Comm_attach_buffer, MPI_Comm_flush_buffer, MPI_Comm_detach_buffer: from here on the communicator has a buffer of
    /// its own; waits until what is in it has gone.
    FlushCommunicator {
        /// Which.
        communicator: CommunicatorNumber,
    },
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Send {
    /// In which communicator.
    pub communicator: CommunicatorNumber,
    /// To which rank.
    pub to: u32,
    /// Its tag.
    pub tag: i32,
    /// How much.
    pub bytes: u64,
    /// When it is complete.
    pub mode: Mode,
    /// The data have gaps.
    pub has_gaps: bool,
    /// Where the call does not wait for it.
    pub request: Option<Slot>,
}

/// When a send is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// When its buffer may be used again, which is the MPI's choice: MPI_Send, MPI_Rsend.
    Standard,
    /// At once, as it goes by way of a buffer of the program's: MPI_Bsend.
    Buffered,
    /// When it is received: MPI_Ssend.
    Synchronous,
}

/// What is received.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Receive {
    /// In which communicator.
    pub communicator: CommunicatorNumber,
    /// From which rank; nothing: from any.
    pub from: Option<u32>,
    /// Its tag; nothing: any.
    pub tag: Option<i32>,
    /// Room for so much.
    pub bytes: u64,
    /// The data have gaps.
    pub has_gaps: bool,
    /// Where the call does not wait for it.
    pub request: Option<Slot>,
}

/// A request that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Completed {
    /// Which.
    pub request: Slot,
    /// Where it came from, with which tag, if it was a receive that took any.
    pub source: Option<(u32, i32)>,
    /// It has done nothing, as it was cancelled.
    pub is_cancelled: bool,
}

/// A collective operation of one rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Collective {
    /// Which.
    pub kind: CollectiveKind,
    /// Of which communicator.
    pub communicator: CommunicatorNumber,
    /// Rank in the communicator of the one that all others send to or receive from.
    pub root: Option<u32>,
    /// What this rank sends.
    pub sent: Sizes,
    /// What it receives.
    pub received: Sizes,
    /// Between neighbours: who sends to this rank, and to whom it sends.
    pub neighbors: Option<(Vec<u32>, Vec<u32>)>,
    /// Where the call does not wait for it.
    pub request: Option<Slot>,
}

/// Which collective operation. Those with a size for each rank are of the same kind as those with one for all.
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
    /// What makes a communicator or a window.
    Make,
}

/// Sizes by rank of a communicator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sizes {
    /// To or from each rank, or the vector that is combined.
    Each(u64),
    /// One for each rank; or for each neighbour.
    Of(Vec<u64>),
}

/// Begin or end of one-sided operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Epoch {
    /// Of all ranks.
    Fence,
    /// What was begun is complete at this target; nothing: at all.
    Flush(Option<u32>),
}

impl Sizes {
    /// That of one rank.
    pub fn of(&self, rank: usize) -> u64 {
        match self {
            Sizes::Each(bytes) => *bytes,
            Sizes::Of(bytes) => bytes.get(rank).copied().unwrap_or(0),
        }
    }

    /// The sum, among so many ranks.
    pub fn sum(&self, ranks: usize) -> u64 {
        match self {
            Sizes::Each(bytes) => bytes * ranks as u64,
            Sizes::Of(bytes) => bytes.iter().sum(),
        }
    }
}
