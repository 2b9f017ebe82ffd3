//! A slot in which one thread leaves a job for another, and finds it again once it is done. Neither waits for the other, except in
//! [`Slot::wait`].

use super::sync::{AtomicU8, Mutex, MutexGuard, Ordering, PoisonError, pause};

const EMPTY: u8 = 0;
const POSTED: u8 = 1;
const RUNNING: u8 = 2;
const DONE: u8 = 3;

/// Room for one job.
pub struct Slot<J> {
    state: AtomicU8,
    /// Locked only by the thread that has advanced `state`, so that no thread ever waits for it.
    job: Mutex<Option<J>>,
}

impl<J> Default for Slot<J> {
    fn default() -> Slot<J> {
        Slot { state: AtomicU8::new(EMPTY), job: Mutex::new(None) }
    }
}

/// The progress of a job.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate<J> {
    /// No thread has begun with it.
    Waits,
    /// A thread carries it out.
    Runs,
    /// It is done.
    Done(J),
}

impl<J> Slot<J> {
    /// Leaves a job; gives it back if there is one already.
    pub fn post(&self, job: J) -> Result<(), J> {
        if self.state.load(Ordering::Acquire) != EMPTY {
            return Err(job);
        }
        *self.lock() = Some(job);
        self.state.store(POSTED, Ordering::Release);
        Ok(())
    }

    /// Carries out the job that waits, if one does.
    pub fn run(&self, carry_out: impl FnOnce(&mut J)) -> bool {
        if self.state.load(Ordering::Relaxed) != POSTED || !self.moves(POSTED, RUNNING) {
            return false;
        }
        let ends = Ends(&self.state);
        if let Some(job) = &mut *self.lock() {
            carry_out(job);
        }
        drop(ends);
        true
    }

    /// Takes the job back if it is done.
    pub fn try_take(&self) -> Fate<J> {
        match self.state.load(Ordering::Acquire) {
            DONE => self.take().map_or(Fate::Runs, Fate::Done),
            RUNNING => Fate::Runs,
            _ => Fate::Waits,
        }
    }

    /// Takes back a job that no thread has begun with.
    pub fn withdraw(&self) -> Option<J> {
        if !self.moves(POSTED, RUNNING) {
            return None;
        }
        self.take()
    }

    /// Takes the job back, done or not begun. Waits for a thread that carries it out. `None`: there is no job.
    pub fn wait(&self) -> Option<J> {
        let mut rounds = 0;
        loop {
            match self.state.load(Ordering::Acquire) {
                EMPTY => return None,
                DONE => return self.take(),
                POSTED => {
                    if let Some(job) = self.withdraw() {
                        return Some(job);
                    }
                }
                _ => pause(rounds),
            }
            rounds += 1;
        }
    }

    fn take(&self) -> Option<J> {
        let job = self.lock().take();
        self.state.store(EMPTY, Ordering::Release);
        job
    }

    fn moves(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn lock(&self) -> MutexGuard<'_, Option<J>> {
        // A job that has panicked is consistent: copied bytes are counted after each system call.
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks the job as done when it is dropped, also after a panic.
struct Ends<'a>(&'a AtomicU8);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(DONE, Ordering::Release);
    }
}
