//! The progress thread of an endpoint, for work that cannot wait until the application calls MPI again. It sends held frames of a
//! burst and acknowledgements that peers wait for, and makes progress on posted operations. Without such work it sleeps, and polls
//! now and then for peers that wait for an answer of an application that does not call MPI any more.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fishplate_guest::without_signals;
use fishplate_rails::settings::Progress;
use fishplate_rails::transfer::IdleProcessors;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{read, write};

use crate::errno::lock_plain;
use crate::shared_processor::{SharedProcessor, scheduling_wait};

/// The thread's period, and how long a frame may be held before it sends it; so no frame waits longer than about twice this. Far
/// longer than the microseconds from one send of a burst to the next, and rare enough to cost nothing.
pub const PERIOD: Duration = Duration::from_millis(1);
/// Its period while it waits for readable sockets: only for noticing that a processor has become idle.
pub const LONG_PERIOD: Duration = Duration::from_millis(10);
/// An application that waits in MPI polls the network more often than this: one that has not is away, though it calls now and then.
/// Also how long it is in MPI then, about.
pub const VISIT: Duration = Duration::from_micros(50);
/// Time without work before it sleeps: waking it costs a system call, which should be rare.
const MAX_IDLE: Duration = Duration::from_millis(50);
/// Period of [`Served::look_around`] while it sleeps. A peer that ends may wait this long for a computing process; twice a second
/// disturbs nobody.
const LOOK_AROUND: Duration = Duration::from_millis(500);
/// Enough for a system call and its way there.
const STACK_BYTES: usize = 128 << 10;

static THREADS: Mutex<Vec<Weak<ProgressThread>>> = Mutex::new(Vec::new());

pub struct ProgressThread {
    shared: Arc<Shared>,
    handle: Mutex<Option<JoinHandle<()>>>,
    /// The process that has the thread; a forked child does not.
    process: u32,
}

struct Shared {
    ended: AtomicBool,
    /// Depth of its sleep: one of [`AWAKE`], [`DOZES`], [`SLEEPS`].
    depth: AtomicU8,
    /// There may be work, or was recently.
    working: AtomicBool,
    bell: OwnedFd,
}

/// It runs again within [`PERIOD`].
const AWAKE: u8 = 0;
/// The bell wakes it only for urgent work; it polls for all other work.
const DOZES: u8 = 1;
/// The bell wakes it for any work.
const SLEEPS: u8 = 2;

/// When the thread runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// After [`PERIOD`].
    Soon,
    /// The application is in MPI: after twice as long as before, up to [`LONG_PERIOD`].
    InMpi {
        /// Peers wait for answers: at first after [`VISIT`], up to [`PERIOD`].
        is_asked: bool,
    },
    /// A call of the application has the endpoint locked: after [`PERIOD`], or as with [`Next::InMpi`] while peers wait for
    /// answers.
    Locked,
    /// There is no work, and new work can wait: as [`Next::InMpi`].
    Idle,
    /// Once a socket is readable.
    Readable {
        /// Not before [`PERIOD`] is over, as no processor is idle.
        paced: bool,
    },
    /// After [`scheduling_wait`], unless it is woken: a thread that takes the processor from waiting ranks, or is preempted with the
    /// endpoint locked, delays all of them.
    AfterScheduling,
}

/// The object of a progress thread: an endpoint.
pub trait Served: Send + Sync + 'static {
    /// Sends what has been due for `least`, and makes progress if the application is not in MPI and a processor `is_free`.
    /// Returns when to run next.
    fn service(&self, least: Duration, is_free: impl FnOnce() -> bool) -> Next;

    /// Makes progress if the application has not called MPI since the last time.
    fn look_around(&self);

    /// A descriptor that is readable while sockets are ready and the application is not in MPI.
    fn readiness_fd(&self) -> Option<Arc<OwnedFd>>;

    /// The process exits with the endpoint open.
    fn close_at_exit(&self);
}

