//! Unexpected messages: in order, but no receive was posted for them.

use std::collections::VecDeque;

use crate::envelope::Envelope;
use crate::ids::{Context, VcId};
use crate::request::Pattern;

#[derive(Clone, Copy)]
struct Entry {
    vc: VcId,
    envelope: Envelope,
    message: u64,
}

struct Claim {
    context: Context,
    vc: VcId,
    message: u64,
}

/// Keys of the unexpected messages, in the order in which they came. Bounded by the peers' grants.
#[derive(Default)]
pub struct Unexpected {
    tagged: VecDeque<Entry>,
    untagged: VecDeque<Entry>,
    claimed: Vec<Claim>,
}

impl Unexpected {
    /// Adds a message behind all others.
    pub fn push(&mut self, vc: VcId, envelope: Envelope, message: u64) {
        let queue = match envelope {
            Envelope::Message => &mut self.untagged,
            Envelope::Tagged(_) => &mut self.tagged,
        };
        queue.push_back(Entry { vc, envelope, message });
    }

    /// The oldest message that `pattern` accepts.
    pub fn find(&self, pattern: &Pattern) -> Option<u64> {
        let queue = self.queue(pattern);
        queue.iter().find(|entry| pattern.accepts(entry.vc, entry.envelope)).map(|entry| entry.message)
    }

    /// The oldest message that `pattern` accepts, taken out.
    pub fn take(&mut self, pattern: &Pattern) -> Option<u64> {
        let queue = self.queue(pattern);
        let at = queue.iter().position(|entry| pattern.accepts(entry.vc, entry.envelope))?;
        let queue = if pattern.envelope() == Envelope::Message { &mut self.untagged } else { &mut self.tagged };
        queue.remove(at).map(|entry| entry.message)
    }

    /// Sets a message aside for the claim named `context`.
    pub fn claim(&mut self, context: Context, vc: VcId, message: u64) {
        self.claimed.push(Claim { context, vc, message });
    }

    /// The message set aside under `context`, taken out.
    pub fn take_claimed(&mut self, context: Context) -> Option<u64> {
        let at = self.claimed.iter().position(|claim| claim.context == context)?;
        Some(self.claimed.remove(at).message)
    }

    /// Takes out those messages of `vc` that `gone` accepts.
    pub fn remove_of(&mut self, vc: VcId, mut gone: impl FnMut(u64) -> bool) -> Vec<u64> {
        let mut removed = Vec::new();
        let mut stays = |of: VcId, message: u64| {
            let stays = of != vc || !gone(message);
            if !stays {
                removed.push(message);
            }
            stays
        };
        self.tagged.retain(|entry| stays(entry.vc, entry.message));
        self.untagged.retain(|entry| stays(entry.vc, entry.message));
        self.claimed.retain(|claim| stays(claim.vc, claim.message));
        removed
    }

    fn queue(&self, pattern: &Pattern) -> &VecDeque<Entry> {
        if pattern.envelope() == Envelope::Message { &self.untagged } else { &self.tagged }
    }
}
