//! Steps of a rank in a schedule.

use crate::buffer::Slice;
use crate::map::{LocalRank, Rank};

/// Distinguishes the messages of one schedule from one rank to another. Less than [`MAX_TAGS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u16);

/// How many tags a schedule uses at most: one a segment, see [`MAX_SEGMENTS`](crate::MAX_SEGMENTS).
pub const MAX_TAGS: u16 = 64;

/// A step of a schedule, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub usize);

/// Something to do once other steps are complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What.
    pub action: Action,
    /// Steps that must be complete before; all earlier in the schedule.
    pub after: Vec<StepId>,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends elements; complete when they may be overwritten.
    Send {
        /// To whom.
        to: Rank,
        /// What.
        from: Slice,
        /// Which of the messages to that rank.
        tag: Tag,
    },
    /// Receives as many elements as were sent; complete when they are there.
    Receive {
        /// From whom.
        from: Rank,
        /// Where to.
        into: Slice,
        /// Which of the messages from that rank.
        tag: Tag,
    },
    /// Copies elements between slices of equal length that do not overlap.
    Copy {
        /// What.
        from: Slice,
        /// Where to.
        into: Slice,
    },
    /// `into = from (op) into` for each element, as `MPI_Reduce_local(from, into)` does.
    Reduce {
        /// The left operand.
        from: Slice,
        /// The right operand, and the result.
        into: Slice,
    },
    /// A collective operation of the cluster's own communicator.
    Local(Local),
}

/// A collective operation among the ranks of one cluster, carried out by the executor: MPI's own algorithm.
///
/// Its ranks are those of the cluster in ascending order. Lists of slices have one for each of them, all in one buffer.
/// The schedules of all ranks of a cluster have equal local operations in equal order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Local {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast`.
    Broadcast {
        /// The rank that has it.
        root: LocalRank,
        /// What, at the root; where to, elsewhere.
        data: Slice,
    },
    /// `MPI_Reduce`.
    Reduce {
        /// The rank that gets it.
        root: LocalRank,
        /// This rank's operand. At the root it can be `into` itself (`MPI_IN_PLACE`).
        from: Slice,
        /// The result; only at the root.
        into: Option<Slice>,
    },
    /// `MPI_Reduce_scatter`: part i of the result goes to rank i.
    ReduceScatter {
        /// This rank's operand; it does not overlap `into`.
        from: Slice,
        /// Length of each rank's part; they add up to the operand's.
        lens: Vec<usize>,
        /// This rank's part of the result.
        into: Slice,
    },
    /// `MPI_Allgatherv` with `MPI_IN_PLACE`: each rank has its own block in place already.
    Allgather {
        /// The block of each rank.
        blocks: Vec<Slice>,
    },
    /// `MPI_Gatherv`.
    Gather {
        /// The rank that gets them.
        root: LocalRank,
        /// This rank's block. At the root it can be in its place already (`MPI_IN_PLACE`).
        from: Slice,
        /// Where the blocks go; only at the root.
        blocks: Option<Vec<Slice>>,
    },
    /// `MPI_Scatterv`.
    Scatter {
        /// The rank that has them.
        root: LocalRank,
        /// Where the blocks are; only at the root.
        blocks: Option<Vec<Slice>>,
        /// Where this rank's block goes. At the root it can be where it is already (`MPI_IN_PLACE`).
        into: Slice,
    },
    /// `MPI_Alltoallv`.
    Alltoall {
        /// The block for each rank.
        from: Vec<Slice>,
        /// Where the block of each rank goes.
        into: Vec<Slice>,
    },
}
