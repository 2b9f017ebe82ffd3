//! Writes traces that SimGrid reads. A nanosecond of computation is written as one floating-point operation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use super::messages::{Messages, OfRank};
use crate::operation::{Collective, CollectiveKind, Mode, Operation, Receive, Send, Sizes, Slot};
use crate::read::{RankTrace, Trace};

/// A call that cannot be expressed in time-independent traces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank {rank}, call {call}: time-independent traces cannot express {what}")]
pub struct Wordless {
    rank: u32,
    /// Index of the call, counted from 1.
    call: usize,
    what: String,
}

/// The text of each rank; sizes are in bytes. `with_idle`: idle time counts as computation too.
///
/// # Errors
/// The first call that cannot be expressed.
pub fn ranks(trace: &Trace, with_idle: bool) -> Result<Vec<String>, Wordless> {
    let messages = Messages::of(trace);
    trace.ranks.iter().map(|rank| Writer::new(rank, &messages).write(with_idle)).collect()
}

struct Writer<'a> {
    trace: &'a RankTrace,
    text: String,
    messages: OfRank<'a>,
    /// Active messages, by request: [sender, receiver, tag].
    open: BTreeMap<Slot, Vec<[i64; 3]>>,
    /// Whether a request was freed that is still active: no call waits for it.
    has_freed: bool,
    /// Buffered sends, with their communicators.
    buffered: Vec<(u32, [i64; 3])>,
    /// Communicators with an attached buffer.
    apart: BTreeSet<u32>,
    /// By communicator: its number of ranks, and whether they are 0, 1, 2, …
    communicators: BTreeMap<u32, (usize, bool)>,
}

