//! Endpoint: one transport endpoint with the queues, counters and addresses that are bound to it.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

use fishplate_engine::{Completion, Failure, Operation, VcId};
use fishplate_rails::settings::Progress;
use fishplate_rails::{ADDRESS_LEN, Endpoint as Transport, OpenError, Settings};
use ofi_abi::{
    FI_ADDR_NOTAVAIL, FI_COMPLETION, FI_DIRECTED_RECV, FI_EINVAL, FI_ENETDOWN, FI_ENOCQ, FI_EOPBADSTATE, FI_EOTHER,
    FI_READ, FI_RECV, FI_SELECTIVE_COMPLETION, FI_SEND, FI_WRITE,
};

use crate::address_vector::AddressVector;
use crate::completion::{entry, failed_entry};
use crate::completion_queue::CompletionQueue;
use crate::contexts::Contexts;
use crate::counter::Counter;
use crate::domain::Domain;
use crate::errno::{Errno, Outcome, lock, lock_plain, write_plain};
use crate::error_report;
use crate::idle_yield;
use crate::peers::Peers;
use crate::progress_thread::{Next, ProgressThread};
use crate::regions::RegisteredRegions;

/// Least free bytes of a multi-receive buffer until the application says otherwise: what libfabric documents for
/// providers without another reason.
const MIN_MULTI_RECV: u64 = 64;

/// Rounds in a row that hand out completions without a look at the network. Calls that complete at once (receives of
/// what is already here, messages to oneself) would otherwise keep the network waiting for as long as they follow each
/// other; sixteen of them make the cost of the look small.
const MOST_SKIPPED: u32 = 16;

/// Looks of the progress thread in a row, most of them 10 ms apart, in which a rank that shares a processor and polls has its
/// turn: some dozens of ranks take less than a millisecond each.
const MOST_ABSENCES: u32 = 5;

/// What the application chose when it opened the endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    /// Capabilities.
    pub caps: u64,
    /// Default flags of sends.
    pub tx_op_flags: u64,
    /// Default flags of receives.
    pub rx_op_flags: u64,
}

/// An endpoint. One lock guards all of it.
pub struct Endpoint {
    id: u32,
    state: Mutex<State>,
    /// Keeps the domain open.
    pub domain: Arc<Domain>,
}

// The lock makes it usable from any thread, as `FI_THREAD_SAFE` demands.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Endpoint>();
};

pub(crate) struct State {
    pub transport: Option<Transport>,
    pub peers: Peers,
    pub addresses: Option<Arc<AddressVector>>,
    pub tx: Direction,
    pub rx: Direction,
    /// Counts reads of peers' memory.
    pub read_counter: Option<Arc<Counter>>,
    /// Counts writes into peers' memory.
    pub write_counter: Option<Arc<Counter>>,
    /// All counters bound, also those that never count.
    pub counters: Vec<Arc<Counter>>,
    pub contexts: Contexts,
    pub min_multi_recv: u64,
    /// Receives name their sender.
    pub directed: bool,
    /// Does what cannot wait until the application calls again.
    pub thread: Option<Arc<ProgressThread>>,
    /// Whether it also goes on with what was posted.
    progress: Progress,
    /// Readable while there are news from the network.
    readiness_fd: Option<Arc<OwnedFd>>,
    /// Number of progress calls when the thread looked last.
    seen_calls: u64,
    /// Looks of the thread in a row between which there were none.
    absences: u32,
    /// Rounds since the last look at the network.
    skipped: u32,
}

/// Where completions of sends (and accesses of remote memory), or of receives, go.
#[derive(Default)]
pub(crate) struct Direction {
    pub queue: Option<Arc<CompletionQueue>>,
    pub counter: Option<Arc<Counter>>,
    /// Only operations that ask for it are reported.
    pub selective: bool,
    pub op_flags: u64,
}

/// Whether a call wants its success reported.
#[derive(Clone, Copy, Debug)]
pub enum Report {
    /// Never (inject).
    Never,
    /// As the endpoint's default flags say.
    Default,
    /// As these flags of the call say.
    Flags(u64),
}

