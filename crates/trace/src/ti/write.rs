//! The trace of a rank as SimGrid reads it. A nanosecond of computation is one flop.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::operation::{Collective, CollectiveKind, Mode, Operation, Receive, Send, Sizes, Slot};
use crate::read::RankTrace;

/// Writes a rank; sizes are in bytes. `with_idle`: time that is no processor time is computation too.
///
/// # Errors
/// When there is something that these traces have no words for: the call, counted from 1, and what it is.
pub fn rank(trace: &RankTrace, with_idle: bool) -> Result<String, (usize, String)> {
    let mut writer = Writer {
        trace,
        text: String::new(),
        open: BTreeMap::new(),
        buffered: Vec::new(),
        communicators: BTreeMap::new(),
    };
    writer.line(format_args!("init"));
    for (at, step) in trace.steps.iter().enumerate() {
        let computed = step.processor_ns + if with_idle { step.idle_ns } else { 0 };
        if computed > 0 {
            writer.line(format_args!("compute {computed}"));
        }
        let operation = &trace.operations[step.operation as usize];
        writer.operation(operation).map_err(|what| (at + 1, what))?;
    }
    writer.line(format_args!("finalize"));
    Ok(writer.text)
}

struct Writer<'a> {
    trace: &'a RankTrace,
    text: String,
    /// Messages under way, by request: sender, receiver, tag.
    open: BTreeMap<Slot, Vec<[i64; 3]>>,
    /// Buffered sends.
    buffered: Vec<[i64; 3]>,
    /// How many ranks a communicator has, and whether they are in order from 0 on.
    communicators: BTreeMap<u32, (usize, bool)>,
}

