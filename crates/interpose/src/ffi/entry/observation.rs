//! What a profile makes of a call: what is looked at before it, and what it has done.

use fishplate_profile::calls::{Form, Kind};

use super::arguments::Arguments;
use super::statuses::Statuses;
use crate::ffi::abi::Abi;
use crate::ffi::functions as mpi;
use crate::ffi::handle::Handle;
use crate::ffi::objects::Comm;
use crate::profile::{Collective, Message, Moment, Operation, Owned, Recorder, Request, Session};
use crate::sync::lock;
use crate::trace::Stamp;

/// What was seen before a call.
pub struct Observation {
    abi: Option<&'static Abi>,
    /// Requests, or the message of a matching probe, which MPI changes.
    pub handles: Vec<usize>,
    statuses: Option<Statuses>,
}

impl Observation {
    /// Looks at a call that is about to be carried out.
    pub fn before(session: &Session, arguments: &mut Arguments) -> Observation {
        let Some(abi) = Abi::get() else { return Observation { abi: None, handles: Vec::new(), statuses: None } };
        let handles = match (arguments.call.kind, arguments.int(b'a')) {
            (Kind::Complete | Kind::Start, Some(count)) => {
                (0..count.max(0) as usize).filter_map(|at| arguments.request(abi, b'Q', at)).collect()
            }
            (Kind::Complete | Kind::Start, None) => arguments.request(abi, b'q', 0).into_iter().collect(),
            (Kind::Receive, _) => arguments.request(abi, b'm', 0).into_iter().collect(),
            _ => Vec::new(),
        };
        if let Some(comm) = arguments.handle_of(abi, b'Z', 0) {
            lock(&session.recorder).communicators.forget(Comm::from_key(comm));
        }
        let statuses = Statuses::of(abi, arguments, handles.len().max(1));
        Observation { abi: Some(abi), handles, statuses }
    }

    /// Records a call that has returned. `computed`: when it began, and the time before it, if there is a trace.
    pub fn after(
        self,
        session: &Session,
        arguments: &Arguments,
        result: usize,
        mut moment: Moment,
        computed: Option<(Stamp, [u64; 2])>,
    ) {
        let Some(abi) = self.abi else { return };
        let has_failed = arguments.has_failed(result);
        let comm = arguments.handle(abi, b'c').filter(|comm| *comm != abi.comm_null).map(Comm::from_key);
        let mut recorder = lock(&session.recorder);
        // A communicator that MPI does not know is the program's error.
        recorder.end_call(&mut moment, comm.filter(|_| !has_failed), has_failed);
        let mut after = After {
            abi,
            arguments,
            seen: &self,
            moment,
            comm,
            outgoing: None,
            received_in: None,
            recorder: &mut recorder,
        };
        if !has_failed {
            (after.outgoing, after.received_in) = (after.outgoing(), after.receiving_communicator());
        }
        let mut tracer = session.tracer.as_ref().map(lock);
        if let (Some(tracer), Some((began, before))) = (&mut tracer, computed) {
            tracer.begin_call(began, before);
            after.trace(tracer, has_failed);
        }
        match (arguments.call.kind, has_failed) {
            // Some of the requests may be complete although others have failed.
            (Kind::Complete, _) => after.completion(),
            (_, true) => {}
            (Kind::Send | Kind::SendInit | Kind::Receive | Kind::ReceiveInit | Kind::Exchange, _) => after.messages(),
            (Kind::Start, _) => after.start(),
            (Kind::Probe, _) => after.probe(),
            (Kind::OneSided, _) => after.one_sided(),
            (Kind::Manage, _) => after.management(),
            (Kind::File, _) => after.file(),
            (Kind::Sync | Kind::Life, _) => {}
            _ => after.collective(),
        }
    }
}

impl Observation {
    /// Requests that are complete, all, the one with an index, or those with some indices: which, and the places of their
    /// statuses.
    pub fn completed<'a>(&self, arguments: &'a Arguments) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        type Index = fn(&Arguments, usize) -> Option<usize>;
        let (count, index): (usize, Index) = if arguments.has(b'l') && arguments.written(b'l').unwrap_or(0) == 0 {
            (0, |_, _| None)
        } else if arguments.has(b'k') {
            // MPI_UNDEFINED is negative.
            let found = usize::try_from(arguments.written(b'k').unwrap_or(0)).unwrap_or(0);
            (found.min(self.handles.len()), |arguments, at| arguments.index(b'J', at))
        } else if arguments.has(b'i') {
            (1, |arguments, at| arguments.index(b'i', at))
        } else {
            (self.handles.len(), |_, at| Some(at))
        };
        (0..count).filter_map(move |at| Some((index(arguments, at)?, at)))
    }
}

