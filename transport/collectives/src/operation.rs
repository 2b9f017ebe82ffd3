//! The collective operations.

use crate::map::Rank;

/// A collective operation, with all that a schedule depends on. Lengths are in elements.
///
/// An element is one of the datatype in a reduction, otherwise a byte. The operation must be equal on all ranks, except
/// for the positions of blocks in their own buffers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// No rank leaves before all have entered.
    Barrier,
    /// `Receive[0..len]` of the root into that of all.
    Broadcast {
        /// The rank that has it.
        root: Rank,
        /// How much.
        len: usize,
    },
    /// `Send[0..len]` of all, reduced, into `Receive` of the root.
    Reduce {
        /// The rank that gets it.
        root: Rank,
        /// How much each has.
        len: usize,
        /// Whether operands may change places.
        commutative: bool,
    },
    /// `Send[0..len]` of all, reduced, into `Receive` of all.
    Allreduce {
        /// How much each has.
        len: usize,
        /// Whether operands may change places.
        commutative: bool,
    },
    /// `Send` of all, reduced; the block of each rank to the start of its `Receive`. In place, `Receive` has the operand.
    ReduceScatter {
        /// How long the blocks are, and where they are in the operand; without gaps, in the order of the ranks.
        blocks: Blocks,
        /// Whether operands may change places.
        commutative: bool,
    },
    /// The block of each rank, from the start of its `Send`, into `Receive` of all.
    Allgather {
        /// How long the blocks are, and where they go in this rank's `Receive`.
        blocks: Blocks,
    },
    /// The block of each rank, from the start of its `Send`, into `Receive` of the root.
    Gather {
        /// The rank that gets them.
        root: Rank,
        /// How long the blocks are, and where they go; only the root's places count.
        blocks: Blocks,
    },
    /// A block for each rank from `Send` of the root to the start of that rank's `Receive`.
    Scatter {
        /// The rank that has them.
        root: Rank,
        /// How long the blocks are, and where they are; only the root's places count.
        blocks: Blocks,
    },
    /// A block from each rank to each.
    Alltoall {
        /// How long the blocks are, and where.
        exchange: Exchange,
    },
}

impl Operation {
    /// Elements of the one buffer that all ranks have alike; 0 where each has or gets a block of its own.
    pub(crate) fn len(&self) -> usize {
        match self {
            Operation::Broadcast { len, .. } | Operation::Reduce { len, .. } | Operation::Allreduce { len, .. } => *len,
            _ => 0,
        }
    }

    /// Its name in MPI, in lower case.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Barrier => "barrier",
            Operation::Broadcast { .. } => "bcast",
            Operation::Reduce { .. } => "reduce",
            Operation::Allreduce { .. } => "allreduce",
            Operation::ReduceScatter { .. } => "reduce_scatter",
            Operation::Allgather { .. } => "allgather",
            Operation::Gather { .. } => "gather",
            Operation::Scatter { .. } => "scatter",
            Operation::Alltoall { .. } => "alltoall",
        }
    }
}

/// A block for each rank: how long, and where it starts in its buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Blocks {
    lens: Vec<usize>,
    starts: Vec<usize>,
}

impl Blocks {
    /// Blocks of one length, one after the other.
    pub fn equal(ranks: usize, len: usize) -> Blocks {
        Blocks::placed(vec![len; ranks], (0..ranks).map(|rank| rank * len).collect())
    }

    /// Blocks of these lengths, one after the other.
    pub fn in_a_row(lens: Vec<usize>) -> Blocks {
        let starts = lens.iter().scan(0, |end, len| {
            *end += len;
            Some(*end - len)
        });
        Blocks { starts: starts.collect(), lens }
    }

    /// Blocks of these lengths that start there.
    ///
    /// # Panics
    /// When there are not as many lengths as starts.
    pub fn placed(lens: Vec<usize>, starts: Vec<usize>) -> Blocks {
        assert_eq!(lens.len(), starts.len(), "a length and a start for each rank");
        Blocks { lens, starts }
    }

    /// Length of a rank's block.
    pub fn len(&self, rank: Rank) -> usize {
        self.lens[rank.0]
    }

    /// Where a rank's block starts.
    pub fn start(&self, rank: Rank) -> usize {
        self.starts[rank.0]
    }

    /// Whether all blocks have one length.
    pub fn is_equal(&self) -> bool {
        self.lens.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Length of all blocks.
    pub fn total(&self) -> usize {
        self.lens.iter().sum()
    }
}

/// Blocks from each rank to each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Exchange {
    lens: Lens,
    send_starts: Vec<usize>,
    receive_starts: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Lens {
    Equal(usize),
    /// From each rank to each, one sender after the other.
    Each(Vec<usize>),
}

impl Exchange {
    /// Blocks of one length, one after the other.
    pub fn equal(ranks: usize, len: usize) -> Exchange {
        let starts: Vec<usize> = (0..ranks).map(|rank| rank * len).collect();
        Exchange { lens: Lens::Equal(len), send_starts: starts.clone(), receive_starts: starts }
    }

    /// `lens[i * ranks + j]` elements from rank i to rank j; where the blocks for and from each rank start in this rank's
    /// `Send` and `Receive`.
    ///
    /// # Panics
    /// When the numbers of lengths and starts do not fit each other.
    pub fn placed(lens: Vec<usize>, send_starts: Vec<usize>, receive_starts: Vec<usize>) -> Exchange {
        assert_eq!(send_starts.len(), receive_starts.len(), "a start for each rank");
        assert_eq!(lens.len(), send_starts.len() * send_starts.len(), "a length from each rank to each");
        Exchange { lens: Lens::Each(lens), send_starts, receive_starts }
    }

    /// Length of the block from one rank to another.
    pub fn len(&self, from: Rank, to: Rank) -> usize {
        match &self.lens {
            Lens::Equal(len) => *len,
            Lens::Each(lens) => lens[from.0 * self.send_starts.len() + to.0],
        }
    }

    /// Where this rank's block for `to` starts in its `Send`.
    pub fn send_start(&self, to: Rank) -> usize {
        self.send_starts[to.0]
    }

    /// Where the block of `from` goes in this rank's `Receive`.
    pub fn receive_start(&self, from: Rank) -> usize {
        self.receive_starts[from.0]
    }
}