impl ProgressThread {
    pub fn start(endpoint: &Arc<impl Served>, progress: Progress) -> io::Result<Arc<ProgressThread>> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared::new(bell));
        let (theirs, watched) = (shared.clone(), Arc::downgrade(endpoint));
        let builder = thread::Builder::new().name("fishplate".into()).stack_size(STACK_BYTES);
        let handle = without_signals(|| builder.spawn(move || theirs.run(&watched, progress)))?;
        let process = std::process::id();
        let started = Arc::new(ProgressThread { shared, handle: Mutex::new(Some(handle)), process });
        let mut threads = lock_plain(&THREADS);
        threads.retain(|thread| thread.strong_count() > 0);
        threads.push(Arc::downgrade(&started));
        Ok(started)
    }

    /// There is work; `soon`: urgent work. To be called under the endpoint's lock.
    #[inline]
    pub fn wake(&self, soon: bool) {
        self.shared.wake(soon);
    }

    /// Whether it knows that there may be work. To be called under the endpoint's lock.
    #[inline]
    pub fn is_working(&self) -> bool {
        self.shared.working.load(Ordering::Relaxed)
    }

    /// There is no work any more. To be called under the endpoint's lock.
    pub fn nothing_to_do(&self) {
        self.shared.working.store(false, Ordering::Relaxed);
    }

    /// Ends the thread, and waits until it has ended. Not to be called under the endpoint's lock.
    pub fn end(&self) {
        let Some(handle) = lock_plain(&self.handle).take() else { return };
        if self.process != std::process::id() {
            return;
        }
        self.shared.ended.store(true, Ordering::Relaxed);
        self.shared.ring();
        // A panic of the thread does not matter here.
        let _ = handle.join();
    }
}

pub fn end_all() {
    let threads = std::mem::take(&mut *lock_plain(&THREADS));
    threads.iter().filter_map(Weak::upgrade).for_each(|thread| thread.end());
}

/// The periods that grow.
struct Periods {
    in_mpi: Option<Duration>,
    idle: Duration,
    /// Peers wait for answers, as far as was seen last.
    is_asked: bool,
}

impl Default for Periods {
    fn default() -> Periods {
        Periods { in_mpi: None, idle: PERIOD, is_asked: false }
    }
}

impl Periods {
    /// The time to wait now. Programs that compute with nothing under way, and are found in MPI now and then, count as idle; for programs
    /// that post operations and then compute the thread polls often.
    fn of(&mut self, next: Next) -> Duration {
        match next {
            Next::InMpi { is_asked } => {
                self.is_asked = is_asked;
                self.in_mpi()
            }
            Next::Locked if self.is_asked => self.in_mpi(),
            Next::Idle => {
                *self = Periods { idle: (2 * self.idle).min(LONG_PERIOD), ..Periods::default() };
                self.idle
            }
            _ => {
                *self = Periods { is_asked: next == Next::Readable { paced: false }, ..Periods::default() };
                PERIOD
            }
        }
    }

    fn in_mpi(&mut self) -> Duration {
        let (first, most) = if self.is_asked { (VISIT, PERIOD) } else { (2 * PERIOD, LONG_PERIOD) };
        *self.in_mpi.insert(self.in_mpi.map_or(first, |before| (2 * before).min(most)))
    }
}

impl Shared {
    fn new(bell: OwnedFd) -> Shared {
        Shared { ended: AtomicBool::new(false), depth: AtomicU8::new(AWAKE), working: AtomicBool::new(false), bell }
    }

    #[inline]
    fn wake(&self, soon: bool) {
        let is_working = self.working.load(Ordering::Relaxed);
        if is_working && !(soon && self.depth.load(Ordering::Relaxed) != AWAKE) {
            return;
        }
        self.working.store(true, Ordering::SeqCst);
        let least = if soon { DOZES } else { SLEEPS };
        if self.depth.load(Ordering::SeqCst) >= least && self.depth.swap(AWAKE, Ordering::SeqCst) >= least {
            self.ring();
        }
    }

    fn run(&self, endpoint: &Weak<impl Served>, progress: Progress) {
        let (mut idle_since, mut next) = (Instant::now(), Next::Soon);
        let (mut idle, mut shared) = (IdleProcessors::default(), SharedProcessor::default());
        let mut periods = Periods::default();
        while !self.ended.load(Ordering::Relaxed) {
            self.pause(next, periods.of(next), endpoint);
            if next != Next::Idle {
                next = Next::Soon;
            }
            if self.working.load(Ordering::Relaxed)
                && let Some(endpoint) = endpoint.upgrade()
            {
                idle_since = Instant::now();
                shared.look();
                next = endpoint.service(PERIOD, || progress == Progress::Thread || idle.is_any());
            }
            if idle_since.elapsed() >= MAX_IDLE {
                self.sleep(|| {
                    if progress != Progress::Calls {
                        endpoint.upgrade().iter().for_each(|endpoint| endpoint.look_around());
                    }
                });
                (idle_since, next) = (Instant::now(), Next::Soon);
            }
        }
        // Only an endpoint that the application has not closed is left.
        endpoint.upgrade().iter().for_each(|endpoint| endpoint.close_at_exit());
    }

