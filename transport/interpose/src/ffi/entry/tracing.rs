//! Adds a call that returned to the trace.

use std::sync::OnceLock;

use fishplate_profile::calls::{self, Call, Form, Kind};
use fishplate_trace::{Collective, CollectiveKind, Completed, Epoch, Mode, Operation, Receive, Send, Sizes};

use super::observation::After;
use super::significance::Part;
use crate::ffi::objects::Comm;
use crate::profile::Id;
use crate::trace::Tracer;

impl After<'_> {
    pub fn trace(&mut self, tracer: &mut Tracer) {
        if let Some(forgotten) = self.forgotten {
            tracer.free(forgotten);
        }
        match (self.arguments.call.kind, self.has_failed) {
            (Kind::Complete, _) => self.trace_completion(tracer),
            (_, true) => tracer.computes(),
            (Kind::Send | Kind::SendInit | Kind::Receive | Kind::ReceiveInit | Kind::Exchange, _) => {
                self.trace_messages(tracer);
            }
            (Kind::Start, _) => self.seen.requests.iter().filter_map(|seen| seen.id).for_each(|id| tracer.start(id)),
            (Kind::Probe, _) => self.trace_probe(tracer),
            (Kind::Buffer, _) => self.trace_flush(tracer),
            (Kind::OneSided, _) => self.trace_one_sided(tracer),
            (Kind::Sync, _) => self.trace_epoch(tracer),
            (Kind::File | Kind::Life, _) => tracer.computes(),
            _ => self.trace_collective(tracer),
        }
    }

    /// A successful matching probe counts as the posting of a receive. Other probes are not traced.
    fn trace_probe(&mut self, tracer: &mut Tracer) {
        let Some(probed) = self.probed else { return tracer.found_nothing() };
        let communicator = self.recorder.communicators.at(probed.communicator);
        tracer.know(probed.communicator, communicator);
        let Some(from) = communicator.in_world(probed.from) else { return tracer.found_nothing() };
        let request = tracer.reserve_slot();
        if let Some(slot) = request {
            tracer.add_request(probed.id, slot, None, None);
        }
        let (communicator, from, tag) = (probed.communicator as u32, Some(from as u32), Some(probed.tag));
        let receive = Receive { communicator, from, tag, bytes: probed.bytes, has_gaps: false, request };
        tracer.push(&Operation::Receive(receive));
    }

    /// Receives a probed message: waits for it, or renames it to the request created.
    fn trace_probed(&mut self, tracer: &mut Tracer, probed: Id) {
        match self.request {
            Some(request) => {
                tracer.rename(probed, request);
                tracer.found_nothing();
            }
            None => {
                let completed = tracer.complete(probed, false, |_| None);
                tracer.waited(completed.into_iter().collect());
            }
        }
    }

    fn trace_messages(&mut self, tracer: &mut Tracer) {
        if let Some(probed) = self.probed {
            return self.trace_probed(tracer, probed.id);
        }
        let has_request = self.arguments.call.form != Form::Plain;
        let request = if has_request { tracer.reserve_slot() } else { None };
        let (send, receive) = (self.traced_send(tracer, request), self.traced_receive(tracer, request));
        let is_wild = receive.as_ref().is_some_and(|receive| receive.from.is_none() || receive.tag.is_none());
        let operation = match (send, receive) {
            (Some(send), Some(receive)) => Some(Operation::Exchange(send, receive)),
            (Some(send), None) => Some(Operation::Send(send)),
            (None, Some(receive)) => Some(Operation::Receive(receive)),
            // To or from MPI_PROC_NULL.
            (None, None) => None,
        };
        let is_persistent = self.arguments.call.form == Form::Persistent;
        if let (Some(slot), Some(id)) = (request, self.request) {
            let persistent = is_persistent.then(|| operation.clone().unwrap_or(Operation::Wait(Vec::new())));
            let wild = self.received_in.filter(|_| is_wild && self.has_valid_status());
            tracer.add_request(id, slot, wild, persistent);
        }
        match operation {
            Some(operation) if !is_persistent => tracer.push(&operation),
            _ => {}
        }
    }

    fn traced_send(&mut self, tracer: &mut Tracer, request: Option<u32>) -> Option<Send> {
        let message = self.outgoing?;
        let communicator = self.recorder.communicators.at(message.communicator);
        tracer.know(message.communicator, communicator);
        let to = communicator.in_world(message.peer)? as u32;
        let name = self.arguments.call.name.trim_start_matches("MPI_").trim_start_matches('I');
        let mode = match name.bytes().next() {
            Some(b'B' | b'b') => Mode::Buffered,
            Some(b'S' | b's') if name.as_bytes().get(1) == Some(&b's') => Mode::Synchronous,
            _ => Mode::Standard,
        };
        let has_gaps = self.has_gaps(b't');
        let communicator = message.communicator as u32;
        Some(Send { communicator, to, tag: message.tag, bytes: message.bytes, mode, has_gaps, request })
    }

    fn traced_receive(&mut self, tracer: &mut Tracer, request: Option<u32>) -> Option<Receive> {
        if !self.receives() {
            return None;
        }
        let place = self.received_in?;
        tracer.know(place, self.recorder.communicators.at(place));
        let (from, tag) = self.envelope();
        let is_from_nobody = self.arguments.has(b's') && from < 0 && from != self.abi.any_source;
        if is_from_nobody {
            return None;
        }
        let (mut from, mut tag) = (Some(from).filter(|from| *from >= 0), Some(tag).filter(|tag| *tag >= 0));
        // The status of a blocking receive is valid.
        if request.is_none()
            && let Some((peer, got, _)) = self.status(0)
        {
            (from, tag) = (Some(peer).filter(|peer| *peer >= 0), Some(got));
            from?;
        }
        let from = match from {
            Some(from) => Some(self.recorder.communicators.at(place).in_world(from)? as u32),
            None => None,
        };
        let (bytes, has_gaps) = (self.room(), self.has_gaps(b'T'));
        Some(Receive { communicator: place as u32, from, tag, bytes, has_gaps, request })
    }

    fn trace_completion(&mut self, tracer: &mut Tracer) {
        match self.arguments.call.name.as_str() {
            "MPI_Request_free" if !self.has_failed => return self.trace_free(tracer, true),
            "MPI_Cancel" if self.seen.is_cancelled => return self.trace_free(tracer, false),
            _ if !self.is_completing() => return tracer.found_nothing(),
            _ => {}
        }
        let mut completed: Vec<Completed> = Vec::new();
        for (seen, status) in self.requests_completed().collect::<Vec<_>>() {
            let Some(id) = seen.id else { continue };
            let is_cancelled = self.was_cancelled(id, status);
            let from = self.status(status);
            let source = |place: usize| {
                let (rank, tag, _) = from?;
                let rank = self.recorder.communicators.at(place).in_world(rank)?;
                Some((rank as u32, tag))
            };
            completed.extend(tracer.complete(id, is_cancelled, source));
        }
        tracer.waited(completed);
    }

    /// A request is freed or cancelled. The operation of a freed request continues unless it is cancelled.
    fn trace_free(&mut self, tracer: &mut Tracer, is_freed: bool) {
        for id in self.seen.requests.iter().filter_map(|seen| seen.id) {
            let cancelled = if self.seen.is_cancelled { tracer.complete(id, true, |_| None) } else { None };
            tracer.waited(cancelled.into_iter().collect());
            if is_freed {
                tracer.free(id);
            }
        }
    }

    /// A call that waits until the buffer of the process or of a communicator is empty. The communicators of a session are
    /// unknown, so that flushes of its buffer are not traced.
    fn trace_flush(&mut self, tracer: &mut Tracer) {
        let Some(comm) = self.comm else {
            let is_of_session = self.arguments.call.name.starts_with("MPI_Session");
            return if is_of_session { tracer.computes() } else { tracer.push(&Operation::Flush) };
        };
        let place = self.recorder.communicators.place(comm);
        tracer.know(place, self.recorder.communicators.at(place));
        tracer.push(&Operation::FlushCommunicator { communicator: place as u32 });
    }

    fn communicator_of_window(&self) -> Option<usize> {
        self.recorder.communicator_of_window(self.arguments.handle(self.abi, b'w')?)
    }

    fn trace_one_sided(&mut self, tracer: &mut Tracer) {
        let Some((target, written, read)) = self.one_sided_bytes() else { return tracer.computes() };
        let Some(place) = self.communicator_of_window() else { return tracer.computes() };
        let communicator = self.recorder.communicators.at(place);
        tracer.know(place, communicator);
        let Some(target) = communicator.in_world(target) else { return tracer.computes() };
        let request = self.request.and_then(|id| {
            let slot = tracer.reserve_slot()?;
            tracer.add_request(id, slot, None, None);
            Some(slot)
        });
        let (written, read) = (written.unwrap_or(0), read.unwrap_or(0));
        tracer.push(&Operation::OneSided { window: place as u32, target: target as u32, written, read, request });
    }

    fn trace_epoch(&mut self, tracer: &mut Tracer) {
        let Some(place) = self.communicator_of_window() else { return tracer.computes() };
        let communicator = self.recorder.communicators.at(place);
        if communicator.has_foreign() {
            return tracer.computes();
        }
        let target = self.arguments.int(b'h').and_then(|rank| communicator.in_world(rank)).map(|rank| rank as u32);
        let kind = match self.arguments.call.name.as_str() {
            "MPI_Win_fence" => Epoch::Fence,
            "MPI_Win_unlock" | "MPI_Win_flush" | "MPI_Win_flush_local" if target.is_some() => Epoch::Flush(target),
            "MPI_Win_unlock_all" | "MPI_Win_flush_all" | "MPI_Win_flush_local_all" | "MPI_Win_complete" => {
                Epoch::Flush(None)
            }
            "MPI_Win_test" => return tracer.found_nothing(),
            // They wait for the other side's flush, whose duration is unknown.
            _ => return tracer.computes(),
        };
        tracer.know(place, communicator);
        tracer.push(&Operation::Epoch { window: place as u32, kind });
    }

    fn trace_collective(&mut self, tracer: &mut Tracer) {
        let kind = collective_kind(self.moment.call);
        // A communicator made from a group is created by its members alone.
        let is_of_group = kind == Some(CollectiveKind::Make) && (self.arguments.has(b'S') || self.arguments.has(b'g'));
        let comm = if is_of_group { self.made() } else { self.comm };
        let (Some(kind), Some(comm)) = (kind, comm) else { return tracer.computes() };
        let place = self.recorder.communicators.place(comm);
        let root = self.arguments.int(b'o').and_then(|root| u32::try_from(root).ok());
        let communicator = self.recorder.communicators.at(place);
        // The traces of this MPI_COMM_WORLD do not contain the calls of foreign ranks.
        if communicator.has_foreign() {
            return tracer.computes();
        }
        tracer.know(place, communicator);
        let is_of_neighbors = self.arguments.call.kind == Kind::Neighbor;
        let neighbors = is_of_neighbors.then(|| self.neighbors(comm, place));
        let [sent, received] = self.collective_sizes(place, neighbors.as_ref());
        let slot = self.request.and_then(|_| tracer.reserve_slot());
        let (communicator, request) = (place as u32, slot);
        let operation =
            Operation::Collective(Collective { kind, communicator, root, sent, received, neighbors, request });
        let is_persistent = self.arguments.call.form == Form::Persistent;
        if let (Some(id), Some(slot)) = (self.request, slot) {
            tracer.add_request(id, slot, None, is_persistent.then(|| operation.clone()));
        }
        if !is_persistent {
            tracer.push(&operation);
        }
    }

    /// Neighbours as ranks of MPI_COMM_WORLD; empty if there are none.
    fn neighbors(&mut self, comm: Comm, place: usize) -> (Vec<u32>, Vec<u32>) {
        let neighbors = self.recorder.communicators.neighbors(comm);
        let communicator = self.recorder.communicators.at(place);
        let world = |rank: &i32| communicator.in_world(*rank).map_or(u32::MAX, |rank| rank as u32);
        let [sources, destinations] = neighbors.each_ref().map(|ranks| ranks.iter().map(world).collect());
        (sources, destinations)
    }

    /// Bytes to and from each rank or neighbour, as far as this rank knows.
    fn collective_sizes(&mut self, place: usize, neighbors: Option<&(Vec<u32>, Vec<u32>)>) -> [Sizes; 2] {
        let part = self.part(place);
        let communicator = self.recorder.communicators.at(place);
        let (ranks, local, own) = (communicator.ranks, communicator.local, communicator.own);
        let (sources, destinations) = neighbors.map_or((ranks, ranks), |(from, to)| (from.len(), to.len()));
        let each = |count, datatype| {
            let bytes =
                self.arguments.count(count).filter(|_| part.has(count)).map(|count| count * self.size(datatype));
            bytes.map(Sizes::Each)
        };
        let all = |counts, datatype, datatypes, ranks| match part.has(counts) {
            true => self.sizes(counts, datatype, datatypes, ranks).map(Sizes::Of),
            false => self.arguments.has(counts).then(|| Sizes::Of(vec![0; ranks])),
        };
        let both = || each(b'e', b't').or_else(|| each(b'E', b't')).or_else(|| all(b'R', b't', b'-', local));
        let received = each(b'N', b'T').or_else(|| each(b'X', b'T')).or_else(|| all(b'V', b'T', b'Y', sources));
        let received = received.or_else(both).unwrap_or(Sizes::Each(0));
        let sent = each(b'n', b't').or_else(|| each(b'x', b't')).or_else(|| all(b'v', b't', b'y', destinations));
        let sent = sent.or_else(both).unwrap_or(Sizes::Each(0));
        let exchanges = self.arguments.call.kind == Kind::All && (self.arguments.has(b'x') || self.arguments.has(b'v'));
        match part {
            Part { gives: true, gives_in_place: true, .. } if exchanges => [received.clone(), received],
            Part { gives: true, gives_in_place: true, .. } => [Sizes::Each(received.of(own)), received],
            Part { gets: true, gets_in_place: true, .. } => {
                let share = Sizes::Each(sent.of(own));
                [sent, share]
            }
            _ => [sent, received],
        }
    }
}

