//! Endpoint: one transport endpoint with the queues, counters and addresses that are bound to it.
//!
//! `transfer`, `rma` and `atomics` hold what is posted on it, `progress` how it moves on, in a call of the application or of the progress
//! thread. `peers` maps address vector indices to virtual channels, `contexts` the application's contexts to the engine's.
//!
//! Called by [`crate::ffi`] and, for progress, by the queues and counters that it is bound to.

pub mod atomics;
mod contexts;
mod peers;
mod progress;
pub mod rma;
pub mod transfer;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use fishplate_engine::{Registration, VcId};
use fishplate_rails::settings::Progress;
use fishplate_rails::{ADDRESS_LEN, Address, Endpoint as Transport, OpenError, Settings};
use ofi_abi::{
    FI_ADDR_NOTAVAIL, FI_COMPLETION, FI_DIRECTED_RECV, FI_EAGAIN, FI_EINVAL, FI_ENETDOWN, FI_ENOCQ, FI_ENOKEY,
    FI_EOPBADSTATE, FI_EOTHER, FI_READ, FI_RECV, FI_SELECTIVE_COMPLETION, FI_SEND, FI_WRITE,
};

use crate::address_vector::AddressVector;
use crate::bound::Bound;
use crate::completion_queue::CompletionQueue;

use crate::counter::Counter;
use crate::domain::Domain;
use crate::errno::{Errno, Outcome, write_plain};
use crate::ffi::endpoint_lock::{EndpointLock, Guard, Poisoned};

use crate::progress_thread::ProgressThread;
use crate::reader::Reader;

use contexts::Contexts;
use peers::Peers;

/// Default of the free bytes below which a multi-receive buffer is released: libfabric's documented one.
const MIN_MULTI_RECV: u64 = 64;

/// The application's choices at the opening of the endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    pub caps: u64,
    /// Default flags of sends.
    pub tx_op_flags: u64,
    /// Default flags of receives.
    pub rx_op_flags: u64,
}

/// An endpoint. One lock guards all of it.
pub struct Endpoint {
    id: u32,
    state: EndpointLock<State>,
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
    /// Counts reads of peers' memory, and atomic operations with a result.
    pub read_counter: Option<Arc<Counter>>,
    /// Counts writes into peers' memory, and other atomic operations.
    pub write_counter: Option<Arc<Counter>>,
    /// All counters bound, also those that never count.
    pub counters: Vec<Arc<Counter>>,
    pub contexts: Contexts,
    pub min_multi_recv: u64,
    /// Receives are directed: they name their sender (`FI_DIRECTED_RECV`).
    pub directed: bool,
    pub thread: Option<Arc<ProgressThread>>,
    /// Whether the progress thread also makes progress on posted operations.
    progress: Progress,
    /// Readable while sockets are ready.
    readiness_fd: Option<Arc<OwnedFd>>,
    /// Number of the application's progress calls that the thread has seen, and since when it has not changed.
    seen_calls: (u64, Instant),
    /// Number of the application's progress calls at the thread's last [`look_around`](crate::progress_thread::Served::look_around).
    looked_calls: u64,
    /// Peers' requests, as the progress thread has seen them.
    requests: progress::Requests,
    /// Rounds since the network was polled last.
    skipped: u32,
}

/// Destination of completions of sends (and remote memory access), or of receives.
#[derive(Default)]
pub(crate) struct Direction {
    pub queue: Option<Arc<CompletionQueue>>,
    pub counter: Option<Arc<Counter>>,
    /// Only operations that ask for it are reported.
    pub selective: bool,
    pub op_flags: u64,
}

/// Whether a success is reported.
#[derive(Clone, Copy, Debug)]
pub enum Report {
    /// Never: inject.
    Never,
    /// As the endpoint's default flags say.
    Default,
    /// As these flags of the call say.
    Flags(u64),
}

