//! Collective operations inside of a cluster, as MPI defines them.

use fishplate_collectives::{Local, Slice};

use crate::memory::{Memory, Operator, Value};

/// Slices of a rank's buffers, and the values that an operation writes there.
pub type Written = Vec<(Slice, Vec<Value>)>;

/// The results of an operation for all ranks of a cluster. Panics if their calls do not fit each other.
pub fn carried_out(calls: &[Local], memories: &[&Memory], operator: Operator) -> Vec<Written> {
    let operation = Collective { calls, memories, operator };
    (0..calls.len()).map(|rank| operation.written(rank)).collect()
}

/// One operation: the calls of all ranks, and their memory.
struct Collective<'a> {
    calls: &'a [Local],
    memories: &'a [&'a Memory],
    operator: Operator,
}

impl Collective<'_> {
    fn written(&self, rank: usize) -> Written {
        let mut written = Written::new();
        match (&self.calls[0], &self.calls[rank]) {
            (Local::Barrier, Local::Barrier) => {}
            (Local::Broadcast { root, .. }, Local::Broadcast { root: same, data }) => {
                assert_eq!(root, same);
                let Local::Broadcast { data: source, .. } = self.calls[root.0] else { unreachable!() };
                assert_eq!(source.len, data.len);
                if rank != root.0 {
                    written.push((*data, self.get(root.0, source)));
                }
            }
            (Local::Reduce { root, .. }, Local::Reduce { root: same, into, .. }) => {
                assert_eq!((root, rank == root.0), (same, into.is_some()));
                written.extend(into.map(|into| (into, self.reduced())));
            }
            (Local::ReduceScatter { lens, .. }, Local::ReduceScatter { lens: same, into, .. }) => {
                assert_eq!(lens, same);
                let start: usize = lens[..rank].iter().sum();
                written.push((*into, self.reduced()[start..start + lens[rank]].to_vec()));
            }
            (Local::Allgather { .. }, Local::Allgather { blocks }) => {
                for (peer, block) in blocks.iter().enumerate().filter(|(peer, _)| *peer != rank) {
                    let Local::Allgather { blocks: theirs } = &self.calls[peer] else {
                        panic!("{:?}", self.calls[peer])
                    };
                    written.push((*block, self.get(peer, theirs[peer])));
                }
            }
            (Local::Gather { root, .. }, Local::Gather { root: same, blocks, .. }) => {
                assert_eq!((root, rank == root.0), (same, blocks.is_some()));
                written = self.gathered(rank, blocks.as_deref().unwrap_or_default());
            }
            (Local::Scatter { root, .. }, Local::Scatter { root: same, blocks, into }) => {
                assert_eq!((root, rank == root.0), (same, blocks.is_some()));
                let Local::Scatter { blocks: Some(blocks), .. } = &self.calls[root.0] else { unreachable!() };
                if rank != root.0 || blocks[rank] != *into {
                    written.push((*into, self.get(root.0, blocks[rank])));
                }
            }
            (Local::Alltoall { .. }, Local::Alltoall { into, .. }) => {
                for (peer, into) in into.iter().enumerate() {
                    let Local::Alltoall { from, .. } = &self.calls[peer] else { panic!("{:?}", self.calls[peer]) };
                    written.push((*into, self.get(peer, from[rank])));
                }
            }
            (one, other) => panic!("ranks of a cluster call different operations: {one:?}, {other:?}"),
        }
        written
    }

    /// `blocks`: of the root, one from each rank.
    fn gathered(&self, rank: usize, blocks: &[Slice]) -> Written {
        let mut written = Written::new();
        for (peer, block) in blocks.iter().enumerate() {
            let Local::Gather { from, .. } = &self.calls[peer] else { panic!("{:?}", self.calls[peer]) };
            if peer != rank || from != block {
                written.push((*block, self.get(peer, *from)));
            }
        }
        written
    }

    fn reduced(&self) -> Vec<Value> {
        let operand = |rank: usize| match &self.calls[rank] {
            Local::Reduce { from, .. } | Local::ReduceScatter { from, .. } => self.get(rank, *from),
            other => panic!("{other:?}"),
        };
        let pairwise = |left: Vec<Value>, right: Vec<Value>| {
            assert_eq!(left.len(), right.len());
            left.into_iter().zip(right).map(|(left, right)| self.operator.apply(left, right)).collect()
        };
        (0..self.calls.len()).map(operand).reduce(pairwise).unwrap()
    }

    fn get(&self, rank: usize, slice: Slice) -> Vec<Value> {
        self.memories[rank].get(slice)
    }
}
