//! Adds calls to the counters of a profile.

use fishplate_profile::calls;
use fishplate_profile::rank_file::{call, event, header, peer, site, size};
use fishplate_profile::series_file::rank_column;
use rustc_hash::FxHashMap;

use super::call_sites::CallSites;
use super::communicators::Communicators;
use super::events::{Event, Events};
use super::handles::{Handles, Id};
use super::message_numbers::{MessageNumbers, Side, stream};
use super::rails::Rails;
use super::requests::{Collective, Message, Operation, ProbedMessages, Request, Requests};
use super::tables::Tables;
use super::timeline::Timeline;
use crate::ffi::{Abi, Comm};

/// Limit of the number of tracked windows.
const MAX_WINDOWS: usize = 1 << 16;

/// Times of a call of the program.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Number of the call.
    pub call: usize,
    /// Return address of the call.
    pub caller: usize,
    /// When it began, in nanoseconds of the monotonic clock.
    pub began: u64,
    pub ended: u64,
    /// Row of its call site, set by [`Recorder::end_call`].
    pub site: usize,
    /// Whether it is within another call, whose time includes it.
    pub is_nested: bool,
}

/// The recorder of a rank. Methods are called under one lock.
pub struct Recorder {
    /// Target of additions: the file, or unused memory while recording is paused.
    tables: Tables,
    file: Tables,
    is_paused: bool,
    pub communicators: Communicators,
    /// Requests by handle.
    pub handles: Handles,
    pub requests: Requests,
    events: Events,
    numbers: MessageNumbers,
    timeline: Option<Timeline>,
    rails: Option<Rails>,
    /// Difference of the time of day and the monotonic clock, in nanoseconds.
    realtime_offset: u64,
    last_end: u64,
    sites: CallSites,
    windows: FxHashMap<usize, usize>,
    pub probed: ProbedMessages,
}

impl Recorder {
    /// `realtime_offset`: difference of the time of day and the monotonic clock, in nanoseconds.
    pub fn new(
        abi: &'static Abi,
        tables: Tables,
        timeline: Option<Timeline>,
        rails: Option<Rails>,
        realtime_offset: u64,
        now: u64,
    ) -> Recorder {
        Recorder {
            tables,
            file: tables,
            is_paused: false,
            communicators: Communicators::new(abi, tables),
            handles: Handles::default(),
            requests: Requests::default(),
            events: Events::new(tables),
            numbers: MessageNumbers::default(),
            timeline,
            rails,
            realtime_offset,
            last_end: now,
            sites: CallSites::new(tables),
            windows: FxHashMap::default(),
            probed: ProbedMessages::default(),
        }
    }

    /// Records the time of a call that ended. To be followed by the methods for its effects.
    pub fn end_call(&mut self, moment: &mut Moment, communicator: Option<Comm>, has_failed: bool) {
        moment.site = self.sites.row(moment.call, moment.caller);
        let time = moment.ended - moment.began;
        let row = self.call_row(moment.call);
        self.tables.add(row + call::COUNT, 1);
        self.tables.add(row + call::TIME, time);
        self.tables.raise(row + call::LONGEST, time);
        self.tables.add(row + call::ERRORS, u64::from(has_failed));
        self.tables.add(moment.site + site::COUNT, 1);
        self.tables.add(moment.site + site::TIME, time);
        self.tables.raise(moment.site + site::LONGEST, time);
        if let Some(comm) = communicator {
            let place = self.communicators.place(comm);
            self.communicators.count(&self.tables, place, time);
        }
        if moment.is_nested {
            return;
        }
        self.tables.add(header::IN_MPI, time);
        self.tables.set(header::LAST, moment.ended);
        if self.requests.active() > 0 {
            self.tables.add(header::HIDDEN, moment.began.saturating_sub(self.last_end));
            if calls::table()[moment.call].kind == calls::Kind::Complete {
                self.tables.add(header::WAITED, time);
            }
        }
        self.last_end = moment.ended;
        if self.is_paused {
            return;
        }
        if let Some(timeline) = &mut self.timeline {
            let offset = self.realtime_offset;
            timeline.add_period(rank_column::IN_MPI_US, moment.began + offset, moment.ended + offset);
            if let Some(rails) = &mut self.rails {
                rails.look(moment.ended + offset, timeline);
            }
        }
    }

