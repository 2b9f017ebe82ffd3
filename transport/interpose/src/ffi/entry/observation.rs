//! Records a call in a profile: the state before the call, and its effects.

use fishplate_profile::calls::{Form, Kind};

use super::arguments::Arguments;
use super::statuses::Statuses;
use crate::ffi::abi::Abi;
use crate::ffi::functions::{self as mpi, Handle};
use crate::ffi::objects::Comm;
use crate::profile::{Freed, Id, Message, Moment, Operation, Origin, Probed, Recorder, Request, Session};
use crate::sync::lock;
use crate::trace::{self, Stamp};

/// State before a call.
#[derive(Default)]
pub struct Observation {
    abi: Option<&'static Abi>,
    /// Requests passed to the call, which MPI overwrites.
    pub requests: Vec<Seen>,
    /// The message of a matching probe, which MPI overwrites.
    pub message: Option<usize>,
    freed: Option<Freed>,
    /// A window that is being freed, and the index of its communicator.
    freed_window: Option<(usize, usize)>,
    pub statuses: Option<Statuses>,
    /// Whether the call cancels a request, or frees a cancelled one that ended without a message.
    pub is_cancelled: bool,
}

/// A request, before a call.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub handle: usize,
    /// Identifies the request; `None` if it is unknown.
    pub id: Option<Id>,
}

/// To be called before a call that frees a communicator: MPI may reuse its handle before the call returns.
pub fn forget_communicator(session: &Session, arguments: &Arguments) -> Option<Freed> {
    if !arguments.has(b'Z') {
        return None;
    }
    let comm = arguments.comm_at(Abi::get()?, b'Z')?;
    lock(&session.recorder).communicators.forget(comm)
}

impl Observation {
    /// Observes the arguments of a call before it is executed.
    pub fn before(session: &Session, arguments: &mut Arguments) -> Observation {
        let mut seen =
            Observation { abi: Abi::get(), freed: forget_communicator(session, arguments), ..Observation::default() };
        let Some(abi) = seen.abi else { return seen };
        match (arguments.call.kind, arguments.int(b'a')) {
            (Kind::Complete | Kind::Start, Some(count)) => {
                let mut recorder = lock(&session.recorder);
                let handles = (0..count.max(0) as usize).filter_map(|at| arguments.request(abi, b'Q', at));
                seen.requests = handles.map(|handle| Seen { handle, id: recorder.handles.take(handle) }).collect();
            }
            (Kind::Complete | Kind::Start, None) => {
                let mut recorder = lock(&session.recorder);
                let handle = arguments.request(abi, b'q', 0).or_else(|| arguments.request(abi, b'K', 0));
                seen.requests =
                    handle.map(|handle| Seen { handle, id: recorder.handles.take(handle) }).into_iter().collect();
                let request = seen.requests.first().and_then(|seen| recorder.requests.get(seen.id?)).copied();
                drop(recorder);
                if arguments.call.name == "MPI_Request_free" && request.is_some_and(|request| request.is_cancelled) {
                    let ended = arguments.handle_of_request(abi).and_then(|h| Statuses::is_cancelled_request(abi, h));
                    let is_receive =
                        |request: Request| matches!(request.operations[0], None | Some(Operation::Receive { .. }));
                    // A receive that was cancelled and has not completed will receive nothing.
                    seen.is_cancelled = ended.unwrap_or(request.is_some_and(is_receive));
                }
            }
            (Kind::Receive, _) => seen.message = arguments.request(abi, b'm', 0),
            (Kind::Manage, _) if arguments.has(b'F') => {
                let window = arguments.handle_of(abi, b'F', 0);
                seen.freed_window = window.and_then(|window| lock(&session.recorder).take_window(window));
            }
            _ => {}
        }
        seen.statuses = Statuses::of(abi, arguments, seen.requests.len().max(1));
        seen
    }

    /// Records a call that returned. `began`: when it began, if a trace is written.
    pub fn after(
        mut self,
        session: &Session,
        arguments: &Arguments,
        result: usize,
        mut moment: Moment,
        began: Option<Stamp>,
    ) {
        let Some(abi) = self.abi else { return };
        let has_failed = arguments.has_failed(result);
        // A truncated message is consumed like any other.
        let is_truncated = has_failed
            && matches!(arguments.call.kind, Kind::Receive | Kind::Exchange)
            && arguments.is_truncated(abi, result);
        let comm = arguments.comm(abi, b'c').filter(|comm| comm.key() != abi.comm_null);
        let mut recorder = lock(&session.recorder);
        self.settle_freed(has_failed, &mut recorder);
        // After an error the communicator may be invalid.
        recorder.end_call(&mut moment, comm.filter(|_| !has_failed || is_truncated), has_failed);
        if arguments.call.name == "MPI_Cancel" && !has_failed {
            self.is_cancelled = self.has_cancelled_receive(abi, arguments, &mut recorder);
        }
        let has_failed =
            has_failed && !is_truncated || comm.is_some_and(|comm| names_nobody(arguments, comm, &mut recorder));
        let mut after = After {
            abi,
            arguments,
            seen: &self,
            has_failed,
            moment,
            comm,
            outgoing: None,
            received_in: None,
            probed: None,
            request: None,
            forgotten: None,
            recorder: &mut recorder,
        };
        after.identify_objects();
        after.trace_call(session, began);
        after.record();
        after.keep_requests();
    }

