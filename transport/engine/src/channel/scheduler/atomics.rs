//! Atomic operations in the scheduler: this side's operations, the window of those under way, and answers to the peer's. Both
//! ends count charges alike: [`charge`] and [`ATOMIC_WINDOW`] belong to the wire format.

use std::collections::VecDeque;

use super::send::Send;
use crate::atomic::Atomic;
use crate::channel::transmit::Transmit;
use crate::channel::{CreditReturn, Reply, VirtualChannel};
use crate::generational_slab::{GenerationalSlab, Key};
use crate::time::Instant;
use crate::wire::{Access, Body, ReceiveRef, Refusal};

/// Maximum sum of charges of operations that a peer has not answered: the memory that it may need for them. 8192 operations of
/// 8 bytes or less, enough for 80 million a second at a round trip of 100 us.
pub const ATOMIC_WINDOW: u64 = 1 << 20;

/// Charge of an operation beside its operands or its result, in bytes: the size of its record.
const RECORD: u64 = 128;

/// The charge of an operation with `bytes` of operands, or of a result of `bytes`.
pub const fn charge(bytes: u64) -> u64 {
    RECORD + bytes
}

/// This side's operations, until they are answered.
#[derive(Debug, Default)]
pub struct OutgoingAtomics {
    /// Keys of sends that wait, in order.
    pub queue: VecDeque<Key<Send>>,
    /// Number of the operation posted last.
    posted: u64,
    /// Number of the operation sent last: they are sent in order.
    sent: u64,
    /// Charges of operations that were sent and are not answered.
    unanswered: u64,
}

impl OutgoingAtomics {
    /// An operation is posted. Returns its number.
    pub fn post(&mut self) -> u64 {
        self.posted += 1;
        self.posted
    }

    /// Whether the window allows an operation with this number of bytes of operands.
    pub fn may_send(&self, operands: u64) -> bool {
        self.unanswered + charge(operands) <= ATOMIC_WINDOW
    }

    /// The oldest waiting operation is sent. Returns its number.
    pub fn sent(&mut self, operands: u64) -> u64 {
        self.unanswered += charge(operands);
        self.sent += 1;
        self.sent
    }

    /// Whether operation `number` was sent: only then can the peer answer it.
    pub fn was_sent(&self, number: u64) -> bool {
        number <= self.sent
    }

    /// The peer has answered an operation. True if others may have waited for the window.
    pub fn answered(&mut self, operands: u64) -> bool {
        self.unanswered -= charge(operands);
        !self.queue.is_empty()
    }
}

impl VirtualChannel {
    /// Queues an atomic operation.
    pub fn enqueue_atomic(&mut self, send: Key<Send>) {
        self.remote().atomics.queue.push_back(send);
    }

    /// Queues the answer to an operation of the peer that has no result, or is refused.
    pub fn answer_atomic(&mut self, operation: ReceiveRef, what: Atomic, refusal: Option<Refusal>) {
        let body = match refusal {
            Some(why) => Body::Refused { what: Access::Read(operation), why },
            None => Body::Applied { operation },
        };
        self.replies.push_back(Reply { body, credit_return: CreditReturn::Atomic(what) });
    }

    /// The frame of the oldest waiting operation. Operations are numbered in the order of sending, whatever subchannel they go over,
    /// and applied in that order.
    pub(super) fn queued_atomic(&mut self, now: Instant, sends: &mut GenerationalSlab<Send>) -> Option<Transmit> {
        loop {
            let atomics = &mut self.remote.as_mut()?.atomics;
            let key = *atomics.queue.front()?;
            let Some(send) = sends.get(key) else {
                atomics.queue.pop_front();
                continue;
            };
            let len = send.len();
            if !atomics.may_send(len) {
                return None;
            }
            let index = self.earliest(now, len)?;
            self.remote().atomics.queue.pop_front();
            return self.message(now, index, key, sends);
        }
    }
}
