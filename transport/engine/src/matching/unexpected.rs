//! Unexpected messages: next in order when they came, but no receive was posted for them.

use arrayvec::ArrayVec;
use slab::Slab;

use super::chains::{Chains, List, hash};
use super::class::Class;
use super::unmatched::UnmatchedMessage;
use crate::envelope::Envelope;
use crate::generational_slab::{GenerationalSlab, Key};
use crate::ids::{Context, VcId};
use crate::request::Pattern;

/// Classes that are indexed at once, at most: each costs some bytes a message. MPI libraries use two for messages of one sender
/// and of any, and two for probes of any tag.
const MAX_INDICES: usize = 4;

/// The unexpected messages, by their slots in the engine's table. Bounded by the peers' grants.
#[derive(Default)]
pub struct Unexpected {
    tagged: Queue,
    untagged: Queue,
    claims: Claims,
}

type Messages = GenerationalSlab<UnmatchedMessage>;

/// The messages of one matching space.
#[derive(Default)]
struct Queue {
    in_order: List,
    /// The first `indices_used` have all messages; the others are empty, and kept for their memory.
    indices: ArrayVec<Index, MAX_INDICES>,
    indices_used: usize,
}

/// All messages, by their hash in a class.
struct Index {
    class: Class,
    chains: Chains,
}

impl Index {
    fn push(&mut self, slot: u32, message: &UnmatchedMessage) {
        self.chains.push(slot, self.class.hash(message.vc, message.envelope.tag()));
    }
}

impl Queue {
    #[inline]
    fn push(&mut self, slot: u32, message: &UnmatchedMessage) {
        self.in_order.push(slot);
        for index in &mut self.indices[..self.indices_used] {
            index.push(slot, message);
        }
    }

    #[inline]
    fn remove(&mut self, slot: u32) {
        self.in_order.remove(slot);
        for index in &mut self.indices[..self.indices_used] {
            index.chains.remove(slot);
        }
        if self.in_order.is_empty() {
            self.indices_used = 0;
        }
    }

    /// The slot of the oldest message that `pattern` accepts.
    #[inline]
    fn find(&mut self, pattern: &Pattern, messages: &Messages) -> Option<u32> {
        if self.in_order.is_empty() {
            return None;
        }
        if self.indices_used == 0
            && let Ok(found) = self.in_order.search(|slot| accepts(pattern, slot, messages))
        {
            return found;
        }
        self.find_indexed(pattern, messages)
    }

    #[inline(never)]
    fn find_indexed(&mut self, pattern: &Pattern, messages: &Messages) -> Option<u32> {
        match self.index(Class::of(pattern), messages) {
            Some(index) => index.chains.find(index.class.hash_of(pattern), |slot| accepts(pattern, slot, messages)),
            None => self.in_order.iter().find(|slot| accepts(pattern, *slot, messages)),
        }
    }

    /// The index of a class, made if there is room for it.
    fn index(&mut self, class: Class, messages: &Messages) -> Option<&Index> {
        let known = self.indices[..self.indices_used].iter().position(|index| index.class == class);
        if let Some(known) = known {
            return self.indices.get(known);
        }
        if self.indices_used == self.indices.len() {
            self.indices.try_push(Index { class, chains: Chains::default() }).ok()?;
        }
        let index = &mut self.indices[self.indices_used];
        self.indices_used += 1;
        index.class = class;
        for slot in self.in_order.iter() {
            messages.at(slot).into_iter().for_each(|(_, message)| index.push(slot, message));
        }
        Some(index)
    }
}

#[inline]
fn accepts(pattern: &Pattern, slot: u32, messages: &Messages) -> bool {
    messages.at(slot).is_some_and(|(_, message)| pattern.accepts(message.vc, message.envelope))
}

impl Unexpected {
    /// Adds the message with this key behind all others.
    #[inline]
    pub fn push(&mut self, key: Key<UnmatchedMessage>, message: &UnmatchedMessage) {
        self.queue(message.envelope).push(key.slot(), message);
    }

    /// The key of the oldest message that `pattern` accepts.
    #[inline]
    pub fn find(&mut self, pattern: &Pattern, messages: &Messages) -> Option<Key<UnmatchedMessage>> {
        let slot = self.queue(pattern.envelope()).find(pattern, messages)?;
        messages.at(slot).map(|(key, _)| key)
    }

