//! Which subchannel carries a message: the policy's choice for the message before, if it still holds, or a new one.

use crate::channel::VirtualChannel;
use crate::time::Instant;

/// A choice is reused for messages that follow within this time, in nanoseconds: most of a policy's inputs change more
/// slowly, and a new choice costs as much as a tenth of a short message.
const CHOICE_LIFETIME_NS: u64 = 100_000;

/// A policy's choice for one message, which is reused for the next ones.
pub struct CachedChoice {
    index: usize,
    /// It is not reused with more bytes in flight than this.
    max_in_flight: u64,
    until: Instant,
}

impl VirtualChannel {
    /// The subchannel that the policy chooses for a message that carries `len` bytes, open or not.
    pub(super) fn choose(&mut self, now: Instant, len: u64) -> Option<usize> {
        self.reuse_choice(now, len).or_else(|| self.ask_policy(now, len))
    }

    fn ask_policy(&mut self, now: Instant, len: u64) -> Option<usize> {
        let views = self.views(now);
        let position = self.multiplex.choose(len, self.pending, &views)?;
        let index = usize::from(self.live[position]);
        let cached_choice =
            |max_in_flight| CachedChoice { index, max_in_flight, until: now.plus_ns(CHOICE_LIFETIME_NS) };
        self.cached_choice = self.multiplex.valid_up_to(position, &views).map(cached_choice);
        Some(index)
    }

    /// The choice for the message before, if it still holds.
    fn reuse_choice(&self, now: Instant, len: u64) -> Option<usize> {
        let cached_choice = self.cached_choice.as_ref().filter(|cached_choice| now < cached_choice.until)?;
        let subchannel = &self.subchannels[cached_choice.index];
        let queued = subchannel.estimate.queued_ahead(now);
        let in_flight = subchannel.estimate.in_flight().max(queued);
        let is_current =
            queued > 0 || self.followed().is_none_or(|followed| usize::from(followed) == cached_choice.index);
        let is_fit = subchannel.budget > 0 && !subchannel.liveness.is_quarantined;
        (is_fit && is_current && in_flight + len <= cached_choice.max_in_flight).then_some(cached_choice.index)
    }
}