    /// A communicator or window is forgotten if the call that frees it succeeded; otherwise it stays.
    fn settle_freed(&mut self, has_failed: bool, recorder: &mut Recorder) {
        if let (Some(freed), true) = (self.freed.take(), has_failed) {
            recorder.communicators.keep(freed);
        }
        match self.freed_window.take() {
            Some((window, place)) if has_failed => recorder.own_window(window, place),
            Some((_, place)) => recorder.communicators.forget_window(place),
            None => {}
        }
    }

    /// Whether MPI_Cancel ended a receive. The receive is removed at once, as no later message matches it, whether or not the
    /// program waits for it. (A cancelled send may still succeed.)
    fn has_cancelled_receive(&self, abi: &Abi, arguments: &Arguments, recorder: &mut Recorder) -> bool {
        let request = self.requests.first().and_then(|seen| recorder.requests.get(seen.id?));
        // (Querying a persistent request in MPICH resets its cancelled state.)
        let is_receive = request.is_some_and(|request| {
            !request.is_persistent && matches!(request.operations[1], Some(Operation::Receive { .. }))
        });
        let ended = || Statuses::is_cancelled_request(abi, arguments.handle_of_request(abi)?);
        is_receive && ended() == Some(true)
    }

    /// Completed requests (all, the one with an index, or those with some indices) and the indexes of their statuses.
    pub fn completed<'a>(&self, arguments: &'a Arguments) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        type Index = fn(&Arguments, usize) -> Option<usize>;
        let (count, index): (usize, Index) = if arguments.has(b'l') && arguments.written(b'l').unwrap_or(0) == 0 {
            (0, |_, _| None)
        } else if arguments.has(b'k') {
            // MPI_UNDEFINED is negative.
            let found = usize::try_from(arguments.written(b'k').unwrap_or(0)).unwrap_or(0);
            (found.min(self.requests.len()), |arguments, at| arguments.index(b'J', at))
        } else if arguments.has(b'i') {
            (1, |arguments, at| arguments.index(b'i', at))
        } else {
            (self.requests.len(), |_, at| Some(at))
        };
        (0..count).filter_map(move |at| Some((index(arguments, at)?, at)))
    }
}

/// Whether a call names a rank that its communicator does not have. Such a call failed, although MPICH reports success after
/// an error handler of the program returned.
fn names_nobody(arguments: &Arguments, comm: Comm, recorder: &mut Recorder) -> bool {
    let named = b"dso".map(|argument| arguments.int(argument).and_then(|rank| usize::try_from(rank).ok()));
    let Some(greatest) = named.into_iter().flatten().max() else { return false };
    let place = recorder.communicators.place(comm);
    greatest >= recorder.communicators.at(place).ranks
}

/// A call that returned, and the recorder.
pub struct After<'a> {
    pub abi: &'static Abi,
    pub arguments: &'a Arguments,
    pub seen: &'a Observation,
    pub has_failed: bool,
    pub moment: Moment,
    pub comm: Option<Comm>,
    pub outgoing: Option<Message>,
    /// Index of the communicator of a receive.
    pub received_in: Option<usize>,
    /// The message found by a matching probe: by this call, or by an earlier call if this one receives it.
    pub probed: Option<Probed>,
    pub request: Option<Id>,
    /// A request that is no longer tracked.
    pub forgotten: Option<Id>,
    pub recorder: &'a mut Recorder,
}