    /// Removes the oldest message that `pattern` accepts, and returns its key.
    #[inline]
    pub fn take(&mut self, pattern: &Pattern, messages: &Messages) -> Option<Key<UnmatchedMessage>> {
        let queue = self.queue(pattern.envelope());
        let slot = queue.find(pattern, messages)?;
        queue.remove(slot);
        messages.at(slot).map(|(key, _)| key)
    }

    /// Keeps a removed message for the claim `context`.
    pub fn claim(&mut self, context: Context, vc: VcId, message: Key<UnmatchedMessage>) {
        self.claims.add(Claim { context, vc, message });
    }

    /// Removes the message claimed under `context`, and returns its key.
    pub fn take_claimed(&mut self, context: Context) -> Option<Key<UnmatchedMessage>> {
        self.claims.take(context)
    }

    /// Likewise for the claim of any context.
    pub fn take_any_claimed(&mut self) -> Option<Key<UnmatchedMessage>> {
        let (_, claim) = self.claims.table.iter().next()?;
        self.claims.take(claim.context)
    }

    /// Removes the messages of `vc` that `gone` accepts, and returns their keys.
    pub fn remove_of(
        &mut self,
        vc: VcId,
        messages: &Messages,
        mut gone: impl FnMut(Key<UnmatchedMessage>) -> bool,
    ) -> Vec<Key<UnmatchedMessage>> {
        let mut removed = Vec::new();
        for queue in [&mut self.tagged, &mut self.untagged] {
            let of_vc = |slot| messages.at(slot).filter(|(_, message)| message.vc == vc).map(|(key, _)| key);
            let keys: Vec<Key<UnmatchedMessage>> =
                queue.in_order.iter().filter_map(of_vc).filter(|key| gone(*key)).collect();
            keys.iter().for_each(|key| queue.remove(key.slot()));
            removed.extend(keys);
        }
        removed.extend(self.claims.remove_of(vc, gone));
        removed
    }

    #[inline]
    fn queue(&mut self, envelope: Envelope) -> &mut Queue {
        match envelope {
            Envelope::Message => &mut self.untagged,
            Envelope::Tagged(_) => &mut self.tagged,
        }
    }
}

#[derive(Clone, Copy)]
struct Claim {
    context: Context,
    vc: VcId,
    message: Key<UnmatchedMessage>,
}

/// Messages that a peek has claimed, by the context of the peek.
#[derive(Default)]
struct Claims {
    table: Slab<Claim>,
    by_context: Chains,
}

impl Claims {
    fn add(&mut self, claim: Claim) {
        let slot = self.table.insert(claim);
        self.by_context.push(slot as u32, hash(claim.context.0));
    }

    fn take(&mut self, context: Context) -> Option<Key<UnmatchedMessage>> {
        let slot = self.by_context.find(hash(context.0), |slot| self.table[slot as usize].context == context)?;
        self.by_context.remove(slot);
        Some(self.table.remove(slot as usize).message)
    }

    fn remove_of(
        &mut self,
        vc: VcId,
        mut gone: impl FnMut(Key<UnmatchedMessage>) -> bool,
    ) -> Vec<Key<UnmatchedMessage>> {
        let is_gone = |(_, claim): &(usize, &Claim)| claim.vc == vc && gone(claim.message);
        let slots: Vec<usize> = self.table.iter().filter(is_gone).map(|(slot, _)| slot).collect();
        let remove = |slot: usize| {
            self.by_context.remove(slot as u32);
            self.table.remove(slot).message
        };
        slots.into_iter().map(remove).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::chains::BYTES_AN_ENTRY;
    use super::*;
    use crate::channel::flow_control::MESSAGE_CHARGE;

    /// An index has at most two chains an entry, of 8 bytes.
    #[test]
    fn a_message_takes_what_it_is_charged_and_no_more_again_for_all_indices() {
        let record = (size_of::<UnmatchedMessage>() + 2 * size_of::<u64>() + BYTES_AN_ENTRY) as u64;
        let index = BYTES_AN_ENTRY as u64 + 16;
        assert!(record <= MESSAGE_CHARGE, "{record} bytes");
        assert!(MAX_INDICES as u64 * index <= MESSAGE_CHARGE);
    }
}
