//! Converts a replay to the files that ranks would have recorded (lab/profile): calls, messages, events. So the profile of
//! a simulated run is created like the profile of a real one.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use fishplate_host::Host;
use fishplate_profile::rank_file::{event, size};
use fishplate_profile::read::{Counts, Event, Rank};
use fishplate_profile::sizes;
use fishplate_sim::models::time::Time;
use fishplate_trace::operation::Slot;
use fishplate_trace::{Collective, CollectiveKind, Operation, RankTrace, Receive, Send, Sizes};

use super::call_names::number_of;
use super::over_time::Steps;
use crate::profile::RawRank;

/// One rank, while its trace is gone through.
struct Recording<'a> {
    trace: &'a RankTrace,
    counts: Rank,
    steps: Steps,
    /// Communicators: their identifiers, equal on all ranks, and their members.
    communicators: BTreeMap<u32, (u64, &'a [u32])>,
    /// Messages so far, by stream.
    numbers: BTreeMap<u64, u64>,
    /// Requests until they are waited for, with their events where they have some; the times are those when they were made.
    open: BTreeMap<Slot, Vec<Option<Event>>>,
}

/// A call: its number among all that there are, when it began and ended.
#[derive(Clone, Copy)]
struct Call {
    number: usize,
    began_ns: u64,
    ended_ns: u64,
}

/// The recording of a rank on `host` with calls at these times.
pub fn of_rank(trace: &RankTrace, host: String, times: &[[Time; 2]], steps: Steps) -> (RawRank, Steps) {
    let mut recording = Recording::new(trace, host, steps);
    let ns = |time: Time| time.0 / 1000;
    let mut ended = 0;
    for (step, [begin, end]) in trace.steps.iter().zip(times) {
        if !recording.open.is_empty() {
            recording.counts.hidden_ns += ns(*begin).saturating_sub(ended);
        }
        ended = ns(*end);
        recording.add(&trace.operations[step.operation as usize], ns(*begin), ended);
    }
    recording.counts.last_ns = ended;
    (RawRank { counts: recording.counts, series: None, ended_ns: ended }, recording.steps)
}

impl<'a> Recording<'a> {
    fn new(trace: &'a RankTrace, host: String, steps: Steps) -> Self {
        let header = &trace.header;
        let counts = Rank {
            host_id: Host::named(&host).id(),
            host,
            program: header.program.clone(),
            library: header.library.clone(),
            ..Rank::idle(header.rank as usize, header.ranks as usize)
        };
        let (communicators, numbers, open) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Recording { trace, counts, steps, communicators, numbers, open }
    }

    fn add(&mut self, operation: &'a Operation, began_ns: u64, ended_ns: u64) {
        if let Operation::Communicator { number, context, members } = operation {
            self.communicators.insert(*number, (*context, members.as_slice()));
        }
        let Some(number) = number_of(operation) else { return };
        let call = Call { number, began_ns, ended_ns };
        let (mut sent, mut received) = (0, 0);
        match operation {
            Operation::Send(send) => {
                sent = send.bytes;
                self.sent(call, send);
            }
            Operation::Receive(receive) => {
                received = receive.bytes;
                self.received(call, receive);
            }
            Operation::Exchange(send, receive) => {
                (sent, received) = (send.bytes, receive.bytes);
                self.sent(call, send);
                self.received(call, receive);
            }
            Operation::Wait(completed) => {
                let requests: Vec<Slot> = completed.iter().map(|one| one.request).collect();
                self.wait(call, &requests);
            }
            Operation::Collective(collective) => (sent, received) = self.collective(call, collective),
            Operation::OneSided { written, read, .. } => {
                (sent, received) = (*written, *read);
                self.count_size(size::ONE_SIDED, *written + *read);
            }
            Operation::Communicator { .. }
            | Operation::Thread { .. }
            | Operation::Epoch { .. }
            | Operation::Flush
            | Operation::FlushCommunicator { .. }
            | Operation::End => {}
        }
        let time_ns = ended_ns - began_ns;
        self.counts.calls[number].add(&Counts { count: 1, time_ns, longest_ns: time_ns, sent, received });
        self.counts.in_mpi_ns += time_ns;
        self.steps.add_call([began_ns, ended_ns], [sent, received]);
    }