impl Writer<'_> {
    fn line(&mut self, what: std::fmt::Arguments<'_>) {
        // A string takes whatever is written to it.
        let _ = writeln!(self.text, "{} {what}", self.trace.header.rank);
    }

    fn operation(&mut self, operation: &Operation) -> Result<(), String> {
        match operation {
            Operation::Communicator { number, members, .. } => {
                let is_in_order = members.iter().enumerate().all(|(at, rank)| *rank as usize == at);
                self.communicators.insert(*number, (members.len(), is_in_order));
            }
            Operation::Thread { is_beside: true, .. } => return Err("threads that call MPI at the same time".into()),
            Operation::Thread { .. } => {}
            Operation::Flush | Operation::FlushCommunicator { .. } | Operation::End => self.flush(),
            Operation::Send(send) => self.send(send, send.request),
            Operation::Receive(receive) => self.receive(receive, receive.request)?,
            Operation::Exchange(send, receive) => self.exchange(send, receive)?,
            Operation::Wait(completed) => {
                self.wait(&completed.iter().map(|one| one.request).collect::<Vec<_>>());
            }
            Operation::Collective(collective) => self.collective(collective)?,
            Operation::OneSided { .. } | Operation::Epoch { .. } => return Err("one-sided operations".into()),
        }
        Ok(())
    }

    fn send(&mut self, send: &Send, request: Option<Slot>) {
        let Send { to, tag, bytes, .. } = send;
        match request {
            _ if send.mode == Mode::Buffered => {
                self.buffered.push([self.trace.header.rank.into(), (*to).into(), (*tag).into()]);
                self.line(format_args!("isend {to} {tag} {bytes}"));
            }
            None => self.line(format_args!("send {to} {tag} {bytes}")),
            Some(slot) => {
                let message = [self.trace.header.rank.into(), (*to).into(), (*tag).into()];
                self.open.entry(slot).or_default().push(message);
                self.line(format_args!("isend {to} {tag} {bytes}"));
            }
        }
    }

    fn receive(&mut self, receive: &Receive, request: Option<Slot>) -> Result<(), String> {
        let (Some(from), Some(tag)) = (receive.from, receive.tag) else {
            return Err("a receive from any rank that was never complete".into());
        };
        let bytes = receive.bytes;
        match request {
            None => self.line(format_args!("recv {from} {tag} {bytes}")),
            Some(slot) => {
                let message = [from.into(), self.trace.header.rank.into(), tag.into()];
                self.open.entry(slot).or_default().push(message);
                self.line(format_args!("irecv {from} {tag} {bytes}"));
            }
        }
        Ok(())
    }

    /// As two messages, which are waited for together.
    fn exchange(&mut self, send: &Send, receive: &Receive) -> Result<(), String> {
        let slot = send.request.unwrap_or(Slot::MAX);
        self.receive(receive, Some(slot))?;
        self.send(send, Some(slot));
        if send.request.is_none() {
            self.wait(&[slot]);
        }
        Ok(())
    }

    fn wait(&mut self, slots: &[Slot]) {
        let messages: Vec<[i64; 3]> = slots.iter().filter_map(|slot| self.open.remove(slot)).flatten().collect();
        if messages.len() > 1 && self.open.is_empty() && self.buffered.is_empty() {
            return self.line(format_args!("waitall"));
        }
        for [from, to, tag] in messages {
            self.line(format_args!("wait {from} {to} {tag}"));
        }
    }

    /// Waits for buffered sends, which the program itself does not wait for.
    fn flush(&mut self) {
        for [from, to, tag] in std::mem::take(&mut self.buffered) {
            self.line(format_args!("wait {from} {to} {tag}"));
        }
    }

    fn collective(&mut self, collective: &Collective) -> Result<(), String> {
        use CollectiveKind::*;
        if collective.request.is_some() {
            return Err("collective operations that are not waited for at once".into());
        }
        let ranks = self.trace.header.ranks as usize;
        let members = self.communicators.get(&collective.communicator).copied();
        if members.is_some_and(|(count, _)| count == 1) && ranks > 1 {
            // Of one rank alone: nothing to be done.
            return Ok(());
        }
        if members != Some((ranks, true)) {
            return Err(format!("collective operations of fewer than all {ranks} ranks, or in another order"));
        }
        let Collective { sent, received, .. } = collective;
        let root = collective.root.unwrap_or(0);
        let all = |sizes: &Sizes| (0..ranks).map(|rank| sizes.of(rank).to_string()).collect::<Vec<_>>().join(" ");
        let is_each = |sizes: &Sizes| matches!(sizes, Sizes::Each(_));
        let (first, last) = (sent.of(0), received.of(0));
        match collective.kind {
            Barrier => self.line(format_args!("barrier")),
            Broadcast => self.line(format_args!("bcast {} {root}", first.max(last))),
            Reduce => self.line(format_args!("reduce {first} 0 {root}")),
            Allreduce => self.line(format_args!("allreduce {first} 0")),
            // What the ranks tell each other when they make a communicator.
            Make => self.line(format_args!("allreduce 8 0")),
            Alltoall if is_each(sent) && is_each(received) => self.line(format_args!("alltoall {first} {last}")),
            Alltoall => {
                let (out, back) = (all(sent), all(received));
                self.line(format_args!("alltoallv {} {out} {} {back}", sent.sum(ranks), received.sum(ranks)));
            }
            Allgather if is_each(received) => self.line(format_args!("allgather {first} {last}")),
            Allgather => self.line(format_args!("allgatherv {first} {}", all(received))),
            // Only the root knows what it gets, or sends, so all have it as sizes of their own.
            Gather if is_each(received) => self.line(format_args!("gather {first} {first} {root}")),
            Scatter if is_each(sent) => self.line(format_args!("scatter {last} {last} {root}")),
            Gather | Scatter => return Err("gathers and scatters with a size for each rank".into()),
            ReduceScatter => self.line(format_args!("reducescatter {} 0", all(sent))),
            Scan => self.line(format_args!("scan {first} 0")),
            NeighborAllgather | NeighborAlltoall => return Err("operations between neighbours".into()),
        }
        Ok(())
    }
}