impl<'a> Writer<'a> {
    fn new(trace: &'a RankTrace, messages: &'a Messages) -> Writer<'a> {
        Writer {
            trace,
            text: String::new(),
            messages: messages.of_rank(trace.header.rank),
            open: BTreeMap::new(),
            has_freed: false,
            buffered: Vec::new(),
            apart: BTreeSet::new(),
            communicators: BTreeMap::new(),
        }
    }

    fn write(mut self, with_idle: bool) -> Result<String, Wordless> {
        self.line(format_args!("init"));
        for (at, step) in self.trace.steps.iter().enumerate() {
            let computed = step.processor_ns + if with_idle { step.idle_ns } else { 0 };
            if computed > 0 {
                self.line(format_args!("compute {computed}"));
            }
            let (rank, call) = (self.trace.header.rank, at + 1);
            let operation = &self.trace.operations[step.operation as usize];
            self.operation(operation).map_err(|what| Wordless { rank, call, what })?;
        }
        self.line(format_args!("finalize"));
        Ok(self.text)
    }

    fn line(&mut self, what: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{} {what}", self.trace.header.rank);
    }

    fn operation(&mut self, operation: &Operation) -> Result<(), String> {
        match operation {
            Operation::Communicator { number, context, members } => {
                let is_in_order = members.iter().enumerate().all(|(at, rank)| *rank as usize == at);
                self.communicators.insert(*number, (members.len(), is_in_order));
                self.messages.define(*number, *context);
            }
            Operation::Thread { is_beside: true, .. } => return Err("threads that call MPI concurrently".into()),
            Operation::Thread { .. } => {}
            Operation::Flush => {
                let apart = &self.apart;
                let sent = self.buffered.extract_if(.., |(of, _)| !apart.contains(of)).collect();
                self.wait_for_buffered(sent);
            }
            Operation::FlushCommunicator { communicator } => {
                self.apart.insert(*communicator);
                let sent = self.buffered.extract_if(.., |(of, _)| of == communicator).collect();
                self.wait_for_buffered(sent);
            }
            Operation::End => {
                let sent = std::mem::take(&mut self.buffered);
                self.wait_for_buffered(sent);
            }
            Operation::Send(send) => {
                self.begin(send.request);
                self.send(send, send.request);
            }
            Operation::Receive(receive) => {
                self.begin(receive.request);
                self.receive(receive, receive.request)?;
            }
            Operation::Exchange(send, receive) => self.exchange(send, receive)?,
            Operation::Wait(completed) => {
                self.wait(&completed.iter().map(|one| one.request).collect::<Vec<_>>());
            }
            Operation::Collective(collective) => self.collective(collective)?,
            Operation::OneSided { .. } | Operation::Epoch { .. } => return Err("one-sided operations".into()),
        }
        Ok(())
    }

    /// Begins a request. If its number is in use, the previous request was freed, and no call waits for it.
    fn begin(&mut self, request: Option<Slot>) {
        self.has_freed |= request.is_some_and(|slot| self.open.remove(&slot).is_some());
    }

    fn send(&mut self, send: &Send, request: Option<Slot>) {
        let (Send { to, bytes, .. }, words) = (send, self.messages.sent(send));
        let (own, peer, tag) = (i64::from(self.trace.header.rank), i64::from(*to), words.tag);
        let message = [own, peer, tag.into()];
        match request {
            _ if send.mode == Mode::Buffered => {
                self.buffered.push((send.communicator, message));
                self.line(format_args!("isend {to} {tag} {bytes}"));
            }
            None => {
                self.line(format_args!("send {to} {tag} {bytes}"));
                if let Some(ready) = words.ready {
                    self.line(format_args!("recv {to} {ready} 0"));
                }
            }
            Some(slot) => {
                self.line(format_args!("isend {to} {tag} {bytes}"));
                self.open.entry(slot).or_default().push(message);
                if let Some(ready) = words.ready {
                    self.line(format_args!("irecv {to} {ready} 0"));
                    self.open.entry(slot).or_default().push([peer, own, ready.into()]);
                }
            }
        }
    }

    fn receive(&mut self, receive: &Receive, request: Option<Slot>) -> Result<(), String> {
        let Some((from, words)) = self.messages.received(receive) else {
            return Err("a receive from any rank that was never complete".into());
        };
        if let Some(ready) = words.ready {
            self.line(format_args!("send {from} {ready} 0"));
        }
        let (bytes, tag) = (receive.bytes, words.tag);
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

    /// Written as two messages and a wait for both.
    fn exchange(&mut self, send: &Send, receive: &Receive) -> Result<(), String> {
        let slot = send.request.unwrap_or(Slot::MAX);
        self.begin(Some(slot));
        self.receive(receive, Some(slot))?;
        self.send(send, Some(slot));
        if send.request.is_none() {
            self.wait(&[slot]);
        }
        Ok(())
    }

    fn wait(&mut self, slots: &[Slot]) {
        let messages: Vec<[i64; 3]> = slots.iter().filter_map(|slot| self.open.remove(slot)).flatten().collect();
        if messages.len() > 1 && self.open.is_empty() && self.buffered.is_empty() && !self.has_freed {
            return self.line(format_args!("waitall"));
        }
        messages.into_iter().for_each(|message| self.wait_for(message));
    }

    fn wait_for(&mut self, [from, to, tag]: [i64; 3]) {
        self.line(format_args!("wait {from} {to} {tag}"));
    }

    /// Waits for buffered sends, of which the program has no requests.
    fn wait_for_buffered(&mut self, sent: Vec<(u32, [i64; 3])>) {
        sent.into_iter().for_each(|(_, message)| self.wait_for(message));
    }

    fn collective(&mut self, collective: &Collective) -> Result<(), String> {
        use CollectiveKind::*;
        if collective.request.is_some() {
            return Err("collective operations that are not waited for at once".into());
        }
        let ranks = self.trace.header.ranks as usize;
        let members = self.communicators.get(&collective.communicator).copied();
        if members.is_some_and(|(count, _)| count == 1) && ranks > 1 {
            // A communicator of one rank: no communication.
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
            // Creating a communicator involves agreement between the ranks.
            Make => self.line(format_args!("allreduce 8 0")),
            Alltoall if is_each(sent) && is_each(received) => self.line(format_args!("alltoall {first} {last}")),
            Alltoall => {
                let (out, back) = (all(sent), all(received));
                self.line(format_args!("alltoallv {} {out} {} {back}", sent.sum(ranks), received.sum(ranks)));
            }
            Allgather if is_each(received) => self.line(format_args!("allgather {first} {last}")),
            Allgather => self.line(format_args!("allgatherv {first} {}", all(received))),
            // The sizes are known to the root only, so each rank writes its own size.
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
