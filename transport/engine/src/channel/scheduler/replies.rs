//! Replies in the scheduler: CTS frames, refusals of reads, answers to atomic operations, credit that is given back.

use crate::channel::flow_control::MESSAGE_CHARGE;
use crate::channel::subchannel::FrameOwner;
use crate::channel::transmit::{NO_PAYLOAD, Transmit};
use crate::channel::{CreditReturn, Reply, VirtualChannel};
use crate::time::Instant;
use crate::wire::Body;

/// Number of unacknowledged frames to a peer beyond which it gets no replies. Each is kept until it is acknowledged, so a peer
/// that never acknowledges could make them pile up (10 MiB). The peer is charged for replies that wait. (Refusals of writes do
/// not wait: no acknowledgement is sent before them, so that two peers could wait for each other.)
const MAX_UNACKNOWLEDGED: usize = 1 << 16;

impl VirtualChannel {
    /// The oldest reply: a CTS, the refusal of a read, or the answer to an atomic operation.
    pub(super) fn reply(&mut self, now: Instant) -> Option<Transmit> {
        self.replies.front()?;
        if self.has_many_unacknowledged() {
            return None;
        }
        let index = self.nearest(now)?;
        let Reply { body, credit_return } = self.replies.pop_front()?;
        // Not earlier: a waiting reply takes memory, for which the peer is charged.
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

    /// Whether replies wait because too many frames are unacknowledged.
    pub fn replies_wait(&self) -> bool {
        !self.replies.is_empty() && self.has_many_unacknowledged()
    }

    fn has_many_unacknowledged(&self) -> bool {
        self.subchannels.iter().map(|subchannel| subchannel.in_flight()).sum::<usize>() >= MAX_UNACKNOWLEDGED
    }
}