    fn pause(&self, next: Next, period: Duration, endpoint: &Weak<impl Served>) {
        match next {
            Next::InMpi { .. } | Next::Idle => self.sleep_for(None, period),
            Next::Soon | Next::Locked => self.wait(None, period),
            Next::AfterScheduling => self.sleep_for(None, scheduling_wait()),
            Next::Readable { paced } => {
                let readiness = endpoint.upgrade().and_then(|endpoint| endpoint.readiness_fd());
                if paced || readiness.is_none() {
                    self.wait(None, PERIOD);
                }
                if readiness.is_some() {
                    self.sleep_for(readiness.as_deref(), LONG_PERIOD);
                }
            }
        }
    }

    /// Sleeps until there is work; calls `look` every [`LOOK_AROUND`]. Of this thread and one in [`ProgressThread::wake`], at least one
    /// sees the other's store.
    fn sleep(&self, look: impl Fn()) {
        self.depth.store(SLEEPS, Ordering::SeqCst);
        let mut looked = Instant::now();
        while !self.working.load(Ordering::SeqCst) && !self.ended.load(Ordering::Relaxed) {
            self.wait(None, LOOK_AROUND);
            if looked.elapsed() >= LOOK_AROUND {
                look();
                looked = Instant::now();
            }
        }
        self.depth.store(AWAKE, Ordering::SeqCst);
    }

    /// Sleeps until the bell rings, a socket is readable, or `most` has passed; [`ProgressThread::wake`] rings only for urgent work.
    fn sleep_for(&self, readiness: Option<&OwnedFd>, most: Duration) {
        self.depth.store(DOZES, Ordering::SeqCst);
        self.wait(readiness, most);
        self.depth.store(AWAKE, Ordering::SeqCst);
    }

    fn wait(&self, readiness: Option<&OwnedFd>, most: Duration) {
        let most = Timespec { tv_sec: 0, tv_nsec: most.subsec_nanos().into() };
        let bell = PollFd::new(&self.bell, PollFlags::IN);
        let _ = match readiness {
            Some(readiness) => poll(&mut [bell, PollFd::new(readiness, PollFlags::IN)], Some(&most)),
            None => poll(&mut [bell], Some(&most)),
        };
        let _ = read(&self.bell, &mut [0; 8]);
    }

    fn ring(&self) {
        let _ = write(&self.bell, &1u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dozing_thread_is_woken_only_for_work_that_is_due_soon() {
        let shared = Shared::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap());
        let rings = |depth: u8, soon: bool| {
            shared.working.store(false, Ordering::Relaxed);
            shared.depth.store(depth, Ordering::Relaxed);
            shared.wake(soon);
            assert!(shared.working.load(Ordering::Relaxed));
            read(&shared.bell, &mut [0; 8]).is_ok()
        };
        assert_eq!(
            [(AWAKE, true), (DOZES, false), (DOZES, true)].map(|(depth, soon)| rings(depth, soon)),
            [false, false, true]
        );
        assert_eq!([false, true].map(|soon| rings(SLEEPS, soon)), [true, true]);
    }

    #[test]
    fn waits_grow_while_there_is_nothing_to_do_and_are_short_again_after_work() {
        let mut periods = Periods::default();
        let mut wait = |next| periods.of(next).as_micros();
        let (in_mpi, asked) = (Next::InMpi { is_asked: false }, Next::InMpi { is_asked: true });
        let first = [Next::Idle, Next::Idle, in_mpi, Next::Idle, Next::Idle].map(&mut wait);
        assert_eq!(first, [2000, 4000, 2000, 8000, 10_000]);
        assert_eq!([Next::Soon, Next::Idle, in_mpi, in_mpi].map(&mut wait), [1000, 2000, 2000, 4000]);
        let visits = [Next::Soon, asked, asked, asked, Next::Locked, asked, asked, asked].map(&mut wait);
        assert_eq!(visits, [1000, 50, 100, 200, 400, 800, 1000, 1000]);
        let answering = Next::Readable { paced: false };
        assert_eq!([Next::Locked, answering, Next::Locked, Next::Locked].map(&mut wait), [1000, 1000, 50, 100]);
    }
}
