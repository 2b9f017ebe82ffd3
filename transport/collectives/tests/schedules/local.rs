//! Collective operations inside of a cluster, as MPI defines them.

use fishplate_collectives::{Local, Slice};

use crate::memory::{Memory, Operator, Value};

/// What every rank of a cluster gets: slices of its buffers, and what goes there. Panics if what they call does not fit.
pub fn carried_out(calls: &[Local], memories: &[&Memory], operator: Operator) -> Vec<Vec<(Slice, Vec<Value>)>> {
    let ranks = calls.len();
    let mut written: Vec<Vec<(Slice, Vec<Value>)>> = vec![Vec::new(); ranks];
    let get = |rank: usize, slice: Slice| memories[rank].get(slice);
    for rank in 0..ranks {
        match (&calls[0], &calls[rank]) {
            (Local::Barrier, Local::Barrier) => {}
            (Local::Broadcast { root, .. }, Local::Broadcast { root: same, data }) => {
                assert_eq!(root, same);
                let Local::Broadcast { data: source, .. } = calls[root.0] else { unreachable!() };
                assert_eq!(source.len, data.len);
                if rank != root.0 {
                    written[rank].push((*data, get(root.0, source)));
                }
            }
            (Local::Reduce { root, .. }, Local::Reduce { root: same, into, .. }) => {
                assert_eq!((root, rank == root.0), (same, into.is_some()));
                if let Some(into) = into {
                    written[rank].push((*into, reduced(calls, memories, operator)));
                }
            }
            (Local::ReduceScatter { lens, .. }, Local::ReduceScatter { lens: same, into, .. }) => {
                assert_eq!(lens, same);
                let start: usize = lens[..rank].iter().sum();
                written[rank].push((*into, reduced(calls, memories, operator)[start..start + lens[rank]].to_vec()));
            }
            (Local::Allgather { .. }, Local::Allgather { blocks }) => {
                for (peer, block) in blocks.iter().enumerate().filter(|(peer, _)| *peer != rank) {
                    let Local::Allgather { blocks: theirs } = &calls[peer] else { panic!("{:?}", calls[peer]) };
                    written[rank].push((*block, get(peer, theirs[peer])));
                }
            }
            (Local::Gather { root, .. }, Local::Gather { root: same, blocks, .. }) => {
                assert_eq!((root, rank == root.0), (same, blocks.is_some()));
                for (peer, block) in blocks.iter().flatten().enumerate() {
                    let Local::Gather { from, .. } = &calls[peer] else { panic!("{:?}", calls[peer]) };
                    if peer != rank || from != block {
                        written[rank].push((*block, get(peer, *from)));
                    }
                }
            }
            (Local::Scatter { root, .. }, Local::Scatter { root: same, blocks, into }) => {
                assert_eq!((root, rank == root.0), (same, blocks.is_some()));
                let Local::Scatter { blocks: Some(blocks), .. } = &calls[root.0] else { unreachable!() };
                if rank != root.0 || blocks[rank] != *into {
                    written[rank].push((*into, get(root.0, blocks[rank])));
                }
            }
            (Local::Alltoall { .. }, Local::Alltoall { into, .. }) => {
                for (peer, into) in into.iter().enumerate() {
                    let Local::Alltoall { from, .. } = &calls[peer] else { panic!("{:?}", calls[peer]) };
                    written[rank].push((*into, get(peer, from[rank])));
                }
            }
            (one, other) => panic!("ranks of a cluster call different operations: {one:?}, {other:?}"),
        }
    }
    written
}

fn reduced(calls: &[Local], memories: &[&Memory], operator: Operator) -> Vec<Value> {
    let operand = |rank: usize| match &calls[rank] {
        Local::Reduce { from, .. } | Local::ReduceScatter { from, .. } => memories[rank].get(*from),
        other => panic!("{other:?}"),
    };
    let pairwise = |left: Vec<Value>, right: Vec<Value>| {
        assert_eq!(left.len(), right.len());
        left.into_iter().zip(right).map(|(left, right)| operator.apply(left, right)).collect()
    };
    (0..calls.len()).map(operand).reduce(pairwise).unwrap()
}
