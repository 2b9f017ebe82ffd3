//! Buffered sends: once its payload has been copied, a send completes before its acknowledgement. A peer that computes
//! acknowledges only when it is back in MPI, and a distant one after a round trip. A program that waits for each of its sends
//! would wait as long.

use super::{Engine, SendKey};
use crate::channel::scheduler::send::Send;
use crate::generational_slab::Key;
use crate::memory::{MemoryAction, Payload, Source};
use crate::time::Instant;

/// Assumed rate of copies, in bytes per nanosecond: a core copies at least as fast out of its cache.
const COPY_RATE: u64 = 4;
/// Bytes of copies, those of injected messages included, beyond which no more are made.
const MAX_COPIED: u64 = 64 << 20;
/// Maximum number of candidates. Further sends complete with their acknowledgement.
const MAX_SENDS: usize = 256;
/// Bytes that are copied in one call, unless one message is longer: nothing else should wait for long.
const MAX_COPIED_AT_ONCE: u64 = 256 << 10;

/// A send that may be buffered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    key: Key<Send>,
    /// When the kernel had taken all of it.
    sent_at: Option<Instant>,
}

impl Engine {
    /// [`Engine::buffer_sends`] may complete this send before it is acknowledged.
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

    /// Completes an injected send, whose payload was copied when it was posted.
    pub fn complete_injected(&mut self, key: SendKey) {
        let send = key.0.and_then(|key| self.sends.get_mut(key)).filter(|send| send.inject);
        self.completions.extend(send.and_then(Send::complete));
    }

    /// Whether [`Engine::buffer_sends`] has candidates.
    pub fn has_buffer_candidates(&self) -> bool {
        !self.buffer_candidates.is_empty()
    }

    /// Copies messages that wait only for their acknowledgement, as they may have to be retransmitted, and completes their sends.
    /// To be called when there is nothing else to do and the kernel has taken all frames. Each message first waits for as long as
    /// its copy would take: so, whenever the acknowledgement comes, the time spent is at most twice that of the best decision in
    /// hindsight. `is_lent` excludes payloads that the driver has lent to the peer. True if any send has completed.
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