impl Endpoint {
    /// A closed-down endpoint; [`Endpoint::enable`] opens it.
    pub fn new(choice: Attributes, domain: Arc<Domain>) -> Endpoint {
        static NEXT_ID: AtomicU32 = AtomicU32::new(0);
        let state = State {
            transport: None,
            peers: Peers::default(),
            addresses: None,
            tx: Direction { op_flags: choice.tx_op_flags, ..Direction::default() },
            rx: Direction { op_flags: choice.rx_op_flags, ..Direction::default() },
            read_counter: None,
            write_counter: None,
            counters: Vec::new(),
            contexts: Contexts::default(),
            min_multi_recv: MIN_MULTI_RECV,
            directed: choice.caps & FI_DIRECTED_RECV != 0,
            thread: None,
            progress: domain.fabric.settings.progress,
            readiness_fd: None,
            seen_calls: 0,
            absences: 0,
            skipped: 0,
        };
        Endpoint { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), state: Mutex::new(state), domain }
    }

    /// Names it in the entries of completion queues.
    pub fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn lock(&self) -> &Mutex<State> {
        &self.state
    }

    pub(crate) fn state(&self) -> Outcome<std::sync::MutexGuard<'_, State>> {
        lock(&self.state)
    }

    /// Binds the address vector.
    pub fn bind_addresses(self: &Arc<Self>, vector: &Arc<AddressVector>) -> Outcome<()> {
        let mut state = self.state()?;
        if state.addresses.is_some() {
            return Err(Errno(FI_EINVAL));
        }
        state.addresses = Some(vector.clone());
        drop(state);
        register(&mut write_plain(&vector.endpoints), self);
        Ok(())
    }

    /// Binds a completion queue for the directions in `flags`.
    pub fn bind_queue(self: &Arc<Self>, queue: &Arc<CompletionQueue>, flags: u64) -> Outcome<()> {
        let mut state = self.state()?;
        for direction in state.directions(flags)? {
            if direction.queue.is_some() {
                return Err(Errno(FI_EINVAL));
            }
            direction.queue = Some(queue.clone());
            direction.selective = flags & FI_SELECTIVE_COMPLETION != 0;
        }
        drop(state);
        register(&mut write_plain(&queue.endpoints), self);
        Ok(())
    }

    /// Binds a counter for the directions in `flags`. One for what peers access alone never counts: that is for endpoints
    /// with `FI_RMA_EVENT`.
    pub fn bind_counter(self: &Arc<Self>, counter: &Arc<Counter>, flags: u64) -> Outcome<()> {
        let mut state = self.state()?;
        if flags & (FI_SEND | FI_RECV) != 0 {
            for direction in state.directions(flags)? {
                direction.counter = Some(counter.clone());
            }
        }
        if flags & FI_READ != 0 {
            state.read_counter = Some(counter.clone());
        }
        if flags & FI_WRITE != 0 {
            state.write_counter = Some(counter.clone());
        }
        state.counters.push(counter.clone());
        drop(state);
        register(&mut write_plain(&counter.endpoints), self);
        Ok(())
    }

    /// Opens the transport with `open`.
    pub fn enable(self: &Arc<Self>, open: impl FnOnce(&Settings) -> Result<Transport, OpenError>) -> Outcome<()> {
        self.domain.regions.join(self, |regions| self.enable_with(regions, open))
    }

    fn enable_with(
        self: &Arc<Self>,
        regions: &RegisteredRegions,
        open: impl FnOnce(&Settings) -> Result<Transport, OpenError>,
    ) -> Outcome<()> {
        let mut state = self.state()?;
        if state.transport.is_some() {
            return Err(Errno(FI_EOPBADSTATE));
        }
        if [&state.tx, &state.rx].iter().any(|direction| direction.queue.is_none() && direction.counter.is_none()) {
            return Err(Errno(FI_ENOCQ));
        }
        let mut transport = open(&self.domain.fabric.settings).map_err(|error| {
            error_report::report(&error);
            Errno(FI_ENETDOWN)
        })?;
        regions.to(&mut transport)?;
        state.readiness_fd = transport.readiness_fd().ok().map(Arc::new);
        // Without the thread nothing is held back: slower, and as correct.
        state.thread = ProgressThread::start(self, state.progress).ok();
        if state.thread.is_some() {
            transport.enable_batching();
        }
        state.transport = Some(transport);
        Ok(())
    }

    /// Ends the transport and lets go of everything bound, even after a panic: what is bound must not stay busy.
    pub fn close(self: &Arc<Self>) {
        let mut state = lock_plain(&self.state);
        let queues = [state.tx.queue.take(), state.rx.queue.take()];
        let (addresses, counters) = (state.addresses.take(), std::mem::take(&mut state.counters));
        let (transport, thread) = (state.transport.take(), state.thread.take());
        drop(state);
        self.domain.regions.leave(self);
        thread.iter().for_each(|thread| thread.end());
        let leave = |list: &mut Vec<Arc<Endpoint>>| list.retain(|endpoint| !Arc::ptr_eq(endpoint, self));
        addresses.iter().for_each(|vector| leave(&mut write_plain(&vector.endpoints)));
        queues.iter().flatten().for_each(|queue| leave(&mut write_plain(&queue.endpoints)));
        counters.iter().for_each(|counter| leave(&mut write_plain(&counter.endpoints)));
        match transport {
            // Half changed, it cannot be trusted to end well; the process's end closes its sockets.
            Some(transport) if self.state.is_poisoned() => std::mem::forget(transport),
            Some(transport) => transport.close(),
            None => {}
        }
    }

    /// The blob by which peers reach this endpoint. Only once it is enabled.
    pub fn name(&self) -> Outcome<[u8; ADDRESS_LEN]> {
        let state = self.state()?;
        state.transport.as_ref().map(|transport| transport.address().encode()).ok_or(Errno(FI_EOPBADSTATE))
    }

    /// Moves data and hands out completions. True if there was anything to do. Another thread's work is not waited for.
    pub fn progress(&self) -> Outcome<bool> {
        match self.state.try_lock() {
            Ok(mut state) => Ok(state.progress(self.id)),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Poisoned(_)) => Err(Errno(FI_EOTHER)),
        }
    }

    /// Sends what has been held back for `least` or longer, and acknowledgements that have been due for as long. If the
    /// application has not been in MPI since the last time, what it has posted goes on. Tells the progress thread when to come
    /// again. Whoever is in a call may be posting more of a burst, and acknowledges: then nothing is done.
    pub fn service(&self, least: Duration, is_free: impl FnOnce() -> bool) -> Next {
        let Ok(mut state) = self.state.try_lock() else { return Next::Soon };
        let State { transport: Some(transport), thread: Some(thread), progress, .. } = &mut *state else {
            return Next::Soon;
        };
        if transport.held_for_ns().is_some_and(|since_ns| u128::from(since_ns) >= least.as_nanos()) {
            transport.flush_held();
        }
        if transport.owes_acknowledgement() {
            transport.send_acknowledgements(least.as_nanos() as u64);
        }
        transport.service_deferred();
        let is_urgent = transport.has_deferred_work() || transport.owes_acknowledgement();
        if *progress == Progress::Calls || !(transport.has_blocked_sends() || transport.has_pending_operations()) {
            if !is_urgent {
                thread.nothing_to_do();
            }
            return Next::Soon;
        }
        state.progress_while_away(is_free)
    }

    /// Becomes readable when there are news from the network while the application is away.
    pub fn readiness_fd(&self) -> Option<Arc<OwnedFd>> {
        self.state.try_lock().ok()?.readiness_fd.clone()
    }

    /// The process ends and has left the endpoint open: what peers wait for goes out. Not while another thread is in a call.
    pub fn close_at_exit(&self) {
        let Ok(mut state) = self.state.try_lock() else { return };
        state.transport.take().into_iter().for_each(Transport::close_at_exit);
    }

    /// The address vector index of the peer behind `channel`.
    pub fn address_of(&self, channel: VcId) -> u64 {
        let Ok(mut guard) = self.state() else { return FI_ADDR_NOTAVAIL };
        let State { transport: Some(transport), addresses: Some(vector), peers, .. } = &mut *guard else {
            return FI_ADDR_NOTAVAIL;
        };
        peers.index(channel, vector, transport)
    }

    /// The address at `index` has been removed.
    pub fn forget(&self, index: u64) -> Outcome<()> {
        self.state()?.peers.forget(index);
        Ok(())
    }
}