    fn count_size(&mut self, kind: usize, bytes: u64) {
        let (messages, sum) = &mut self.counts.sizes[kind][sizes::class(bytes)];
        *messages += 1;
        *sum += bytes;
    }

    /// The number of the next message of a stream.
    fn next(&mut self, key: u64) -> u64 {
        let number = self.numbers.entry(key).or_default();
        *number += 1;
        *number
    }

    fn context(&self, communicator: u32) -> u64 {
        self.communicators.get(&communicator).map_or(0, |(context, _)| *context)
    }

    fn sent(&mut self, call: Call, send: &Send) {
        let own = self.trace.header.rank;
        let key = key(&(self.context(send.communicator), own, send.to, send.tag));
        let number = self.next(key);
        if let Some(peer) = self.counts.peers.get_mut(send.to as usize) {
            peer.sent += 1;
            peer.sent_bytes += send.bytes;
        }
        self.count_size(size::SENT, send.bytes);
        let done_ns = if send.request.is_some() { call.began_ns } else { call.ended_ns };
        let event = call.event(event::SEND, (key, number), done_ns);
        self.counts.events.push(event);
        if let Some(slot) = send.request {
            self.open.entry(slot).or_default().push(Some(Event { kind: event::SENT, ..event }));
        }
    }

    fn received(&mut self, call: Call, receive: &Receive) {
        if let Some(peer) = receive.from.and_then(|from| self.counts.peers.get_mut(from as usize)) {
            peer.received += 1;
            peer.received_bytes += receive.bytes;
        }
        self.count_size(size::RECEIVED, receive.bytes);
        let own = self.trace.header.rank;
        // The source of an incomplete receive is unknown.
        let event = receive.from.zip(receive.tag).map(|(from, tag)| {
            let key = key(&(self.context(receive.communicator), from, own, tag));
            let number = self.next(key ^ RECEIVES);
            call.event(event::RECEIVE, (key, number), call.ended_ns)
        });
        match receive.request {
            Some(slot) => self.open.entry(slot).or_default().push(event),
            None => self.counts.events.extend(event),
        }
    }

    fn wait(&mut self, call: Call, requests: &[Slot]) {
        for slot in requests {
            for event in self.open.remove(slot).unwrap_or_default() {
                let done = |event: Event| Event { waited_ns: call.began_ns, done_ns: call.ended_ns, ..event };
                self.counts.events.extend(event.map(done));
            }
        }
        self.counts.waited_ns += call.ended_ns - call.began_ns;
    }

    /// Bytes that it sends and receives.
    fn collective(&mut self, call: Call, collective: &Collective) -> (u64, u64) {
        let context = self.context(collective.communicator);
        let members = self.communicators.get(&collective.communicator).map(|(_, members)| *members);
        let key = key(&(context, "collective"));
        let number = self.next(key);
        let mut event = call.event(event::COLLECTIVE, (key, number), call.ended_ns);
        let root = collective.root.and_then(|root| members?.get(root as usize));
        event.is_root = root == Some(&self.trace.header.rank);
        if let Some(slot) = collective.request {
            self.open.entry(slot).or_default().push(None);
        } else {
            self.counts.events.push(event);
        }
        let all = |sizes: &Sizes| sizes.sum(members.map_or(1, <[u32]>::len));
        let (sent, received) = match collective.kind {
            CollectiveKind::Barrier => (0, 0),
            CollectiveKind::Alltoall => (all(&collective.sent), all(&collective.received)),
            CollectiveKind::Scatter if event.is_root => (all(&collective.sent), 0),
            CollectiveKind::Gather if event.is_root => (0, all(&collective.received)),
            CollectiveKind::Allgather => (collective.sent.of(0), all(&collective.received)),
            _ => (collective.sent.sum(1), collective.received.sum(1)),
        };
        self.count_size(size::COLLECTIVE, sent);
        (sent, received)
    }
}

/// Receives are numbered separately from sends: a message of a rank to itself has both.
const RECEIVES: u64 = 1 << 63;

impl Call {
    fn event(self, kind: u64, (key, number): (u64, u64), done_ns: u64) -> Event {
        let Call { number: call, began_ns, .. } = self;
        Event { kind, call, is_root: false, key, number, posted_ns: began_ns, waited_ns: began_ns, done_ns }
    }
}

/// Hash of a value, equal on all ranks.
fn key(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish() >> 1
}
