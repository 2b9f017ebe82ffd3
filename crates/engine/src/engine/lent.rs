//! Sends whose memory the user gets back before the acknowledgement. That takes a round trip: over a distance, a program
//! that waits for each of its sends would send one message in that time.

use super::{Engine, SendKey};
use crate::channel::send::{Send, Source};
use crate::ids::VcId;
use crate::memory::MemoryAction;

/// Bytes that are copied per nanosecond at least: a copy takes no longer than the acknowledgement.
const COPY_RATE: u64 = 2;
/// Bytes of copies, those of injected messages included, up to which more are made.
const MOST_COPIED: u64 = 64 << 20;
/// Sends of which this is kept in mind. More may be under way: they complete with their acknowledgement.
const MOST_SENDS: usize = 256;
/// Bytes that are copied in one call, or one message: nothing else is to wait for long.
const AT_A_TIME: u64 = 256 << 10;

impl Engine {
    /// Whether the acknowledgement of a message of `len` bytes takes longer than a copy of it.
    pub fn is_worth_lending(&self, vc: VcId, len: u64) -> bool {
        let channel = &self.vcs[vc.0 as usize];
        channel.is_far() && len <= channel.min_rtt_ns() * COPY_RATE
    }

    /// The user need not wait until a send is acknowledged: [`Engine::give_back`] may end it before.
    pub fn lend(&mut self, key: SendKey) {
        if self.lent.len() == MOST_SENDS {
            self.lent.retain(|key| self.sends.get(*key).is_some());
        }
        let is_lent = |send: &Send| send.is_awaited() && !send.inject && send.len() > 0;
        if self.lent.len() < MOST_SENDS && self.sends.get(key.0).is_some_and(is_lent) {
            self.lent.push(key.0);
        }
    }

    /// Whether there is anything for [`Engine::give_back`].
    pub fn has_lent(&self) -> bool {
        !self.lent.is_empty()
    }

    /// There is nothing else to do: messages that were lent, and have been handed out, are copied, as they may have to be
    /// sent again, and their sends complete. True if that were any.
    pub fn give_back(&mut self) -> bool {
        let mut copied = 0;
        let mut lent = std::mem::take(&mut self.lent);
        lent.retain(|key| {
            let Some(send) = self.sends.get(*key) else { return false };
            let len = send.len();
            let waits = copied >= AT_A_TIME || !send.is_handed_out() || self.injected + len > MOST_COPIED;
            if !waits {
                copied += len;
                self.end_early(SendKey(*key));
            }
            waits
        });
        self.lent = lent;
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
