//! A peer's atomic operations, until each is applied: in the order in which they were posted, each once, whatever rails they
//! came over.

use std::collections::BTreeMap;

use crate::atomic::Atomic;
use crate::channel::scheduler::atomics::{ATOMIC_WINDOW, charge};
use crate::memory::BounceId;
use crate::request::Remote;
use crate::wire::ReceiveRef;

/// An operation whose turn has not come, or whose operands are still on their way.
#[derive(Clone, Copy, Debug)]
pub struct WaitingAtomic {
    /// The peer's name for it.
    pub operation: ReceiveRef,
    /// Where the array begins.
    pub at: Remote,
    pub what: Atomic,
    /// Buffer of its operands; `None` where the operation has none.
    pub operands: Option<BounceId>,
    /// Whether the operands have arrived whole.
    pub is_complete: bool,
}

impl WaitingAtomic {
    /// One whose operands, if it has any, are still to come.
    pub fn new(operation: ReceiveRef, at: Remote, what: Atomic) -> WaitingAtomic {
        WaitingAtomic { operation, at, what, operands: None, is_complete: false }
    }
}

/// The peer has more operations under way than its window allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyAtomics;

/// The incoming operations of one peer.
#[derive(Debug)]
pub struct IncomingAtomics {
    /// Number of the operation that is applied next: all before it were applied.
    next: u64,
    /// Operations that have come and are not applied, by number.
    waiting: BTreeMap<u64, WaitingAtomic>,
    /// Charges of `waiting`, and of operations whose answers are not sent: the peer counts both as under way.
    unanswered: u64,
    /// Charges of results that the peer has not acknowledged.
    results: u64,
    /// Bound of `unanswered` and of `results`, each.
    window: u64,
}

impl Default for IncomingAtomics {
    /// A window of 0: the peer may have no operations under way.
    fn default() -> IncomingAtomics {
        IncomingAtomics { next: 1, waiting: BTreeMap::new(), unanswered: 0, results: 0, window: 0 }
    }
}

impl IncomingAtomics {
    /// Charges that the operations under way may sum up to.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Adds `more` to the window.
    pub fn widen(&mut self, more: u64) {
        self.window += more;
    }

    /// Whether operation `number` has come before.
    pub fn has(&self, number: u64) -> bool {
        number < self.next || self.waiting.contains_key(&number)
    }

    /// Whether the window allows the new operation `number`.
    pub fn check(&self, number: u64, what: &Atomic) -> Result<(), TooManyAtomics> {
        let is_in_window = number - self.next < ATOMIC_WINDOW / charge(0);
        let is_allowed = is_in_window && self.unanswered + charge(what.operands_len()) <= self.window;
        if is_allowed { Ok(()) } else { Err(TooManyAtomics) }
    }

    /// Adds operation `number`.
    pub fn add(&mut self, number: u64, one: WaitingAtomic) {
        self.unanswered += charge(one.what.operands_len());
        self.waiting.insert(number, one);
    }

    /// The operands of operation `number` have arrived whole.
    pub fn complete(&mut self, number: u64) {
        if let Some(one) = self.waiting.get_mut(&number) {
            one.is_complete = true;
        }
    }

    /// The operands of operation `number` were cut off: it will be retransmitted. Returns their buffer.
    pub fn forget(&mut self, number: u64) -> Option<BounceId> {
        let one = self.waiting.remove(&number)?;
        self.unanswered -= charge(one.what.operands_len());
        one.operands
    }

    /// The operation to apply now, if it has come whole, and the peer has acknowledged enough of the results before it.
    pub fn take_next(&mut self) -> Option<WaitingAtomic> {
        let first = self.waiting.first_entry()?;
        let is_next = *first.key() == self.next && first.get().is_complete;
        let result = first.get().what.result_len();
        if !is_next || (result > 0 && self.results + charge(result) > self.window) {
            return None;
        }
        self.next += 1;
        if result > 0 {
            self.results += charge(result);
        }
        Some(first.remove())
    }

    /// The answer to an operation is sent, or queued as a result.
    pub fn answered(&mut self, what: &Atomic) {
        self.unanswered -= charge(what.operands_len());
    }

    /// A result of `len` bytes is acknowledged, or will not be sent.
    pub fn result_ended(&mut self, len: u64) {
        if len > 0 {
            self.results -= charge(len);
        }
    }

    /// Forgets the waiting operations, as the peer is lost. Returns their buffers.
    pub fn drain(&mut self) -> Vec<BounceId> {
        std::mem::take(&mut self.waiting).into_values().filter_map(|one| one.operands).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::{AtomicOperation, Datatype};

    /// Of a peer that may have as many as the protocol allows.
    fn none() -> IncomingAtomics {
        let mut none = IncomingAtomics::default();
        none.widen(ATOMIC_WINDOW);
        none
    }

    fn one(count: u32) -> WaitingAtomic {
        let what = Atomic::new(AtomicOperation::Sum, Datatype::Uint64, true, count).unwrap();
        let atomic = WaitingAtomic::new(ReceiveRef(1), Remote { key: 0, address: 0 }, what);
        WaitingAtomic { operands: Some(BounceId(count)), ..atomic }
    }

    #[test]
    fn they_are_applied_in_order_and_each_once() {
        let mut all = none();
        for number in [2, 1, 3] {
            assert!(!all.has(number));
            all.check(number, &one(1).what).unwrap();
            all.add(number, one(number as u32));
            assert!(all.has(number));
        }
        let mut take = |complete| {
            all.complete(complete);
            std::iter::from_fn(|| all.take_next()).map(|one| one.what.count()).collect::<Vec<_>>()
        };
        assert_eq!((take(2), take(1), take(3)), (vec![], vec![1, 2], vec![3]));
        assert!((1..=3).all(|number| all.has(number)) && !all.has(4));
    }

    #[test]
    fn operands_that_were_cut_off_come_again() {
        let mut all = none();
        all.add(1, one(7));
        assert_eq!(all.forget(1), Some(BounceId(7)));
        assert!(!all.has(1));
        all.add(1, one(8));
        assert_eq!(all.drain(), [BounceId(8)]);
    }

    #[test]
    fn a_peer_that_has_too_many_under_way_is_seen() {
        let mut all = none();
        let most = ATOMIC_WINDOW / charge(8192);
        for number in 1..=most {
            assert_eq!(all.check(number, &one(1024).what), Ok(()));
            all.add(number, one(1024));
        }
        assert_eq!(all.check(most + 1, &one(1024).what), Err(TooManyAtomics));
        assert_eq!(none().check(u64::MAX, &one(1).what), Err(TooManyAtomics));
    }

    #[test]
    fn results_that_nobody_acknowledges_hold_the_next_ones_up() {
        let mut all = none();
        let most = ATOMIC_WINDOW / charge(8192);
        for number in 1..=most + 1 {
            all.add(number, one(1024));
            all.complete(number);
            assert_eq!(all.take_next().is_some(), number <= most);
            if number <= most {
                all.answered(&one(1024).what);
            }
        }
        all.result_ended(8192);
        assert!(all.take_next().is_some());
    }
}
