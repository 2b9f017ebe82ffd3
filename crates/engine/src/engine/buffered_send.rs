//! Buffered sends: once the payload has been copied, a send completes before its acknowledgement. A peer that computes
//! acknowledges when it is back in MPI, and a distant one after a round trip; a program that waits for each of its sends
//! would wait for that.

use super::{Engine, SendKey};
use crate::channel::scheduler::send::Send;
use crate::generational_slab::Key;
use crate::memory::{MemoryAction, Payload, Source};
use crate::time::Instant;

/// Bytes that are copied per nanosecond, or more: what one core of a present machine copies out of its cache.
const COPY_RATE: u64 = 4;
/// No more copies are made when they hold so many bytes, those of injected messages included.
const MAX_COPIED: u64 = 64 << 20;
/// Most candidates. More sends may be in flight: they complete with their acknowledgement.
const MAX_SENDS: usize = 256;
/// Bytes that are copied in one call (or one message): nothing else should wait for long.
const MAX_COPIED_AT_ONCE: u64 = 256 << 10;

/// A send that may be buffered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    key: Key<Send>,
    /// Since when the kernel has all of it.
    sent_at: Option<Instant>,
}

impl Engine {
    /// The user need not wait until a send is acknowledged: [`Engine::buffer_sends`] may end it before.
    pub fn offer_for_buffering(&mut self, key: SendKey) {
        if self.buffer_candidates.len() == MAX_SENDS {
            self.buffer_candidates.retain(|candidate| self.sends.get(candidate.key).is_some());
        }
        let is_candidate = |send: &Send| send.wants_completion() && !send.inject && send.len() > 0;
        if self.buffer_candidates.len() < MAX_SENDS
            && let Some(key) = key.0.filter(|key| self.sends.get(*key).is_some_and(is_candidate))
        {
            self.buffer_candidates.push(Candidate { key, sent_at: None });
        }
    }

    /// The same of an injected send, whose user has the memory back already: it completes.
    pub fn complete_injected(&mut self, key: SendKey) {
        let send = key.0.and_then(|key| self.sends.get_mut(key)).filter(|send| send.inject);
        self.completions.extend(send.and_then(Send::complete));
    }

    /// Whether there is anything for [`Engine::buffer_sends`].
    pub fn has_buffer_candidates(&self) -> bool {
        !self.buffer_candidates.is_empty()
    }

    /// To be called when there is nothing else to do, and the kernel has all frames: messages that wait only for their
    /// acknowledgement are copied, as they may have to be retransmitted, and their sends complete. Each first waits as
    /// long as its copy would take: so, whenever the acknowledgement comes, the time spent is at most twice that of the
    /// best decision in hindsight. Not those whose memory the driver has lent to the peer. True if any have completed.
    pub fn buffer_sends(&mut self, now: Instant, is_lent: impl Fn(&Payload) -> bool) -> bool {
        let (mut copied, mut next) = (0, None);
        let mut buffer_candidates = std::mem::take(&mut self.buffer_candidates);
        buffer_candidates.retain_mut(|candidate| {
            let Some(send) = self.sends.get(candidate.key) else { return false };
            let len = send.len();
            if !send.is_fully_sent() {
                return true;
            }
            let due = candidate.sent_at.get_or_insert(now).plus_ns(len / COPY_RATE);
            if due > now {
                next = Some(next.map_or(due, |earlier: Instant| earlier.min(due)));
            }
            let must_wait = due > now || copied >= MAX_COPIED_AT_ONCE || self.injected + len > MAX_COPIED;
            if must_wait || matches!(&send.source, Source::User(payload) if is_lent(payload)) {
                return true;
            }
            copied += len;
            self.complete_early(candidate.key);
            false
        });
        self.buffer_candidates = buffer_candidates;
        next.into_iter().for_each(|due| self.schedule_timeout(due));
        copied > 0
    }

    fn complete_early(&mut self, key: Key<Send>) {
        let Some(Source::User(payload)) = self.sends.get(key).map(|send| send.source.clone()) else { return };
        let copy = self.detach(SendKey(Some(key)));
        self.actions.extend(copy);
        self.actions.push_back(MemoryAction::Detach(payload));
        let completion = self.sends.get_mut(key).and_then(Send::complete);
        self.completions.extend(completion);
    }
}
