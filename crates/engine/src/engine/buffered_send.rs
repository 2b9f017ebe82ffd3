//! Buffered sends: the user gets the memory back before the acknowledgement, once it has been copied. A peer that computes
//! acknowledges when it is back in MPI, and a distant one after a round trip; a program that waits for each of its sends
//! would wait for that.

use super::{Engine, SendKey};
use crate::channel::scheduler::send::Send;
use crate::channel::transmit::Source;
use crate::memory::MemoryAction;
use crate::time::Instant;

/// Bytes that are copied per nanosecond, or more: what one core of a present machine copies out of its cache.
const COPY_RATE: u64 = 4;
/// Bytes of copies, those of injected messages included, up to which more are made.
const MOST_COPIED: u64 = 64 << 20;
/// Sends of which this is kept in mind. More may be under way: they complete with their acknowledgement.
const MOST_SENDS: usize = 256;
/// Bytes that are copied in one call, or one message: nothing else is to wait for long.
const AT_A_TIME: u64 = 256 << 10;

/// A send that may be buffered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    key: u64,
    /// Since when the kernel has all of it.
    sent_at: Option<Instant>,
}

impl Engine {
    /// The user need not wait until a send is acknowledged: [`Engine::buffer`] may end it before.
    pub fn may_buffer(&mut self, key: SendKey) {
        if self.candidates.len() == MOST_SENDS {
            self.candidates.retain(|candidate| self.sends.get(candidate.key).is_some());
        }
        let is_candidate = |send: &Send| send.is_awaited() && !send.inject && send.len() > 0;
        if self.candidates.len() < MOST_SENDS && self.sends.get(key.0).is_some_and(is_candidate) {
            self.candidates.push(Candidate { key: key.0, sent_at: None });
        }
    }

    /// Whether there is anything for [`Engine::buffer`].
    pub fn may_complete_early(&self) -> bool {
        !self.candidates.is_empty()
    }

    /// There is nothing else to do, and the driver has handed all that it was given to the kernel: messages that wait only for
    /// their acknowledgement are copied, as they may have to be sent again, and their sends complete. Each waits for as long
    /// as its copy takes first: so whether the acknowledgement is near or far, no more than twice the time is spent that
    /// whoever knew would have spent. True if any have completed.
    pub fn buffer(&mut self, now: Instant) -> bool {
        let (mut copied, mut next) = (0, None);
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.retain_mut(|candidate| {
            let Some(send) = self.sends.get(candidate.key) else { return false };
            let len = send.len();
            if !send.is_handed_out() {
                return true;
            }
            let due = candidate.sent_at.get_or_insert(now).plus_ns(len / COPY_RATE);
            if due > now {
                next = Some(next.map_or(due, |earlier: Instant| earlier.min(due)));
            }
            if due > now || copied >= AT_A_TIME || self.injected + len > MOST_COPIED {
                return true;
            }
            copied += len;
            self.end_early(SendKey(candidate.key));
            false
        });
        self.candidates = candidates;
        next.into_iter().for_each(|due| self.hasten(due));
        copied > 0
    }

    fn end_early(&mut self, key: SendKey) {
        let Some(Source::User(payload)) = self.sends.get(key.0).map(|send| send.source.clone()) else { return };
        self.detach(key);
        self.actions.push_back(MemoryAction::Detach(payload));
        let completion = self.sends.get_mut(key.0).and_then(Send::complete);
        self.completions.extend(completion);
    }
}
