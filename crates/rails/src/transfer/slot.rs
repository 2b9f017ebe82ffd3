//! Where one thread leaves a job for another, and finds it again once it is done. Neither waits for the other, but in
//! [`Slot::wait`].

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const EMPTY: u8 = 0;
const POSTED: u8 = 1;
const RUNNING: u8 = 2;
const DONE: u8 = 3;

/// Rounds of looking for the end of a job before the processor is given away between two.
const SPINS: u32 = 1000;

/// Room for one job.
pub struct Slot<J> {
    state: AtomicU8,
    /// Locked by who has moved `state` on, so that nobody ever waits for it.
    job: Mutex<Option<J>>,
}

impl<J> Default for Slot<J> {
    fn default() -> Slot<J> {
        Slot { state: AtomicU8::new(EMPTY), job: Mutex::new(None) }
    }
}

/// What has become of a job.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate<J> {
    /// No thread has begun with it.
    Waits,
    /// A thread is at it.
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
    pub fn look(&self) -> Fate<J> {
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

    /// Takes the job back, done or not begun. Waits for a thread that is at it. `None`: there is none.
    pub fn wait(&self) -> Option<J> {
        let mut spins = 0;
        loop {
            match self.state.load(Ordering::Acquire) {
                EMPTY => return None,
                DONE => return self.take(),
                POSTED => {
                    if let Some(job) = self.withdraw() {
                        return Some(job);
                    }
                }
                _ if spins < SPINS => std::hint::spin_loop(),
                _ => std::thread::yield_now(),
            }
            spins += 1;
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
        // A job that has panicked is whole all the same: what it moved is counted behind each system call.
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The job ends, even where carrying it out has panicked.
struct Ends<'a>(&'a AtomicU8);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(DONE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn a_job_is_carried_out_once_and_comes_back() {
        let slot = Slot::default();
        assert!(!slot.run(|_: &mut u32| unreachable!()));
        slot.post(7).unwrap();
        assert_eq!(slot.post(8), Err(8));
        assert_eq!(slot.look(), Fate::Waits);
        assert!(slot.run(|job| *job += 1) && !slot.run(|_| unreachable!()));
        assert_eq!(slot.look(), Fate::Done(8));
        assert_eq!((slot.look(), slot.withdraw(), slot.wait()), (Fate::Waits, None, None));
    }

    #[test]
    fn a_job_that_nobody_has_begun_can_be_taken_back() {
        let slot = Slot::default();
        slot.post(7).unwrap();
        assert_eq!(slot.withdraw(), Some(7));
        assert!(!slot.run(|_| unreachable!()));
        slot.post(9).unwrap();
        assert_eq!(slot.wait(), Some(9));
    }

    /// Two threads hand a counter to and fro, withdrawing now and then: each job is carried out or withdrawn, none twice.
    #[test]
    fn no_job_is_lost_or_carried_out_twice() {
        let slot = Arc::new(Slot::<(u64, bool)>::default());
        let ended = Arc::new(AtomicBool::new(false));
        let (theirs, their_end) = (slot.clone(), ended.clone());
        let thread = std::thread::spawn(move || {
            let mut carried_out = 0;
            while !their_end.load(Ordering::Acquire) {
                carried_out += u64::from(theirs.run(|job| *job = (job.0 + 1, true)));
            }
            carried_out
        });
        let mut done = 0;
        for number in 0..100_000 {
            slot.post((number, false)).unwrap();
            let (at, was_run) = match number % 3 {
                0 => slot.withdraw().or_else(|| slot.wait()).unwrap(),
                _ => slot.wait().unwrap(),
            };
            assert_eq!(at, number + u64::from(was_run));
            done += u64::from(was_run);
        }
        ended.store(true, Ordering::Release);
        assert_eq!(thread.join().unwrap(), done);
    }
}
