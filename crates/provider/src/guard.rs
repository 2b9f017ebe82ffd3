//! The guard: a thread that sends what a burst holds back, and acknowledgements that peers wait for, when the application
//! does not come back to MPI soon. It sleeps unless there may be such.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use crate::endpoint::Endpoint;
use crate::errno::lock_plain;
use crate::ffi::signals::without_signals;

/// How often the guard looks, and how long something may be held back before it lets it go; so nothing waits longer than
/// about twice this. Far more than the microseconds from one send of a burst to the next, and rare enough to cost nothing.
const PERIOD: Duration = Duration::from_millis(1);
/// Looks without a burst before it sleeps: waking it costs a system call, which should be rare.
const PATIENCE: u32 = 50;
/// Enough for a system call and its way there.
const STACK_BYTES: usize = 128 << 10;

/// All guards whose threads may run.
static GUARDS: Mutex<Vec<Weak<Guard>>> = Mutex::new(Vec::new());

/// The guard of one endpoint.
pub struct Guard {
    shared: Arc<Shared>,
    thread: Thread,
    handle: Mutex<Option<JoinHandle<()>>>,
    /// The process that has the thread: a child that was forked off has not.
    process: u32,
}

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    asleep: AtomicBool,
    /// Something is held back or to be acknowledged, or was until just now.
    holding: AtomicBool,
}

impl Guard {
    /// Starts to watch over `endpoint`.
    pub fn start(endpoint: &Arc<Endpoint>) -> io::Result<Arc<Guard>> {
        let shared = Arc::new(Shared::default());
        let (theirs, watched) = (shared.clone(), Arc::downgrade(endpoint));
        let builder = thread::Builder::new().name("fishplate".into()).stack_size(STACK_BYTES);
        let handle = without_signals(|| builder.spawn(move || theirs.watch(&watched)))?;
        let thread = handle.thread().clone();
        let guard = Guard { shared, thread, handle: Mutex::new(Some(handle)), process: std::process::id() };
        let guard = Arc::new(guard);
        let mut guards = lock_plain(&GUARDS);
        guards.retain(|guard| guard.strong_count() > 0);
        guards.push(Arc::downgrade(&guard));
        Ok(guard)
    }

    /// Something is held back or to be acknowledged. To be called under the endpoint's lock.
    #[inline]
    pub fn wake(&self) {
        if self.shared.holding.load(Ordering::Relaxed) {
            return;
        }
        self.shared.holding.store(true, Ordering::SeqCst);
        if self.shared.asleep.swap(false, Ordering::SeqCst) {
            self.thread.unpark();
        }
    }

    /// Nothing is held back any more. To be called under the endpoint's lock.
    pub fn rest(&self) {
        self.shared.holding.store(false, Ordering::Relaxed);
    }

    /// Ends the thread, and waits until it has ended. Not to be called under the endpoint's lock.
    pub fn end(&self) {
        let Some(handle) = lock_plain(&self.handle).take() else { return };
        if self.process != std::process::id() {
            return;
        }
        self.shared.ended.store(true, Ordering::Relaxed);
        self.thread.unpark();
        // It cannot have panicked in a way that matters here.
        let _ = handle.join();
    }
}

/// Ends all guards.
pub fn end_all() {
    let guards = std::mem::take(&mut *lock_plain(&GUARDS));
    guards.iter().filter_map(Weak::upgrade).for_each(|guard| guard.end());
}

impl Shared {
    fn watch(&self, endpoint: &Weak<Endpoint>) {
        let mut quiet = 0;
        while !self.ended.load(Ordering::Relaxed) {
            thread::park_timeout(PERIOD);
            quiet += 1;
            if self.holding.load(Ordering::Relaxed) {
                quiet = 0;
                endpoint.upgrade().iter().for_each(|endpoint| endpoint.release(PERIOD));
            }
            if quiet >= PATIENCE {
                self.sleep();
                quiet = 0;
            }
        }
        // None is left unless the application has not closed it.
        endpoint.upgrade().iter().for_each(|endpoint| endpoint.part());
    }

    /// Until something is held back. Of this thread and one in [`Guard::wake`], at least one sees what the other has set.
    fn sleep(&self) {
        self.asleep.store(true, Ordering::SeqCst);
        if self.holding.load(Ordering::SeqCst) {
            self.asleep.store(false, Ordering::Relaxed);
        }
        while self.asleep.load(Ordering::Relaxed) && !self.ended.load(Ordering::Relaxed) {
            thread::park();
        }
    }
}