/// A call that has returned, and where it is recorded.
pub struct After<'a> {
    pub abi: &'static Abi,
    pub arguments: &'a Arguments,
    pub seen: &'a Observation,
    pub moment: Moment,
    pub comm: Option<Comm>,
    /// What the call sends.
    pub outgoing: Option<Message>,
    /// Place of the communicator of a receive.
    pub received_in: Option<usize>,
    pub recorder: &'a mut Recorder,
}

impl After<'_> {
    fn messages(&mut self) {
        let form = self.arguments.call.form;
        let request = (self.moment.call, self.moment.site);
        let mut operations = [None, None];
        if let Some(message) = self.outgoing {
            match form {
                Form::Plain => self.recorder.sent(&self.moment, message),
                Form::Immediate => {
                    operations[0] = Some(self.recorder.send_started(request, self.moment.began, message));
                }
                Form::Persistent => {
                    let Message { communicator, peer, tag, bytes } = message;
                    operations[0] = Some(Operation::Send { communicator, to: peer, tag, bytes, number: None });
                }
            }
        }
        if self.receives() {
            match (form, self.received_in) {
                (Form::Plain, Some(communicator)) => self.received(communicator),
                (Form::Immediate, Some(communicator)) => {
                    let (from, tag) = self.envelope();
                    operations[1] = Some(self.recorder.receive_posted(communicator, from, tag));
                }
                (Form::Persistent, Some(communicator)) => {
                    let (from, tag) = self.envelope();
                    operations[1] = Some(Operation::Receive { communicator, from, tag, number: None });
                }
                (_, None) => {}
            }
        }
        self.add_request(operations);
    }

    /// What the call sends; nothing to MPI_PROC_NULL.
    fn outgoing(&mut self) -> Option<Message> {
        let peer = self.arguments.int(b'd').filter(|rank| *rank >= 0)?;
        let tag = self.arguments.int(b'g')?;
        let communicator = self.recorder.communicators.place(self.comm?);
        let count = self.arguments.count(b'n').or_else(|| self.arguments.count(b'e'))?;
        let partitions = self.arguments.int(b'p').map_or(1, |partitions| u64::try_from(partitions).unwrap_or(0));
        Some(Message { communicator, peer, tag, bytes: count * partitions * self.size(b't') })
    }

    pub fn receives(&self) -> bool {
        let from = self.arguments.int(b's');
        // MPI_ANY_SOURCE and MPI_PROC_NULL are negative; nothing is ever received from the latter.
        from.is_some() || self.arguments.has(b'm')
    }

    /// The communicator of a receive; that of a probed message was noted when it was probed.
    fn receiving_communicator(&mut self) -> Option<usize> {
        if !matches!(self.arguments.call.kind, Kind::Receive | Kind::ReceiveInit | Kind::Exchange) {
            return None;
        }
        match self.comm {
            Some(comm) => Some(self.recorder.communicators.place(comm)),
            None => self.recorder.owner_of_message(*self.seen.handles.first()?),
        }
    }

    /// Source and tag of a receive.
    pub fn envelope(&self) -> (i32, i32) {
        (self.arguments.int(b's').unwrap_or(-1), self.arguments.int(b'G').unwrap_or(-1))
    }

    fn received(&mut self, communicator: usize) {
        if let Some((peer, tag, bytes)) = self.status(0).filter(|(peer, ..)| *peer >= 0) {
            self.recorder.received(&self.moment, Message { communicator, peer, tag, bytes });
        }
    }

    /// Source, tag and bytes, as MPI says.
    pub fn status(&self, at: usize) -> Option<(i32, i32, u64)> {
        self.seen.statuses.as_ref().and_then(|statuses| statuses.read(at))
    }

    fn add_request(&mut self, operations: [Option<Operation>; 2]) {
        let Some(handle) = self.arguments.request(self.abi, b'r', 0) else { return };
        let is_persistent = self.arguments.call.form == Form::Persistent;
        let started = (!is_persistent).then_some(self.moment.ended);
        let request = Request { call: self.moment.call, site: self.moment.site, operations, is_persistent, started };
        self.recorder.add_request(handle, request);
    }

    fn start(&mut self) {
        for handle in &self.seen.handles {
            self.recorder.start_request(*handle, self.moment.began);
        }
    }

    fn completion(&mut self) {
        match self.arguments.call.name.as_str() {
            "MPI_Request_free" => self.seen.handles.iter().for_each(|handle| self.recorder.requests.free(*handle)),
            "MPI_Cancel" | "MPI_Parrived" | "MPI_Request_get_status" => {}
            _ => self.completed(),
        }
    }

    fn completed(&mut self) {
        for (request, status) in self.seen.completed(self.arguments) {
            let Some(handle) = self.seen.handles.get(request) else { continue };
            let from = || self.seen.statuses.as_ref().and_then(|statuses| statuses.read(status));
            self.recorder.complete_request(&self.moment, *handle, from);
        }
    }

    /// A message that a matching probe has found is received without its communicator.
    fn probe(&mut self) {
        let found = !self.arguments.has(b'l') || self.arguments.written(b'l').unwrap_or(0) != 0;
        if let (true, Some(handle), Some(comm)) = (found, self.arguments.request(self.abi, b'm', 0), self.comm) {
            let place = self.recorder.communicators.place(comm);
            self.recorder.own(Owned::Message, handle, place);
        }
    }

    fn collective(&mut self) {
        let Some(comm) = self.comm else { return };
        let communicator = self.recorder.communicators.place(comm);
        let own = self.recorder.communicators.at(communicator).own;
        // MPI_ROOT of intercommunicators is negative, and that of ranks beside it too.
        let is_root = self.arguments.int(b'o').is_some_and(|root| root == own as i32);
        let [sent, received] = self.collective_bytes(comm, communicator, is_root);
        let collective = Collective { communicator, is_root, sent, received };
        let request = (self.moment.call, self.moment.site);
        let operation = match self.arguments.call.form {
            Form::Plain => return self.recorder.collective(&self.moment, collective),
            Form::Immediate => self.recorder.collective_started(request, self.moment.began, collective),
            Form::Persistent => Operation::Collective { communicator, is_root, bytes: [sent, received], number: 0 },
        };
        self.add_request([Some(operation), None]);
    }

    /// What a collective operation sends and receives for this rank, by the numbers that count for it.
    fn collective_bytes(&mut self, comm: Comm, communicator: usize, is_root: bool) -> [u64; 2] {
        let kind = self.arguments.call.kind;
        let ranks = self.recorder.communicators.at(communicator).ranks;
        let (sources, destinations) =
            if kind == Kind::Neighbor { self.recorder.communicators.neighbors(comm) } else { (ranks, ranks) };
        let has_source = !matches!(kind, Kind::Gather | Kind::Reduce) || is_root;
        let received = if has_source { self.bytes_received(sources) } else { 0 };
        let sent = match kind {
            Kind::Scatter if !is_root => 0,
            Kind::Bcast if !is_root => 0,
            _ if self.arguments.is_in_place(self.abi, b'b') => received,
            _ => self.bytes_sent(destinations),
        };
        let received = if kind == Kind::Bcast && is_root { 0 } else { received };
        [sent, received]
    }

    fn bytes_sent(&self, ranks: usize) -> u64 {
        let (arguments, each) = (self.arguments, ranks as u64);
        let one = |argument| arguments.count(argument).map(|count| count * self.size(b't'));
        let shared = || one(b'e').or_else(|| one(b'E').map(|bytes| bytes * each));
        let single = one(b'n').or_else(|| one(b'x').map(|bytes| bytes * each)).or_else(shared);
        single.or_else(|| self.sum(b'v', b't', b'y', ranks)).or_else(|| self.sum(b'R', b't', b'-', ranks)).unwrap_or(0)
    }

    fn bytes_received(&mut self, ranks: usize) -> u64 {
        let (arguments, each) = (self.arguments, ranks as u64);
        let one = |argument, datatype| arguments.count(argument).map(|count| count * self.size(datatype));
        let single = one(b'N', b'T').or_else(|| one(b'X', b'T').map(|bytes| bytes * each));
        let single = single.or_else(|| one(b'e', b't')).or_else(|| one(b'E', b't'));
        single.or_else(|| self.sum(b'V', b'T', b'Y', ranks)).or_else(|| self.own_part(ranks)).unwrap_or(0)
    }

    fn sum(&self, counts: u8, datatype: u8, datatypes: u8, ranks: usize) -> Option<u64> {
        Some(self.sizes(counts, datatype, datatypes, ranks)?.iter().sum())
    }

    /// An array of numbers, in bytes; with one datatype, or one for each number.
    pub fn sizes(&self, counts: u8, datatype: u8, datatypes: u8, ranks: usize) -> Option<Vec<u64>> {
        let counts = self.arguments.counts(counts, ranks)?;
        if self.arguments.has(datatype) {
            let size = self.size(datatype);
            return Some(counts.iter().map(|count| count * size).collect());
        }
        let each = counts.iter().enumerate().map(|(rank, count)| {
            let size = self.arguments.handle_of(self.abi, datatypes, rank).map_or(0, |handle| self.size_of(handle));
            count * size
        });
        Some(each.collect())
    }

    /// What this rank gets of a reduction that is scattered.
    fn own_part(&mut self, ranks: usize) -> Option<u64> {
        let counts = self.arguments.counts(b'R', ranks)?;
        let place = self.recorder.communicators.place(self.comm?);
        let own = self.recorder.communicators.at(place).own;
        Some(counts.get(own)? * self.size(b't'))
    }

    fn one_sided(&mut self) {
        let Some((target, sent, received)) = self.one_sided_bytes() else { return };
        if target >= 0 {
            let window = self.arguments.handle(self.abi, b'w').unwrap_or(0);
            self.recorder.one_sided(&self.moment, window, target, sent, received);
        }
        self.add_request([Some(Operation::Other), None]);
    }

    /// Target, and bytes to and from it.
    pub fn one_sided_bytes(&self) -> Option<(i32, Option<u64>, Option<u64>)> {
        let target = self.arguments.int(b'h')?;
        if self.arguments.has(b'1') {
            // One element there and back; its datatype is the argument that says so.
            let size = self.size(b'1');
            return Some((target, Some(size), Some(size)));
        }
        let transfer = |count: u8, datatype: u8| self.arguments.count(count).map(|count| count * self.size(datatype));
        Some((target, transfer(b'n', b't'), transfer(b'N', b'T')))
    }

    fn management(&mut self) {
        if let Some(made) = self.arguments.handle_of(self.abi, b'z', 0).filter(|made| *made != self.abi.comm_null) {
            self.recorder.communicators.place(Comm::from_key(made));
        }
        if let (Some(window), Some(comm)) = (self.arguments.handle_of(self.abi, b'W', 0), self.comm) {
            let place = self.recorder.communicators.place(comm);
            self.recorder.own(Owned::Window, window, place);
        }
        self.add_request([Some(Operation::Other), None]);
    }

    fn file(&mut self) {
        let bytes = |count: u8, datatype: u8| self.arguments.count(count).map(|count| count * self.size(datatype));
        let (written, read) = (bytes(b'n', b't'), bytes(b'N', b'T'));
        if written.is_some() || read.is_some() {
            self.recorder.file(&self.moment, written.unwrap_or(0), read.unwrap_or(0));
        }
        self.add_request([Some(Operation::Other), None]);
    }

    /// Whether an element of the datatype in an argument has gaps.
    pub fn has_gaps(&self, argument: u8) -> bool {
        let Some(datatype) = self.arguments.handle(self.abi, argument) else { return false };
        if datatype == self.abi.datatype_null {
            return false;
        }
        let (mut lower, mut extent) = (0, 0);
        // SAFETY: a datatype that the program has handed to MPI, and places for numbers.
        let code = unsafe { mpi::type_get_extent(datatype, &mut lower, &mut extent) };
        code == 0 && u64::try_from(extent).unwrap_or(0) != self.size_of(datatype)
    }

    /// Bytes of data in an element of the datatype in an argument.
    pub fn size(&self, argument: u8) -> u64 {
        self.arguments.handle(self.abi, argument).map_or(0, |datatype| self.size_of(datatype))
    }

    fn size_of(&self, datatype: Handle) -> u64 {
        if datatype == self.abi.datatype_null {
            return 0;
        }
        let mut size = 0;
        // SAFETY: a datatype that the program has handed to MPI, and a place for a number.
        let code = unsafe { mpi::type_size(datatype, &mut size) };
        // MPI_UNDEFINED, which is negative, is the size of what does not fit in an integer.
        if code == 0 { u64::try_from(size).unwrap_or(0) } else { 0 }
    }
}