impl State {
    fn progress(&mut self, id: u32) -> bool {
        // What completed during a call is handed out without a look at the network.
        let handed_out = self.deliver_completions(id);
        if handed_out && self.skipped < MOST_SKIPPED {
            self.skipped += 1;
            return true;
        }
        let moved = self.poll_network();
        self.deliver_completions(id) | handed_out | moved
    }

    /// Moves data, unless a completion queue is full: then nothing is taken from the network that would add to it.
    pub fn poll_network(&mut self) -> bool {
        self.skipped = 0;
        let full = self.tx.is_full() || self.rx.is_full();
        let Some(transport) = self.transport.as_mut().filter(|_| !full) else { return false };
        let moved = transport.progress();
        self.wake_thread_if_needed();
        moved
    }

    /// Goes on with what was posted, if the application is away. Where no processor `is_free` that takes nothing but what it
    /// would take later, and not often; but if ranks share a processor, one that is not there may just wait for its turn, as
    /// long as that takes.
    fn progress_while_away(&mut self, is_free: impl FnOnce() -> bool) -> Next {
        let is_full = self.tx.is_full() || self.rx.is_full();
        let Some(transport) = &mut self.transport else { return Next::Soon };
        let is_away = std::mem::replace(&mut self.seen_calls, transport.progress_calls()) == transport.progress_calls();
        self.absences = if is_away { self.absences.saturating_add(1) } else { 0 };
        let is_shared = idle_yield::is_core_shared() && self.absences < MOST_ABSENCES;
        if !is_away && !is_shared {
            // While there is something to watch over, nobody should have to wake the thread for it.
            let is_urgent = transport.has_deferred_work() || transport.owes_acknowledgement();
            return if is_urgent { Next::Soon } else { Next::Present };
        }
        let is_free = is_away && is_free();
        if !is_away || is_full || (is_shared && !is_free) {
            transport.flush_posted();
            let waits =
                transport.has_blocked_sends() || transport.has_deferred_work() || transport.owes_acknowledgement();
            return if waits { Next::Soon } else { Next::Later };
        }
        transport.progress_in_background();
        self.seen_calls = transport.progress_calls();
        Next::News { paced: !is_free }
    }

