//! Jobs that go to another thread and back. (`tests/handover.rs` tries all orders of what two threads do.)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::slot::{Fate, Slot};

#[test]
fn a_job_is_carried_out_once_and_comes_back() {
    let slot = Slot::default();
    assert!(!slot.run(|_: &mut u32| unreachable!()));
    slot.post(7).unwrap();
    assert_eq!(slot.post(8), Err(8));
    assert_eq!(slot.try_take(), Fate::Waits);
    assert!(slot.run(|job| *job += 1) && !slot.run(|_| unreachable!()));
    assert_eq!(slot.try_take(), Fate::Done(8));
    assert_eq!((slot.try_take(), slot.withdraw(), slot.wait()), (Fate::Waits, None, None));
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
