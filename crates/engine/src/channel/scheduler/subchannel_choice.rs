//! Which subchannel carries a message: what the policy chose for the one before, or chooses now.

use crate::channel::VirtualChannel;
use crate::time::Instant;

/// A choice of a subchannel stands for messages that follow within this time, in nanoseconds: most of what a policy looks at
/// changes more slowly, and looking costs as much as a tenth of a short message.
const CHOICE_STANDS_NS: u64 = 100_000;

/// A policy's choice for one message, which stands for the next ones.
pub struct Choice {
    index: usize,
    /// More than so many bytes in flight over it are reason to ask again.
    most_in_flight: u64,
    until: Instant,
}

impl VirtualChannel {
    /// The subchannel that the policy chooses for a message that carries `len` bytes, open or not.
    pub(super) fn choose(&mut self, now: Instant, len: u64) -> Option<usize> {
        self.standing_choice(now, len).or_else(|| self.choose_anew(now, len))
    }

    fn choose_anew(&mut self, now: Instant, len: u64) -> Option<usize> {
        let views = self.views(now);
        let position = self.multiplex.choose(len, self.pending, &views)?;
        let index = usize::from(self.live[position]);
        let choice = |most_in_flight| Choice { index, most_in_flight, until: now.plus_ns(CHOICE_STANDS_NS) };
        self.choice = self.multiplex.stands_up_to(position, &views).map(choice);
        Some(index)
    }

    /// What was chosen for the message before, if that would be chosen again.
    fn standing_choice(&self, now: Instant, len: u64) -> Option<usize> {
        let choice = self.choice.as_ref().filter(|choice| now < choice.until)?;
        let subchannel = &self.subchannels[choice.index];
        let in_flight = subchannel.estimate.in_flight();
        let is_heard = self.heard.map(usize::from) == Some(choice.index) || subchannel.estimate.under_way(now) > 0;
        let is_fit = subchannel.budget > 0 && !subchannel.watch.is_doubted;
        (is_fit && is_heard && in_flight + len <= choice.most_in_flight).then_some(choice.index)
    }
}
