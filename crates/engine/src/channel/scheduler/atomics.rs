//! Atomic operations in the scheduler: this side's, and answers to the peer's.

use super::send::Send;
use crate::atomic::Atomic;
use crate::channel::transmit::Transmit;
use crate::channel::{CreditReturn, Reply, VirtualChannel};
use crate::generational_slab::{GenerationalSlab, Key};
use crate::time::Instant;
use crate::wire::{Access, Body, ReceiveRef, Refusal};

impl VirtualChannel {
    /// Queues an atomic operation.
    pub fn enqueue_atomic(&mut self, send: Key<Send>) {
        self.remote.atomics.queue.push_back(send);
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
            let key = *self.remote.atomics.queue.front()?;
            let Some(send) = sends.get(key) else {
                self.remote.atomics.queue.pop_front();
                continue;
            };
            let len = send.len();
            if !self.remote.atomics.may_send(len) {
                return None;
            }
            let index = self.earliest(now, len)?;
            self.remote.atomics.queue.pop_front();
            return self.message(now, index, key, sends);
        }
    }
}