    /// Records a blocking operation. `from` returns source, tag and bytes of a receive.
    pub fn blocking(&mut self, moment: &Moment, operation: Operation, from: impl Fn() -> Option<(i32, i32, u64)>) {
        let (origin, times) = ((moment.call, moment.site), [moment.began, moment.began, moment.ended]);
        match operation {
            Operation::Send { .. } => drop(self.start(origin, times, operation)),
            // A message is numbered by its status, as the receive may have wildcards.
            Operation::Receive { .. } => self.complete(origin, times, operation, from),
            Operation::Collective { .. } | Operation::Other => {
                let started = self.start(origin, times, operation);
                self.complete(origin, times, started, from);
            }
        }
    }

    /// Records the start of an operation, by a call and its site. Returns it with its number. `times` are those of a send's event.
    pub fn start(&mut self, (call, site): (usize, usize), times: [u64; 3], operation: Operation) -> Operation {
        match operation {
            Operation::Send { message, .. } => {
                let number = self.count_sent(call, site, times[0], message);
                self.push_message(event::SEND, call, number, times);
                Operation::Send { message, number }
            }
            Operation::Receive { communicator, from, tag, room, .. } => {
                let number = if tag < 0 { None } else { self.number_of_received(communicator, from, tag) };
                Operation::Receive { communicator, from, tag, number, room }
            }
            Operation::Collective { collective, .. } => {
                let Collective { communicator, sent, received, .. } = collective;
                self.tables.add_size(size::COLLECTIVE, sent.max(received));
                self.count_bytes(call, site, Some(communicator), times[0], sent, received);
                let number = self.communicators.at(communicator).next_collective();
                Operation::Collective { collective, number }
            }
            Operation::Other => Operation::Other,
        }
    }

    /// Stream and number of the next message from a rank with a tag. Counts it as received.
    pub fn number_of_received(&mut self, communicator: usize, from: i32, tag: i32) -> Option<(u64, u64)> {
        let key = self.incoming_stream(communicator, from, tag)?;
        self.numbered(key, Side::Receiver)
    }

    /// Adds a request, or counts it as lost if the table is full.
    pub fn add_request(&mut self, id: Id, request: Request) {
        if !self.requests.insert(id, request) {
            self.tables.add(header::LOST_REQUESTS, 1);
        }
    }

    /// Removes a freed request, whether or not it is complete.
    pub fn free_request(&mut self, handle: usize, id: Id) {
        self.requests.free(id);
        self.handles.remove(handle, id);
    }

    /// Completes a cancelled request, which has no effect.
    pub fn cancelled_request(&mut self, id: Id) {
        let Some(request) = self.requests.complete(id) else { return };
        for mut operation in request.operations.into_iter().flatten() {
            if let Operation::Send { message, .. } = operation {
                self.uncount_sent(&request, message);
            }
            let Some((side, (stream, taken))) = operation.number().map(|(side, number)| (side, *number)) else {
                continue;
            };
            self.numbers.take_back(stream, side);
            let requests = self.requests.under_way();
            let numbers =
                requests.flat_map(|request| request.operations.iter_mut().flatten()).filter_map(Operation::number);
            for (_, (_, number)) in
                numbers.filter(|(of, (key, number))| (*of, *key) == (side, stream) && *number > taken)
            {
                *number -= 1;
            }
        }
    }

