//! Names for the operations of a trace: the simplest MPI function with the operation's effect.

use std::collections::HashMap;
use std::sync::OnceLock;

use fishplate_profile::calls;
use fishplate_trace::{Collective, CollectiveKind, Epoch, Mode, Operation, Sizes};

/// Number of the call in a profile; `None` for operations that are not calls.
pub fn number_of(operation: &Operation) -> Option<usize> {
    static NUMBERS: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    let numbers =
        NUMBERS.get_or_init(|| calls::table().iter().enumerate().map(|(at, call)| (call.name.as_str(), at)).collect());
    numbers.get(name(operation)?.as_str()).copied()
}

fn name(operation: &Operation) -> Option<String> {
    let immediate = |is_immediate: bool, plain, other| if is_immediate { other } else { plain };
    let name = match operation {
        Operation::Send(send) => match send.mode {
            Mode::Standard => immediate(send.request.is_some(), "MPI_Send", "MPI_Isend"),
            Mode::Buffered => immediate(send.request.is_some(), "MPI_Bsend", "MPI_Ibsend"),
            Mode::Synchronous => immediate(send.request.is_some(), "MPI_Ssend", "MPI_Issend"),
        },
        Operation::Flush => "MPI_Buffer_flush",
        Operation::FlushCommunicator { .. } => "MPI_Comm_flush_buffer",
        Operation::Receive(receive) => immediate(receive.request.is_some(), "MPI_Recv", "MPI_Irecv"),
        Operation::Exchange(send, _) => immediate(send.request.is_some(), "MPI_Sendrecv", "MPI_Isendrecv"),
        Operation::Wait(completed) => immediate(completed.len() > 1, "MPI_Wait", "MPI_Waitall"),
        Operation::Collective(collective) => return Some(collective_name(collective)),
        Operation::OneSided { written: 0, request, .. } => immediate(request.is_some(), "MPI_Get", "MPI_Rget"),
        Operation::OneSided { read: 0, request, .. } => immediate(request.is_some(), "MPI_Put", "MPI_Rput"),
        Operation::OneSided { .. } => "MPI_Get_accumulate",
        Operation::Epoch { kind: Epoch::Fence, .. } => "MPI_Win_fence",
        Operation::Epoch { kind: Epoch::Flush(_), .. } => "MPI_Win_flush",
        Operation::Communicator { .. } | Operation::Thread { .. } | Operation::End => return None,
    };
    Some(name.to_string())
}

fn collective_name(collective: &Collective) -> String {
    use CollectiveKind::*;
    let has_sizes = [&collective.sent, &collective.received].into_iter().any(|sizes| matches!(sizes, Sizes::Of(_)));
    let (kind, immediate) = (collective.kind, collective.request.is_some());
    let name = match kind {
        Barrier => "barrier",
        Broadcast => "bcast",
        Gather => "gather",
        Scatter => "scatter",
        Allgather => "allgather",
        Alltoall => "alltoall",
        Reduce => "reduce",
        Allreduce => "allreduce",
        ReduceScatter => "reduce_scatter",
        Scan => "scan",
        NeighborAllgather => "neighbor_allgather",
        NeighborAlltoall => "neighbor_alltoall",
        Make if immediate => return "MPI_Comm_idup".into(),
        Make => "comm_split",
    };
    let is_vector = has_sizes && matches!(kind, Gather | Scatter | Allgather | Alltoall);
    let (first, rest) = if immediate { ("i", name) } else { name.split_at(1) };
    format!("MPI_{}{rest}{}", first.to_uppercase(), if is_vector { "v" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_known() {
        use CollectiveKind::*;
        let kinds = [
            Barrier,
            Broadcast,
            Gather,
            Scatter,
            Allgather,
            Alltoall,
            Reduce,
            Allreduce,
            ReduceScatter,
            Scan,
            NeighborAllgather,
            NeighborAlltoall,
            Make,
        ];
        for kind in kinds {
            for (sizes, request) in [(Sizes::Each(1), None), (Sizes::Of(vec![1]), Some(0))] {
                let (sent, received) = (sizes.clone(), sizes);
                let one = Collective { kind, communicator: 0, root: None, sent, received, neighbors: None, request };
                assert!(number_of(&Operation::Collective(one)).is_some(), "{kind:?}");
            }
        }
        let (window, target) = (0, 0);
        for (written, read, request) in [(1, 0, None), (0, 1, None), (1, 0, Some(0)), (0, 1, Some(0)), (1, 1, None)] {
            assert!(number_of(&Operation::OneSided { window, target, written, read, request }).is_some());
        }
        for kind in [Epoch::Fence, Epoch::Flush(None)] {
            assert!(number_of(&Operation::Epoch { window, kind }).is_some());
        }
        assert_eq!(number_of(&Operation::End), None);
    }
}
