//! Replies in the scheduler: CTS frames, refusals of reads, answers to atomic operations, credit that is given back.

use crate::channel::flow_control::MESSAGE_CHARGE;
use crate::channel::subchannel::FrameOwner;
use crate::channel::transmit::{NO_PAYLOAD, Transmit};
use crate::channel::{CreditReturn, Reply, VirtualChannel};
use crate::time::Instant;
use crate::wire::Body;

/// While so many frames to a peer are not acknowledged, it gets no replies: each is kept until it is, and a peer that reads and
/// never acknowledges must not have them pile up (10 MiB). What waits is bounded by what the peer is charged for it. (Refusals of
/// writes do not wait: nothing is acknowledged before them, so that two peers could wait for each other.)
const MOST_UNACKNOWLEDGED: usize = 1 << 16;

impl VirtualChannel {
    /// The oldest reply: a CTS, the refusal of a read, or the answer to an atomic operation.
    pub(super) fn reply(&mut self, now: Instant) -> Option<Transmit> {
        self.replies.front()?;
        if self.has_many_unacknowledged() {
            return None;
        }
        let index = self.nearest(now)?;
        let Reply { body, credit_return } = self.replies.pop_front()?;
        // Not earlier: replies that wait are memory, for which the peer is charged.
        match credit_return {
            CreditReturn::RequestToSend => self.peer_grant.release_request(),
            CreditReturn::Message => self.peer_grant.release_eager(MESSAGE_CHARGE),
            CreditReturn::Atomic(what) => self.remote().incoming_atomics.answered(&what),
            CreditReturn::Nothing => {}
        }
        Some(self.frame(now, index, body, NO_PAYLOAD, FrameOwner::Control))
    }

    /// The return of idle credit.
    pub(super) fn relinquishment(&mut self, now: Instant) -> Option<Transmit> {
        self.surplus.to_relinquish?;
        let index = self.nearest(now)?;
        let total = self.surplus.to_relinquish.take()?;
        Some(self.frame(now, index, Body::Relinquish { total }, NO_PAYLOAD, FrameOwner::Control))
    }

    /// Whether replies wait for acknowledgements.
    pub fn replies_wait(&self) -> bool {
        !self.replies.is_empty() && self.has_many_unacknowledged()
    }

    fn has_many_unacknowledged(&self) -> bool {
        self.subchannels.iter().map(|subchannel| subchannel.in_flight()).sum::<usize>() >= MOST_UNACKNOWLEDGED
    }
}
