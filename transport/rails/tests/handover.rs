//! All orders in which a job can go to a transfer thread and back, tried one by one: it is carried out once or not at all, comes
//! back, and nobody waits for ever.

mod sync {
    pub use loom::sync::atomic::{AtomicU8, Ordering};
    pub use loom::sync::{Mutex, MutexGuard};
    pub use std::sync::PoisonError;

    pub fn pause(_rounds: u32) {
        loom::thread::yield_now();
    }
}

#[path = "../src/transfer/slot.rs"]
mod slot;

use loom::sync::Arc;
use loom::thread;
use slot::{Fate, Slot};

/// A job that counts how often it was carried out.
#[derive(Debug, PartialEq, Eq)]
struct Job(u32);

/// Posts a job while another thread polls for one `polls` times, and gets it back as `get_back` does.
fn in_all_orders(polls: u32, get_back: impl Fn(&Slot<Job>) -> Job + Send + Sync + 'static) {
    loom::model(move || {
        let slot = Arc::new(Slot::default());
        let theirs = slot.clone();
        let thread =
            thread::spawn(move || (0..polls).filter(|_| theirs.run(|job: &mut Job| job.0 += 1)).count() as u32);
        slot.post(Job(0)).unwrap();
        let Job(times) = get_back(&slot);
        assert_eq!(thread.join().unwrap(), times);
        assert!(times <= 1 && slot.post(Job(0)).is_ok(), "there is room for the next");
    });
}

#[test]
fn a_job_that_is_waited_for_comes_back() {
    in_all_orders(2, |slot| slot.wait().unwrap());
}

#[test]
fn a_job_that_is_withdrawn_is_not_carried_out_any_more() {
    in_all_orders(2, |slot| slot.withdraw().or_else(|| slot.wait()).unwrap());
}

#[test]
fn a_job_that_is_looked_for_comes_back_once() {
    in_all_orders(1, |slot| match slot.try_take() {
        Fate::Done(job) => job,
        Fate::Runs | Fate::Waits => slot.wait().unwrap(),
    });
}

/// The second job waits until the first is back.
#[test]
fn two_jobs_in_a_row_are_carried_out_one_behind_the_other() {
    loom::model(|| {
        let slot = Arc::new(Slot::default());
        let theirs = slot.clone();
        let thread = thread::spawn(move || (0..2).filter(|_| theirs.run(|job: &mut Job| job.0 += 1)).count() as u32);
        slot.post(Job(0)).unwrap();
        assert_eq!(slot.post(Job(7)), Err(Job(7)));
        let first = slot.wait().unwrap();
        slot.post(Job(0)).unwrap();
        let second = slot.wait().unwrap();
        assert_eq!(thread.join().unwrap(), first.0 + second.0);
    });
}