    fn uncount_sent(&mut self, request: &Request, Message { communicator, peer, bytes, .. }: Message) {
        let row = self.peer_row(communicator, peer);
        let less = |amount: u64| 0u64.wrapping_sub(amount);
        self.tables.add(row + peer::SENT, less(1));
        self.tables.add(row + peer::SENT_BYTES, less(bytes));
        self.tables.take_size(size::SENT, bytes);
        self.add_to_rows(request.call, request.site, less(bytes), 0);
        self.communicators.count_bytes(&self.tables, communicator, less(bytes), 0);
    }

    pub fn start_request(&mut self, id: Id, now: u64) {
        let Some(request) = self.requests.start(id, now).copied() else { return };
        let origin = (request.call, request.site);
        let operations = request.operations.map(|operation| Some(self.start(origin, [now; 3], operation?)));
        if let Some(request) = self.requests.start(id, now) {
            request.operations = operations;
        }
    }

    /// Records the completion of a request. `from` returns source, tag and bytes of a receive.
    pub fn complete_request(&mut self, moment: &Moment, id: Id, from: impl Fn() -> Option<(i32, i32, u64)>) {
        let Some(request) = self.requests.complete(id) else { return };
        let posted = request.started.unwrap_or(moment.began);
        for operation in request.operations.into_iter().flatten() {
            self.complete((request.call, request.site), [posted, moment.began, moment.ended], operation, &from);
        }
    }

    fn complete(
        &mut self,
        (call, site): (usize, usize),
        times: [u64; 3],
        operation: Operation,
        from: impl Fn() -> Option<(i32, i32, u64)>,
    ) {
        match operation {
            Operation::Send { number, .. } => self.push_message(event::SENT, call, number, times),
            Operation::Receive { communicator, from: posted_from, tag: posted_tag, number, room } => {
                // If the status is not valid, uses the arguments of the receive.
                let come = room.map_or_else(from, |bytes| Some((posted_from, posted_tag, bytes)));
                let Some((peer, tag, bytes)) = come.filter(|(peer, ..)| *peer >= 0) else { return };
                self.count_received(call, site, times[2], Message { communicator, peer, tag, bytes });
                let number = number.or_else(|| self.number_of_received(communicator, peer, tag));
                self.push_message(event::RECEIVE, call, number, times);
            }
            Operation::Collective { collective, number } => {
                let key = self.communicators.at(collective.communicator).id;
                let kind = event::COLLECTIVE | if collective.is_root { event::IS_ROOT } else { 0 };
                self.push_event(kind, call, (key, number), times);
            }
            Operation::Other => {}
        }
    }

    /// Records a one-sided operation: bytes to and from the target.
    pub fn one_sided(&mut self, moment: &Moment, window: usize, target: i32, sent: Option<u64>, received: Option<u64>) {
        let communicator = self.communicator_of_window(window);
        for (bytes, kind) in [(sent, peer::SENT), (received, peer::RECEIVED)] {
            let Some(bytes) = bytes else { continue };
            self.tables.add_size(size::ONE_SIDED, bytes);
            if let Some(communicator) = communicator {
                let row = self.peer_row(communicator, target);
                self.tables.add(row + kind, 1);
                self.tables.add(row + kind + 1, bytes);
            }
        }
        let (sent, received) = (sent.unwrap_or(0), received.unwrap_or(0));
        self.count_bytes(moment.call, moment.site, communicator, moment.began, sent, received);
    }

    pub fn file(&mut self, moment: &Moment, written: u64, read: u64) {
        self.tables.add_size(size::FILE, written + read);
        self.add_to_rows(moment.call, moment.site, written, read);
    }

    /// Records the communicator of a window.
    pub fn own_window(&mut self, window: usize, communicator: usize) {
        if self.windows.len() < MAX_WINDOWS || self.windows.contains_key(&window) {
            self.windows.insert(window, communicator);
        }
    }

    /// Index of the communicator of a window.
    pub fn communicator_of_window(&self, window: usize) -> Option<usize> {
        self.windows.get(&window).copied()
    }

    /// Removes a window before it is freed, as MPI may reuse its handle before the call returns. Returns its handle and the index
    /// of its communicator.
    pub fn take_window(&mut self, window: usize) -> Option<(usize, usize)> {
        self.windows.remove(&window).map(|place| (window, place))
    }