    /// Wakes the progress thread if there is something for it.
    #[inline]
    pub fn wake_thread_if_needed(&self) {
        let (Some(transport), Some(thread)) = (&self.transport, &self.thread) else { return };
        let goes_on = self.progress != Progress::Calls;
        if transport.owes_acknowledgement()
            || transport.has_deferred_work()
            || (goes_on && transport.has_blocked_sends())
        {
            thread.wake(true);
        } else if goes_on && transport.has_pending_operations() {
            thread.wake(false);
        }
    }

    fn deliver_completions(&mut self, id: u32) -> bool {
        let mut any = false;
        while !self.tx.is_full() && !self.rx.is_full() {
            let Some(completion) = self.transport.as_mut().and_then(Transport::poll_completion) else { break };
            self.deliver_completion(completion, id);
            any = true;
        }
        any
    }

    fn deliver_completion(&mut self, completion: Completion, id: u32) {
        let (user, report) = self.contexts.close(completion.context, completion.buffer_released);
        let (direction, counter) = match completion.operation {
            Operation::Send => (&self.tx, &self.tx.counter),
            Operation::Recv => (&self.rx, &self.rx.counter),
            Operation::Read => (&self.tx, &self.read_counter),
            Operation::Write => (&self.tx, &self.write_counter),
            Operation::Peek | Operation::RemoteWrite => (&self.rx, &None),
        };
        if let Some(counter) = counter {
            counter.count(completion.result.is_ok(), completion.len);
        }
        let Some(queue) = &direction.queue else { return };
        let entry = entry(&completion, id, user);
        match completion.result {
            Ok(()) if report => queue.push(entry),
            Ok(()) => {}
            Err(failure) => {
                // MPI libraries print the number only.
                match &failure {
                    Failure::PeerLost(text) => error_report::report_if_new(text),
                    Failure::Refused(why) => {
                        error_report::report_if_new(&format!("remote memory access: {why}").into())
                    }
                    _ => {}
                }
                queue.push_error(failed_entry(entry, failure));
            }
        }
    }

    fn directions(&mut self, flags: u64) -> Outcome<impl Iterator<Item = &mut Direction>> {
        if flags & (FI_SEND | FI_RECV) == 0 {
            return Err(Errno(FI_EINVAL));
        }
        let tx = (flags & FI_SEND != 0).then_some(&mut self.tx);
        let rx = (flags & FI_RECV != 0).then_some(&mut self.rx);
        Ok(tx.into_iter().chain(rx))
    }
}

impl Direction {
    #[inline]
    pub fn wants(&self, report: Report) -> bool {
        let asked = match report {
            Report::Never => return false,
            Report::Default => self.op_flags & FI_COMPLETION != 0,
            Report::Flags(flags) => flags & FI_COMPLETION != 0,
        };
        self.queue.is_some() && (asked || !self.selective)
    }

    fn is_full(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.is_full())
    }
}

fn register(list: &mut Vec<Arc<Endpoint>>, endpoint: &Arc<Endpoint>) {
    if !list.iter().any(|known| Arc::ptr_eq(known, endpoint)) {
        list.push(endpoint.clone());
    }
}
