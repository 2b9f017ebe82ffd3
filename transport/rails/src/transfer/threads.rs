//! The transfer threads of one endpoint. They are started when the first payload is to be copied beside another, spin for a moment
//! between two jobs, and sleep otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fishplate_guest::without_signals;

use super::ThreadLimit;
use super::slot::{Fate, Slot};
use super::spare::{IdleProcessors, PERIOD};

/// How long a thread spins for the next job before it sleeps: longer than between two stripes of a message, and ten times as long as
/// waking it takes.
const SPIN_TIME: Duration = Duration::from_micros(100);
/// A job that no thread has begun within this time is taken back: the processor is not free any more.
const BEGINS_WITHIN: Duration = Duration::from_micros(200);
/// Enough for a system call and its way there.
const STACK_BYTES: usize = 128 << 10;

/// A job of a transfer thread.
pub trait Transfer: Send + 'static {
    /// Copies as much as possible now. Does not block.
    fn carry_out(&mut self);
}

/// The threads of an endpoint.
pub struct Threads<J: Transfer> {
    limit: ThreadLimit,
    /// Maximum number of threads.
    most: usize,
    /// Ranks of this host, which share the free processors.
    ranks: usize,
    started: Vec<Thread<J>>,
    /// A thread could not be started: no more are tried.
    has_failed: bool,
    common: Arc<Common>,
    /// When a thread is to count free processors next.
    next_scan: Option<Instant>,
    process: u32,
}

/// State that the threads share with their endpoint.
#[derive(Default)]
struct Common {
    ended: AtomicBool,
    /// The first thread is to count free processors.
    scan_wanted: AtomicBool,
    allowed: AtomicUsize,
}

struct Thread<J> {
    slot: Arc<Slot<J>>,
    handle: Option<JoinHandle<()>>,
}

/// A job that was lent to a thread. Dropping it waits for the thread.
pub struct Lease<J: Transfer> {
    slot: Arc<Slot<J>>,
    since: Instant,
    process: u32,
}

impl<J: Transfer> Lease<J> {
    /// The job, if it is done. A job that no thread has begun within `BEGINS_WITHIN` is carried out here; true then, as a processor
    /// less is free.
    pub fn try_take(&self) -> Option<(J, bool)> {
        match self.slot.try_take() {
            Fate::Done(job) => Some((job, false)),
            Fate::Waits if self.since.elapsed() >= BEGINS_WITHIN => {
                let mut job = self.slot.withdraw()?;
                job.carry_out();
                Some((job, true))
            }
            _ => None,
        }
    }

    /// Takes the job back in its present state, waiting for the thread if it has begun.
    pub fn end(&self) -> Option<J> {
        (self.process == std::process::id()).then(|| self.slot.wait()).flatten()
    }
}

impl<J: Transfer> Drop for Lease<J> {
    fn drop(&mut self) {
        drop(self.end());
    }
}

impl<J: Transfer> Threads<J> {
    /// No threads yet, and at most as many as `rails`; `ranks`: of the job on this host.
    pub fn new(limit: ThreadLimit, rails: usize, ranks: usize) -> Threads<J> {
        let processors = thread::available_parallelism().map_or(1, |processors| processors.get());
        let most = match limit {
            ThreadLimit::Automatic => rails.min(processors - 1),
            ThreadLimit::Fixed(number) => number,
        };
        let common = Common::default();
        if limit != ThreadLimit::Automatic {
            common.allowed.store(most, Ordering::Relaxed);
        }
        Threads {
            limit,
            most,
            ranks: ranks.max(1),
            started: Vec::new(),
            has_failed: false,
            common: Arc::new(common),
            next_scan: None,
            process: std::process::id(),
        }
    }

    /// Number of threads that may run at present.
    pub fn allowed(&self) -> usize {
        self.common.allowed.load(Ordering::Relaxed).min(self.most)
    }

    /// Whether threads may run, or that is to be found out.
    pub fn may_help(&self) -> bool {
        self.most > 0 && (self.allowed() > 0 || self.is_scan_due(Instant::now()))
    }

    /// Whether this is the process that has the threads: a forked child does not.
    pub fn are_here(&self) -> bool {
        self.process == std::process::id()
    }

    fn is_scan_due(&self, now: Instant) -> bool {
        self.limit == ThreadLimit::Automatic && self.next_scan.is_none_or(|next| now >= next)
    }

    /// A payload is to be copied beside another: makes sure that the number of free processors is known.
    pub fn want(&mut self) {
        let now = Instant::now();
        if self.most > 0 && self.is_scan_due(now) {
            self.next_scan = Some(now + PERIOD);
            if self.started.is_empty() {
                self.start();
            }
            self.common.scan_wanted.store(true, Ordering::Release);
            self.started.first().into_iter().for_each(Thread::wake);
        }
    }

    /// Lends a job to an idle thread; gives it back where there is none.
    pub fn lend(&mut self, mut job: J) -> Result<Lease<J>, J> {
        for at in 0..self.allowed() {
            if at == self.started.len() && !self.start() {
                break;
            }
            let thread = &self.started[at];
            match thread.slot.post(job) {
                Ok(()) => {
                    thread.wake();
                    return Ok(Lease { slot: thread.slot.clone(), since: Instant::now(), process: self.process });
                }
                Err(back) => job = back,
            }
        }
        Err(job)
    }