impl After<'_> {
    /// Identifies the messages, requests and communicators of a call that succeeded.
    fn identify_objects(&mut self) {
        if self.has_failed {
            return;
        }
        (self.outgoing, self.received_in) = (self.outgoing(), self.receiving_communicator());
        self.identify_request();
        match self.arguments.call.kind {
            Kind::Manage => self.management(),
            Kind::Probe => self.probe(),
            _ => {}
        }
    }

    fn trace_call(&mut self, session: &Session, began: Option<Stamp>) {
        let (Some(tracer), Some(began)) = (&session.tracer, began) else { return };
        let mut tracer = lock(tracer);
        if session.has_several_threads() {
            tracer.is_beside_others();
        }
        tracer.begin_call(began, trace::take_computed());
        self.trace(&mut tracer);
    }

    /// Records messages, requests and collective operations of the call in the profile.
    fn record(&mut self) {
        match (self.arguments.call.kind, self.has_failed) {
            // Some requests may be complete although others failed.
            (Kind::Complete, _) => self.completion(),
            (_, true) => {}
            (Kind::Send | Kind::SendInit | Kind::Receive | Kind::ReceiveInit | Kind::Exchange, _) => self.messages(),
            (Kind::Start, _) => self.start(),
            (Kind::OneSided, _) => self.one_sided(),
            (Kind::File, _) => self.file(),
            (Kind::Sync | Kind::Life | Kind::Manage | Kind::Buffer | Kind::Probe, _) => {}
            _ => self.collective(),
        }
    }

    /// Source, tag and bytes according to a status.
    pub fn status(&self, at: usize) -> Option<(i32, i32, u64)> {
        self.seen.statuses.as_ref().and_then(|statuses| statuses.read(at))
    }

    /// Assigns an ID to the request created by the call.
    fn identify_request(&mut self) {
        let Some(handle) = self.arguments.request(self.abi, b'r', 0) else { return };
        let (id, forgotten) = self.recorder.handles.add(handle, self.abi.is_shared_request(handle));
        (self.request, self.forgotten) = (Some(id), forgotten);
        if let Some(forgotten) = forgotten {
            self.recorder.requests.free(forgotten);
        }
    }

    /// Adds the request created by the call, if any.
    pub fn add_request(&mut self, operations: [Option<Operation>; 2]) {
        let Some(id) = self.request else { return };
        let is_persistent = self.arguments.call.form == Form::Persistent;
        let started = (!is_persistent).then_some(self.moment.ended);
        let (call, site) = (self.moment.call, self.moment.site);
        let request = Request { call, site, operations, is_persistent, started, is_cancelled: false };
        self.recorder.add_request(id, request);
    }

    fn start(&mut self) {
        for id in self.seen.requests.iter().filter_map(|seen| seen.id) {
            self.recorder.start_request(id, self.moment.began);
        }
    }

    fn completion(&mut self) {
        let known = self.seen.requests.iter().filter_map(|seen| Some((seen.handle, seen.id?)));
        match self.arguments.call.name.as_str() {
            "MPI_Request_free" if !self.has_failed => {
                for (handle, id) in known {
                    if self.seen.is_cancelled {
                        self.recorder.cancelled_request(id);
                    }
                    self.recorder.free_request(handle, id);
                }
            }
            "MPI_Cancel" if !self.has_failed => {
                for (_, id) in known {
                    if self.seen.is_cancelled {
                        self.recorder.cancelled_request(id);
                    } else if let Some(request) = self.recorder.requests.get(id) {
                        request.is_cancelled = true;
                    }
                }
            }
            _ if self.is_completing() => self.completed(),
            _ => {}
        }
    }

    /// Whether the call completes requests instead of only querying them.
    pub fn is_completing(&self) -> bool {
        let has_request = self.arguments.has(b'q') || self.arguments.has(b'K');
        self.arguments.has(b'u') && has_request || self.arguments.has(b'Q')
    }

    /// Requests completed by the call, and the indexes of their statuses.
    pub fn requests_completed(&self) -> impl Iterator<Item = (Seen, usize)> + use<'_> {
        let completed = self.seen.completed(self.arguments);
        let seen = completed.filter_map(|(at, status)| Some((at, *self.seen.requests.get(at)?, status)));
        // If the call failed, the requests whose handles were reset are complete.
        let is_there = |at: usize, handle: usize| {
            let place = if self.arguments.has(b'Q') { b'Q' } else { b'q' };
            self.arguments.has(b'K') || self.arguments.request(self.abi, place, at) == Some(handle)
        };
        seen.filter(move |(at, seen, _)| !self.has_failed || !is_there(*at, seen.handle))
            .map(|(_, seen, at)| (seen, at))
    }

    /// Whether a request ended by cancellation.
    pub fn was_cancelled(&mut self, id: Id, status: usize) -> bool {
        let was_asked = self.recorder.requests.get(id).is_some_and(|request| request.is_cancelled);
        was_asked && self.seen.statuses.as_ref().is_some_and(|statuses| statuses.is_cancelled(status))
    }

    fn completed(&mut self) {
        for (Seen { handle, id }, status) in self.requests_completed().collect::<Vec<_>>() {
            let Some(id) = id else { continue };
            if self.was_cancelled(id, status) {
                self.recorder.cancelled_request(id);
            } else {
                let from = || self.seen.statuses.as_ref().and_then(|statuses| statuses.read(status));
                self.recorder.complete_request(&self.moment, id, from);
            }
            if self.recorder.requests.get(id).is_none() {
                self.recorder.handles.remove(handle, id);
            }
        }
    }

    fn keep_requests(&mut self) {
        for Seen { handle, id } in self.seen.requests.iter().rev() {
            if let Some(id) = id.filter(|id| self.recorder.requests.get(*id).is_some()) {
                self.recorder.handles.keep(*handle, id);
            }
        }
    }

    fn one_sided(&mut self) {
        let Some((target, sent, received)) = self.one_sided_bytes() else { return };
        if target >= 0 {
            let window = self.arguments.handle(self.abi, b'w').unwrap_or(0);
            self.recorder.one_sided(&self.moment, window, target, sent, received);
        }
        self.add_request([Some(Operation::Other), None]);
    }

    /// Target rank, bytes to it, bytes from it.
    pub fn one_sided_bytes(&self) -> Option<(i32, Option<u64>, Option<u64>)> {
        let target = self.arguments.int(b'h')?;
        if self.arguments.has(b'1') {
            // One element in each direction, of the datatype in this argument.
            let size = self.size(b'1');
            return Some((target, Some(size), Some(size)));
        }
        let (out, back) = self.transferred();
        Some((target, out, back))
    }

    /// Bytes that the call reads from memory and that it writes there.
    fn transferred(&self) -> (Option<u64>, Option<u64>) {
        let bytes = |count: u8, datatype: u8| self.arguments.count(count).map(|count| count * self.size(datatype));
        (bytes(b'n', b't'), bytes(b'N', b'T'))
    }

    fn management(&mut self) {
        let parent = self.comm.map(|comm| self.recorder.communicators.place(comm));
        if let Some(made) = self.arguments.comm_at(self.abi, b'z') {
            self.made_communicator(made, parent);
        }
        if let (Some(window), Some(parent)) = (self.arguments.handle_of(self.abi, b'W', 0), parent) {
            let place = self.recorder.communicators.of_window(parent);
            if let Some((_, before)) = self.recorder.take_window(window) {
                self.recorder.communicators.forget_window(before);
            }
            self.recorder.own_window(window, place);
        }
        if let (Some(comm), "MPI_Comm_set_name") = (self.comm, self.arguments.call.name.as_str()) {
            self.recorder.communicators.name(comm);
        }
        self.add_request([Some(Operation::Other), None]);
    }

    /// The communicator created by the call.
    pub fn made(&self) -> Option<Comm> {
        self.arguments.comm_at(self.abi, b'z').filter(|made| made.key() != self.abi.comm_null)
    }

    fn made_communicator(&mut self, made: Comm, parent: Option<usize>) {
        let meets_others = self.meets_others();
        let communicators = &mut self.recorder.communicators;
        let number = self.arguments.int(b'g').map(|tag| tag as u64).or_else(|| self.arguments.text(b'S'));
        match (number, parent) {
            (None, Some(parent)) if made.key() == self.abi.comm_null => communicators.made_without(parent),
            _ if made.key() == self.abi.comm_null => {}
            (None, Some(parent)) if self.arguments.call.form == Form::Immediate => {
                communicators.copied(made, parent);
            }
            // The ranks of the other side create it from another parent.
            (None, Some(_)) if meets_others => drop(communicators.made(made, Origin::Unknown)),
            (Some(number), _) => drop(communicators.made(made, Origin::Group(number))),
            (None, Some(parent)) => drop(communicators.made(made, Origin::Parent(parent))),
            (None, None) => drop(communicators.made(made, Origin::Unknown)),
        }
    }

    /// Whether the call connects processes without a common communicator.
    fn meets_others(&self) -> bool {
        matches!(self.arguments.call.name.as_str(), "MPI_Comm_accept" | "MPI_Comm_connect")
    }

    fn file(&mut self) {
        let (written, read) = self.transferred();
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
        // SAFETY: a datatype that the program passed to MPI, and pointers to numbers.
        let code = unsafe { mpi::Type_get_extent(datatype, &mut lower, &mut extent) };
        code == 0 && u64::try_from(extent).unwrap_or(0) != self.size_of(datatype)
    }

    /// Bytes of data in an element of the datatype in an argument.
    pub fn size(&self, argument: u8) -> u64 {
        self.arguments.handle(self.abi, argument).map_or(0, |datatype| self.size_of(datatype))
    }

    /// Bytes of data in an element of a datatype.
    pub fn size_of(&self, datatype: Handle) -> u64 {
        if datatype == self.abi.datatype_null {
            return 0;
        }
        let mut size = 0;
        // SAFETY: a datatype that the program passed to MPI, and a pointer to a number.
        let code = unsafe { mpi::Type_size_x(datatype, &mut size) };
        if code == 0 { u64::try_from(size).unwrap_or(0) } else { 0 }
    }
}