    /// Suspends or resumes counting. Objects and numbers of messages are tracked meanwhile.
    pub fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
        self.tables = if is_paused { self.file.unkept() } else { self.file };
    }

    fn call_row(&self, number: usize) -> usize {
        self.tables.layout.calls + number * call::COLUMNS
    }

    fn peer_row(&mut self, communicator: usize, rank: i32) -> usize {
        match self.communicators.at(communicator).in_world(rank) {
            Some(rank) if rank < self.tables.layout.ranks => self.tables.layout.peers + rank * peer::COLUMNS,
            _ => header::FOREIGN,
        }
    }

    /// Counts a message; returns its stream and number.
    fn count_sent(&mut self, call: usize, site: usize, now: u64, message: Message) -> Option<(u64, u64)> {
        let Message { communicator, peer, tag, bytes } = message;
        let row = self.peer_row(communicator, peer);
        self.tables.add(row + peer::SENT, 1);
        self.tables.add(row + peer::SENT_BYTES, bytes);
        self.tables.add_size(size::SENT, bytes);
        self.count_bytes(call, site, Some(communicator), now, bytes, 0);
        let known = self.communicators.at(communicator);
        let (from, to) = (known.own_in_world?, known.in_world(peer)?);
        let key = stream(known.id, from, to, tag);
        self.numbered(key, Side::Sender)
    }

    fn count_received(&mut self, call: usize, site: usize, now: u64, message: Message) {
        let row = self.peer_row(message.communicator, message.peer);
        self.tables.add(row + peer::RECEIVED, 1);
        self.tables.add(row + peer::RECEIVED_BYTES, message.bytes);
        self.tables.add_size(size::RECEIVED, message.bytes);
        self.count_bytes(call, site, Some(message.communicator), now, 0, message.bytes);
    }

    /// Adds the event of a message, unless its stream is not numbered.
    fn push_message(&mut self, kind: u64, call: usize, number: Option<(u64, u64)>, times: [u64; 3]) {
        if let Some(number) = number {
            self.push_event(kind, call, number, times);
        }
    }

    /// Adds an event, by the times when it was posted, when the call began that completed it, and when it completed.
    fn push_event(&mut self, kind: u64, call: usize, (key, number): (u64, u64), times: [u64; 3]) {
        if !self.is_paused {
            let [posted, waited, done] = times;
            self.events.push(Event { kind, call, key, number, posted, waited, done });
        }
    }

    /// Adds bytes of messages to all tables.
    fn count_bytes(
        &mut self,
        call: usize,
        site: usize,
        communicator: Option<usize>,
        now: u64,
        sent: u64,
        received: u64,
    ) {
        self.add_to_rows(call, site, sent, received);
        if let Some(communicator) = communicator {
            self.communicators.count_bytes(&self.tables, communicator, sent, received);
        }
        if let Some(timeline) = &mut self.timeline
            && !self.is_paused
        {
            let now = now + self.realtime_offset;
            timeline.add(rank_column::SENT, now, sent);
            timeline.add(rank_column::RECEIVED, now, received);
        }
    }

    fn add_to_rows(&mut self, call: usize, site: usize, sent: u64, received: u64) {
        let row = self.call_row(call);
        self.tables.add(row + call::SENT, sent);
        self.tables.add(row + call::RECEIVED, received);
        self.tables.add(site + site::SENT, sent);
        self.tables.add(site + site::RECEIVED, received);
    }

    /// The stream of messages from a rank with a tag.
    fn incoming_stream(&mut self, communicator: usize, from: i32, tag: i32) -> Option<u64> {
        let known = self.communicators.at(communicator);
        Some(stream(known.id, known.in_world(from)?, known.own_in_world?, tag))
    }

    fn numbered(&mut self, stream: u64, side: Side) -> Option<(u64, u64)> {
        self.numbers.next(stream, side).map(|number| (stream, number))
    }
}