    /// A job was not begun in time: counts a processor less as free until the next scan. Not all: of many threads one is late now and
    /// then, as waking it takes long.
    pub fn were_late(&self) {
        if self.limit == ThreadLimit::Automatic {
            self.common.allowed.store(self.allowed().saturating_sub(1), Ordering::Relaxed);
        }
    }

    fn start(&mut self) -> bool {
        if self.has_failed {
            return false;
        }
        let slot = Arc::new(Slot::default());
        let scan = self.started.is_empty().then(|| IdleScan {
            most: self.most,
            ranks: self.ranks,
            idle: IdleProcessors::default(),
        });
        let (theirs, common) = (slot.clone(), self.common.clone());
        let builder = thread::Builder::new().name("fishplate-copy".into()).stack_size(STACK_BYTES);
        match without_signals(|| builder.spawn(move || run(&theirs, &common, scan))) {
            Ok(handle) => self.started.push(Thread { slot, handle: Some(handle) }),
            Err(error) => {
                log::info!("no thread for long payloads: {error}; the thread that calls MPI moves them");
                self.has_failed = true;
                self.most = self.started.len();
            }
        }
        !self.has_failed
    }
}

impl<J: Transfer> Drop for Threads<J> {
    fn drop(&mut self) {
        if !self.are_here() {
            return;
        }
        self.common.ended.store(true, Ordering::Release);
        for thread in &mut self.started {
            thread.wake();
            // A panic of the thread does not matter here.
            let _ = thread.handle.take().map(JoinHandle::join);
        }
    }
}

impl<J> Thread<J> {
    fn wake(&self) {
        self.handle.iter().for_each(|handle| handle.thread().unpark());
    }
}

/// Counts free processors, in the first thread.
struct IdleScan {
    most: usize,
    ranks: usize,
    idle: IdleProcessors,
}

impl IdleScan {
    /// One more for each processor that is free for this rank; one less while there is none.
    fn scan(&mut self, allowed: &AtomicUsize) {
        let Some(free) = self.idle.sample() else { return };
        let before = allowed.load(Ordering::Relaxed);
        let now = if free == 0 { before.saturating_sub(1) } else { self.most.min(before + free / self.ranks) };
        allowed.store(now, Ordering::Relaxed);
    }
}

fn run<J: Transfer>(slot: &Slot<J>, common: &Common, mut scan: Option<IdleScan>) {
    let mut idle_since = Instant::now();
    while !common.ended.load(Ordering::Acquire) {
        if let Some(scan) = &mut scan
            && common.scan_wanted.swap(false, Ordering::Acquire)
        {
            scan.scan(&common.allowed);
        }
        if slot.run(J::carry_out) {
            idle_since = Instant::now();
        } else if idle_since.elapsed() < SPIN_TIME {
            std::hint::spin_loop();
        } else {
            // Posting a job, or ending the threads, unparks it afterwards.
            thread::park();
            idle_since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count(u32);

    impl Transfer for Count {
        fn carry_out(&mut self) {
            self.0 += 1;
        }
    }

    fn done(lease: &Lease<Count>) -> u32 {
        loop {
            if let Some((job, _)) = lease.try_take() {
                return job.0;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn jobs_go_to_as_many_threads_as_are_allowed_and_come_back_done() {
        let mut threads = Threads::new(ThreadLimit::Fixed(2), 9, 1);
        for _ in 0..100 {
            let first = threads.lend(Count(0)).ok().unwrap();
            let second = threads.lend(Count(10)).ok().unwrap();
            assert!(threads.lend(Count(20)).is_err(), "both have one");
            assert_eq!((done(&first), done(&second)), (1, 11));
        }
        assert_eq!(threads.started.len(), 2);
    }

    #[test]
    fn a_lease_that_is_dropped_leaves_the_thread_free() {
        let mut threads = Threads::new(ThreadLimit::Fixed(1), 1, 1);
        for _ in 0..100 {
            drop(threads.lend(Count(0)).ok().unwrap());
        }
        let lease = threads.lend(Count(5)).ok().unwrap();
        assert!(matches!(lease.end(), Some(Count(5 | 6))));
        assert!(lease.end().is_none());
    }

    #[test]
    fn without_threads_jobs_stay_here() {
        let mut threads = Threads::new(ThreadLimit::Fixed(0), 4, 1);
        threads.want();
        assert!(threads.lend(Count(0)).is_err() && threads.started.is_empty());
        let mut alone = Threads::<Count>::new(ThreadLimit::Automatic, 0, 1);
        alone.want();
        assert!(alone.started.is_empty(), "no rail needs one");
    }

    #[test]
    fn as_many_are_allowed_as_processors_are_free_for_this_rank() {
        let mut threads = Threads::<Count>::new(ThreadLimit::Automatic, 2, 1);
        assert_eq!(threads.allowed(), 0, "nothing is known yet");
        threads.most = 2;
        threads.common.allowed.store(2, Ordering::Relaxed);
        threads.were_late();
        assert_eq!(threads.allowed(), 1);
        threads.were_late();
        threads.were_late();
        assert_eq!(threads.allowed(), 0);
    }
}
