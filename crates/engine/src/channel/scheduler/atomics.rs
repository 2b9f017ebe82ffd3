//! Atomic operations in the scheduler: this side's, how many of them are under way, and answers to the peer's. Both ends count
//! alike how many are: it belongs to the wire format.

use std::collections::VecDeque;

use super::send::Send;
use crate::atomic::Atomic;
use crate::channel::transmit::Transmit;
use crate::channel::{CreditReturn, Reply, VirtualChannel};
use crate::generational_slab::{GenerationalSlab, Key};
use crate::time::Instant;
use crate::wire::{Access, Body, ReceiveRef, Refusal};

/// Charges of operations to one peer that it has not answered, at most: what the peer has to keep of them. 8192 of 8 bytes or
/// less, which is enough for 80 million a second at a round trip of 100 us.
pub const ATOMIC_WINDOW: u64 = 1 << 20;

/// What an operation is charged beside its operands, or its result: what its record takes.
const RECORD: u64 = 128;

/// The charge of an operation with so many bytes of operands, or of a result.
pub const fn charge(bytes: u64) -> u64 {
    RECORD + bytes
}

/// This side's operations, until they are answered.
#[derive(Debug, Default)]
pub struct OutgoingAtomics {
    /// Keys of sends that wait, in order.
    pub queue: VecDeque<Key<Send>>,
    /// Number of the last one that was posted.
    posted: u64,
    /// Number of the last one that was sent: they are sent in order.
    sent: u64,
    /// Charges of those that were sent and are not answered.
    unanswered: u64,
}

impl OutgoingAtomics {
    /// One is posted. Its number.
    pub fn post(&mut self) -> u64 {
        self.posted += 1;
        self.posted
    }

    /// Whether one with so many bytes of operands may be sent.
    pub fn may_send(&self, operands: u64) -> bool {
        self.unanswered + charge(operands) <= ATOMIC_WINDOW
    }

    /// The oldest one that waits is sent. Its number.
    pub fn sent(&mut self, operands: u64) -> u64 {
        self.unanswered += charge(operands);
        self.sent += 1;
        self.sent
    }

    /// Whether the one of that number was sent: only then the peer can answer it.
    pub fn was_sent(&self, number: u64) -> bool {
        number <= self.sent
    }

    /// The peer has answered it. True if others may wait for that.
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

    /// Queues the answer to an operation of the peer's without a result, or that is refused.
    pub fn answer_atomic(&mut self, operation: ReceiveRef, what: Atomic, refusal: Option<Refusal>) {
        let body = match refusal {
            Some(why) => Body::Refused { what: Access::Read(operation), why },
            None => Body::Applied { operation },
        };
        self.replies.push_back(Reply { body, credit_return: CreditReturn::Atomic(what) });
    }

    /// The oldest operation that waits. Numbers are given in order, whatever they go over: that is the order in which they
    /// are applied.
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