impl Endpoint {
    /// An endpoint without transport until [`Endpoint::enable`].
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
            seen_calls: (0, Instant::now()),
            requests: progress::Requests::NONE,
            looked_calls: 0,
            skipped: 0,
        };
        Endpoint { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), state: EndpointLock::new(state), domain }
    }

    pub(crate) fn state(&self) -> Outcome<Guard<'_, State>> {
        self.state.lock().map_err(|Poisoned| Errno(FI_EOTHER))
    }

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
        let endpoints = &mut write_plain(&queue.endpoints);
        register(endpoints, self);
        if endpoints.len() > 1 {
            queue.pause.forbid();
        }
        Ok(())
    }

    /// Binds a counter for the directions in `flags`. A counter for peers' accesses alone never counts, as that needs `FI_RMA_EVENT`.
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
        self.domain.regions.join(self.clone(), |regions| self.enable_with(regions, open))
    }

    fn enable_with(
        self: &Arc<Self>,
        regions: &BTreeMap<u64, Registration>,
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
            fishplate_guest::report(&error);
            Errno(FI_ENETDOWN)
        })?;
        for region in regions.values() {
            transport.register(region.clone()).map_err(|_| Errno(FI_ENOKEY))?;
        }
        state.readiness_fd = transport.readiness_fd().ok().map(Arc::new);
        state.thread = match ProgressThread::start(self, state.progress) {
            Ok(thread) => Some(thread),
            Err(error) if self.domain.is_automatic => {
                fishplate_guest::report(format_args!("no thread for automatic progress: {error}"));
                return Err(Errno(FI_EAGAIN));
            }
            // Without a thread no frames are held: slower, but correct.
            Err(_) => None,
        };
        if state.thread.is_some() {
            transport.enable_batching();
        }
        state.transport = Some(transport);
        Ok(())
    }

    /// Ends the transport and releases all bound objects, even after a panic: otherwise these could not be closed.
    pub fn close(self: &Arc<Self>) {
        let mut state = self.state.lock_anyway();
        let queues = [state.tx.queue.take(), state.rx.queue.take()];
        let (addresses, counters) = (state.addresses.take(), std::mem::take(&mut state.counters));
        let (transport, thread) = (state.transport.take(), state.thread.take());
        drop(state);
        let own: Arc<dyn Bound> = self.clone();
        self.domain.regions.leave(&own);
        thread.iter().for_each(|thread| thread.end());
        let leave = |list: &mut Vec<Arc<dyn Bound>>| list.retain(|endpoint| !Arc::ptr_eq(endpoint, &own));
        addresses.iter().for_each(|vector| leave(&mut write_plain(&vector.endpoints)));
        queues.iter().flatten().for_each(|queue| leave(&mut write_plain(&queue.endpoints)));
        counters.iter().for_each(|counter| leave(&mut write_plain(&counter.endpoints)));
        match transport {
            // After a panic its state may be inconsistent: it is leaked, and its sockets close with the process.
            Some(transport) if self.state.is_poisoned() => std::mem::forget(transport),
            Some(transport) => transport.close(),
            None => {}
        }
    }

    /// The address of this endpoint, as a blob. Only once it is enabled.
    pub fn name(&self) -> Outcome<[u8; ADDRESS_LEN]> {
        let state = self.state()?;
        state.transport.as_ref().map(|transport| transport.address().encode()).ok_or(Errno(FI_EOPBADSTATE))
    }
}

impl Bound for Endpoint {
    fn id(&self) -> u32 {
        self.id
    }

    fn progress(&self, reader: &mut Reader<'_>) -> Outcome<bool> {
        // Does not wait for another thread's call.
        match self.state.try_lock() {
            Ok(Some(mut state)) => Ok(state.progress(self.id, reader)),
            Ok(None) => Ok(false),
            Err(Poisoned) => Err(Errno(FI_EOTHER)),
        }
    }

    fn address_of(&self, channel: VcId) -> u64 {
        let Ok(mut guard) = self.state() else { return FI_ADDR_NOTAVAIL };
        let State { transport: Some(transport), addresses: Some(vector), peers, .. } = &mut *guard else {
            return FI_ADDR_NOTAVAIL;
        };
        peers.index(channel, vector, transport)
    }

    fn forget(&self, index: u64) -> Outcome<()> {
        self.state()?.peers.forget(index);
        Ok(())
    }

    fn meet(&self, address: &Address) {
        if let Ok(mut state) = self.state()
            && let Some(transport) = &mut state.transport
        {
            transport.meet(address);
        }
    }

    fn expose(&self, registration: Registration) -> Outcome<()> {
        let mut state = self.state()?;
        let Some(transport) = &mut state.transport else { return Ok(()) };
        transport.register(registration).map_err(|_| Errno(FI_ENOKEY))?;
        state.wake_thread_if_needed();
        Ok(())
    }

    fn withdraw(&self, key: u64) {
        // Even after a panic, as the memory must not be accessed any more.
        let mut state = self.state.lock_anyway();
        if let Some(transport) = &mut state.transport {
            transport.deregister(key);
        }
        state.end_pause();
        state.wake_thread_if_needed();
    }
}

impl State {
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

fn register(list: &mut Vec<Arc<dyn Bound>>, endpoint: &Arc<Endpoint>) {
    let endpoint: Arc<dyn Bound> = endpoint.clone();
    if !list.iter().any(|known| Arc::ptr_eq(known, &endpoint)) {
        list.push(endpoint);
    }
}
