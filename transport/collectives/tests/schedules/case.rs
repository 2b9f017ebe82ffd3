//! An operation with the buffers before, and the expected buffers after.

use fishplate_collectives::{Algorithm, ClusterMap, Operation, Rank, schedule};

use crate::machine::{self, Traffic};
use crate::memory::{Memory, Operator, Value};

/// Guard elements behind the result, which a schedule must not touch.
const GUARD: usize = 2;
const UNTOUCHED: Value = (9, 9);

pub struct Case<'a> {
    pub map: &'a ClusterMap,
    pub operation: &'a Operation,
    /// Whether each rank does it in place.
    pub in_place: &'a dyn Fn(Rank) -> bool,
}

impl Case<'_> {
    /// Runs it and checks the result; nothing if there is no such schedule.
    pub fn check(&self, algorithm: Algorithm, seed: u64) -> Option<Traffic> {
        let ranks = || (0..self.map.ranks()).map(Rank);
        let made = |rank| schedule(self.operation, self.map, algorithm, rank, self.is_in_place(rank));
        let schedules = ranks().map(made).collect::<Option<Vec<_>>>()?;
        let memories = ranks().map(|rank| self.before(rank)).collect();
        let (after, traffic) = machine::run(self.map, &schedules, memories, self.operator(), seed);
        for (rank, memory) in ranks().zip(after) {
            let expected = self.expected(rank);
            assert_eq!(memory.receive, expected, "{rank:?} of {:?} by {algorithm} on {:?}", self.operation, self.map);
        }
        Some(traffic)
    }

    fn is_in_place(&self, rank: Rank) -> bool {
        (self.in_place)(rank)
            && match self.operation {
                Operation::Barrier | Operation::Broadcast { .. } => false,
                Operation::Reduce { root, .. } | Operation::Gather { root, .. } | Operation::Scatter { root, .. } => {
                    rank == *root
                }
                _ => true,
            }
    }

    fn operator(&self) -> Operator {
        match self.operation {
            Operation::Reduce { commutative: false, .. }
            | Operation::Allreduce { commutative: false, .. }
            | Operation::ReduceScatter { commutative: false, .. } => Operator::Compose,
            _ => Operator::Add,
        }
    }

    fn before(&self, rank: Rank) -> Memory {
        let mut memory = Memory { receive: vec![Some(UNTOUCHED); self.receive_len(rank)], ..Memory::default() };
        let own: Vec<(usize, Value)> = self.contribution(rank);
        let is_in_receive = matches!(self.operation, Operation::Broadcast { .. })
            || (self.is_in_place(rank) && !matches!(self.operation, Operation::Scatter { .. }));
        if !is_in_receive {
            let len = own.iter().map(|(place, _)| place + 1).max().unwrap_or(0);
            memory.send = vec![None; len];
            own.into_iter().for_each(|(place, value)| memory.send[place] = Some(value));
            return memory;
        }
        let shift = match self.operation {
            Operation::Allgather { blocks } | Operation::Gather { blocks, .. } => blocks.start(rank),
            _ => 0,
        };
        own.into_iter().for_each(|(place, value)| memory.receive[shift + place] = Some(value));
        memory
    }

    fn receive_len(&self, rank: Rank) -> usize {
        let ranks = || (0..self.map.ranks()).map(Rank);
        GUARD
            + match self.operation {
                Operation::Barrier => 0,
                Operation::Broadcast { len, .. } | Operation::Allreduce { len, .. } => *len,
                Operation::Reduce { root, len, .. } => {
                    if rank == *root {
                        *len
                    } else {
                        0
                    }
                }
                Operation::ReduceScatter { blocks, .. } if self.is_in_place(rank) => blocks.total(),
                Operation::ReduceScatter { blocks, .. } => blocks.len(rank),
                Operation::Gather { root, .. } if rank != *root => 0,
                Operation::Allgather { blocks } | Operation::Gather { blocks, .. } => {
                    ranks().map(|rank| blocks.start(rank) + blocks.len(rank)).max().unwrap()
                }
                Operation::Scatter { blocks, .. } => blocks.len(rank),
                Operation::Alltoall { exchange } => {
                    ranks().map(|from| exchange.receive_start(from) + exchange.len(from, rank)).max().unwrap()
                }
            }
    }

    /// A rank's contribution, and its place in the rank's buffer.
    fn contribution(&self, rank: Rank) -> Vec<(usize, Value)> {
        let ranks = || (0..self.map.ranks()).map(Rank);
        let own = |len: usize| (0..len).map(|index| (index, value(rank, rank, index))).collect();
        match self.operation {
            Operation::Barrier => Vec::new(),
            Operation::Broadcast { root, len } => {
                if rank == *root {
                    own(*len)
                } else {
                    Vec::new()
                }
            }
            Operation::Reduce { len, .. } | Operation::Allreduce { len, .. } => own(*len),
            Operation::ReduceScatter { blocks, .. } => own(blocks.total()),
            Operation::Allgather { blocks } | Operation::Gather { blocks, .. } => own(blocks.len(rank)),
            Operation::Scatter { root, .. } if rank != *root => Vec::new(),
            Operation::Scatter { blocks, .. } => {
                let block = |to: Rank| (0..blocks.len(to)).map(move |i| (blocks.start(to) + i, value(rank, to, i)));
                ranks().flat_map(block).collect()
            }
            Operation::Alltoall { exchange } => {
                let start =
                    |to| if self.is_in_place(rank) { exchange.receive_start(to) } else { exchange.send_start(to) };
                let block = |to: Rank| (0..exchange.len(rank, to)).map(move |i| (start(to) + i, value(rank, to, i)));
                ranks().flat_map(block).collect()
            }
        }
    }

    fn expected(&self, rank: Rank) -> Vec<Option<Value>> {
        let mut receive = vec![Some(UNTOUCHED); self.receive_len(rank)];
        let ranks = || (0..self.map.ranks()).map(Rank);
        let mut put = |start: usize, len: usize, value: &dyn Fn(usize) -> Value| {
            (0..len).for_each(|index| receive[start + index] = Some(value(index)));
        };
        let reduced = |index| {
            let operands = ranks().map(|rank| value(rank, rank, index));
            operands.reduce(|left, right| self.operator().apply(left, right)).unwrap()
        };
        match self.operation {
            Operation::Barrier => {}
            Operation::Broadcast { root, len } => put(0, *len, &|index| value(*root, *root, index)),
            Operation::Reduce { root, len, .. } if rank == *root => put(0, *len, &reduced),
            Operation::Allreduce { len, .. } => put(0, *len, &reduced),
            Operation::ReduceScatter { blocks, .. } => {
                if self.is_in_place(rank) {
                    // MPI does not define the elements behind the result; schedules do not touch them.
                    put(0, blocks.total(), &|index| value(rank, rank, index));
                }
                put(0, blocks.len(rank), &|index| reduced(blocks.start(rank) + index));
            }
            Operation::Gather { root, .. } if rank != *root => {}
            Operation::Reduce { .. } => {}
            Operation::Allgather { blocks } | Operation::Gather { blocks, .. } => {
                ranks().for_each(|from| put(blocks.start(from), blocks.len(from), &|index| value(from, from, index)));
            }
            Operation::Scatter { root, .. } if rank == *root && self.is_in_place(rank) => {}
            Operation::Scatter { root, blocks } => put(0, blocks.len(rank), &|index| value(*root, rank, index)),
            Operation::Alltoall { exchange } => ranks().for_each(|from| {
                put(exchange.receive_start(from), exchange.len(from, rank), &|index| value(from, rank, index));
            }),
        }
        receive
    }
}

/// Element `index` of what one rank has for another; different for all of them.
fn value(from: Rank, to: Rank, index: usize) -> Value {
    let mixed = ((from.0 as u64 * 64 + to.0 as u64) * 4096 + index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed % 999_983 + 2, (mixed >> 20) % 999_979)
}