/// Kind of collective operation of a call, by its number.
fn collective_kind(call: usize) -> Option<CollectiveKind> {
    static KINDS: OnceLock<Vec<Option<CollectiveKind>>> = OnceLock::new();
    KINDS.get_or_init(|| calls::table().iter().map(kind_of).collect())[call]
}

fn kind_of(call: &Call) -> Option<CollectiveKind> {
    if call.kind == Kind::Manage {
        let makes = call.arguments.iter().any(|argument| b"zW".contains(argument));
        return makes.then_some(CollectiveKind::Make);
    }
    let name = call.name.strip_prefix("MPI_")?.to_ascii_lowercase();
    let name = if call.is_large { name.strip_suffix("_c")? } else { &name };
    let name = if call.form == Form::Persistent { name.strip_suffix("_init")? } else { name };
    let name = if call.form == Form::Immediate { name.strip_prefix('i')? } else { name };
    Some(match name {
        "barrier" => CollectiveKind::Barrier,
        "bcast" => CollectiveKind::Broadcast,
        "gather" | "gatherv" => CollectiveKind::Gather,
        "scatter" | "scatterv" => CollectiveKind::Scatter,
        "allgather" | "allgatherv" => CollectiveKind::Allgather,
        "alltoall" | "alltoallv" | "alltoallw" => CollectiveKind::Alltoall,
        "reduce" => CollectiveKind::Reduce,
        "allreduce" => CollectiveKind::Allreduce,
        "reduce_scatter" | "reduce_scatter_block" => CollectiveKind::ReduceScatter,
        "scan" | "exscan" => CollectiveKind::Scan,
        "neighbor_allgather" | "neighbor_allgatherv" => CollectiveKind::NeighborAllgather,
        "neighbor_alltoall" | "neighbor_alltoallv" | "neighbor_alltoallw" => CollectiveKind::NeighborAlltoall,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collective_call_is_known() {
        for (number, call) in calls::table().iter().enumerate() {
            let is_collective = call.kind.group() == calls::Group::Collective;
            assert!(!is_collective || collective_kind(number).is_some(), "{}", call.name);
        }
    }
}
