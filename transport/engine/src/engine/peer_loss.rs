//! The loss of a peer: its operations fail.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Engine;
use super::incoming::{Incoming, IncomingFrames};
use super::post::failed_recv;
use crate::channel::State;
use crate::generational_slab::Key;
use crate::ids::{MessageSeq, VcId};
use crate::matching::reassembly::Reassembly;
use crate::matching::unmatched::{Content, OnceBuffered, UnmatchedMessage};
use crate::memory::BounceId;
use crate::request::Failure;

impl Engine {
    /// The peer of `vc` is lost, for the reason that `why` gives to the user. Its sends and receives fail; messages
    /// that have arrived whole can still be received. The driver must not touch their memory any more: close the
    /// sockets first.
    pub fn lose(&mut self, vc: VcId, why: &str) {
        let why: Arc<str> = why.into();
        let channel = &mut self.vcs[vc.0 as usize];
        if channel.state != State::Open {
            return;
        }
        channel.state = State::Lost(why.clone());
        let incoming = channel.remote.as_mut().map(|remote| &mut remote.incoming_atomics);
        let (atomics, operands) = incoming.map(|all| (all.window(), all.drain())).unwrap_or_default();
        channel.drop_queues();
        operands.into_iter().for_each(|operands| self.release(operands));
        let failure = Failure::PeerLost(why);
        self.drop_incomplete(vc);
        self.count_lost(vc, atomics);
        for key in self.sends.keys_where(|send| send.vc == vc) {
            let Some(send) = self.sends.remove(key) else { continue };
            if let Some(bounce) = send.bounce() {
                self.injected -= send.len();
                self.release(bounce);
            }
            self.completions.extend(send.completion(Err(failure.clone())));
        }
        let landed: Vec<Reassembly> = self.vcs[vc.0 as usize].completion_order.drain().collect();
        landed.iter().for_each(|reassembly| self.report_completion(reassembly));
        for key in self.reassemblies.keys_where(|reassembly| reassembly.vc == vc) {
            let Some(reassembly) = self.reassemblies.remove(key) else { continue };
            let released = reassembly.multi.is_some_and(|posted| self.posted.message_done(posted));
            self.completions.extend(reassembly.completion(released, Some(failure.clone())));
        }
        self.fail_directed(vc, &failure);
    }

    /// Fails the receives that only messages of `vc` could have matched.
    pub(super) fn fail_directed(&mut self, vc: VcId, failure: &Failure) {
        for request in self.posted.take_directed(vc) {
            self.completions.push_back(failed_recv(&request, failure.clone()));
        }
    }

    /// Drops the messages of `vc` that can no longer be completed.
    fn drop_incomplete(&mut self, vc: VcId) {
        let early_data = &mut self.vcs[vc.0 as usize].early_data;
        let unmatched = &self.unmatched;
        let mut incomplete =
            |key: Key<UnmatchedMessage>| match unmatched.get(key).map(|message| (message.content, message.len)) {
                Some((Content::Rendezvous { seq, .. }, len)) => {
                    early_data.get_mut(seq).is_none_or(|early_data| !early_data.is_complete_for(len))
                }
                Some((Content::Eager { is_complete, .. }, _)) => !is_complete,
                None => false,
            };
        let mut gone = self.unexpected.remove_of(vc, unmatched, &mut incomplete);
        gone.extend(self.vcs[vc.0 as usize].reorder.drain());
        gone.extend(self.unmatched.keys_where(|message| message.vc == vc && is_awaited(message)));
        for key in gone {
            if let Some(UnmatchedMessage { content: Content::Eager { bounce: Some(bounce), .. }, .. }) =
                self.unmatched.remove(key)
            {
                self.release(bounce);
            }
        }
        self.drop_partials(vc);
    }

    /// Drops early data of messages that were dropped.
    fn drop_partials(&mut self, vc: VcId) {
        let waiting = self.unmatched.values().filter(|message| message.vc == vc).filter_map(seq);
        let waiting: BTreeSet<u32> = waiting.map(|seq| seq.0).collect();
        let early_data = &mut self.vcs[vc.0 as usize].early_data;
        let gone = early_data.retain(|seq, _| waiting.contains(&seq.0));
        let coming = std::mem::take(&mut self.incoming[vc.0 as usize]);
        let mut bounces: Vec<BounceId> =
            coming.iter().flat_map(IncomingFrames::iter).filter_map(Incoming::bounce).collect();
        let buffered = gone.iter().flat_map(|early_data| early_data.buffered()).filter(|piece| piece.is_complete);
        bounces.extend(buffered.map(|piece| piece.bounce));
        bounces.into_iter().for_each(|bounce| self.release(bounce));
    }
}

/// The sequence number of a rendezvous message.
fn seq(message: &UnmatchedMessage) -> Option<MessageSeq> {
    match message.content {
        Content::Rendezvous { seq, .. } => Some(seq),
        Content::Eager { .. } => None,
    }
}

/// Whether a receive waits for the rest of an eager message.
fn is_awaited(message: &UnmatchedMessage) -> bool {
    matches!(
        message.content,
        Content::Eager { once_buffered: OnceBuffered::Deliver(_) | OnceBuffered::Drop, is_complete: false, .. }
    )
}
