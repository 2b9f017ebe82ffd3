//! The end of a peer.

use std::sync::Arc;

use super::Engine;
use super::incoming::Incoming;
use super::post::failed_recv;
use crate::channel::State;
use crate::ids::{MessageSeq, VcId};
use crate::matching::reassembly::Landing;
use crate::matching::unmatched::{Arrival, Body, Then};
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
        channel.drop_queues();
        self.granted -= channel.debt.grant();
        let failure = Failure::PeerLost(why);
        self.drop_incomplete(vc);
        for key in self.sends.keys_where(|send| send.vc == vc) {
            let Some(send) = self.sends.remove(key) else { continue };
            if let Some(bounce) = send.bounce() {
                self.injected -= send.len();
                self.release(bounce);
            }
            self.completions.extend(send.completion(Err(failure.clone())));
        }
        let landed: Vec<Landing> = self.vcs[vc.0 as usize].turns.drain().collect();
        landed.iter().for_each(|landing| self.report(landing));
        for key in self.landings.keys_where(|landing| landing.vc == vc) {
            let Some(landing) = self.landings.remove(key) else { continue };
            let released = landing.multi.is_some_and(|posted| self.posted.landed(posted));
            self.completions.extend(landing.completion(released, Some(failure.clone())));
        }
        self.fail_directed(vc, &failure);
    }

    /// Ends the receives that only messages of `vc` could have matched.
    pub(super) fn fail_directed(&mut self, vc: VcId, failure: &Failure) {
        for request in self.posted.take_directed(vc) {
            self.completions.push_back(failed_recv(&request, failure.clone()));
        }
    }

    /// Forgets the messages of `vc` that can no longer become whole.
    fn drop_incomplete(&mut self, vc: VcId) {
        let partials = &mut self.vcs[vc.0 as usize].partials;
        let arrivals = &self.arrivals;
        let mut incomplete = |key: u64| match arrivals.get(key).map(|arrival| (arrival.body, arrival.len)) {
            Some((Body::Request { seq, .. }, len)) => {
                partials.get_mut(seq).is_none_or(|partial| !partial.is_whole(len))
            }
            Some((Body::Eager { whole, .. }, _)) => !whole,
            None => false,
        };
        let mut gone = self.unexpected.remove_of(vc, &mut incomplete);
        gone.extend(self.vcs[vc.0 as usize].reorder.drain());
        gone.extend(self.arrivals.keys_where(|arrival| arrival.vc == vc && is_awaited(arrival)));
        for key in gone {
            if let Some(Arrival { body: Body::Eager { bounce: Some(bounce), .. }, .. }) = self.arrivals.remove(key) {
                self.release(bounce);
            }
        }
        self.drop_partials(vc);
    }

    /// Forgets the pieces of messages that nothing waits with any more.
    fn drop_partials(&mut self, vc: VcId) {
        let waiting: Vec<MessageSeq> =
            self.arrivals.values().filter(|arrival| arrival.vc == vc).filter_map(seq).collect();
        let partials = &mut self.vcs[vc.0 as usize].partials;
        let gone = partials.retain(|seq, _| waiting.contains(&seq));
        let coming = std::mem::take(&mut self.incoming[vc.0 as usize]);
        let mut bounces: Vec<BounceId> = coming.iter().filter_map(Incoming::bounce).collect();
        let kept = gone.iter().flat_map(|partial| &partial.kept).filter(|piece| piece.whole);
        bounces.extend(kept.map(|piece| piece.bounce));
        bounces.into_iter().for_each(|bounce| self.release(bounce));
    }
}

/// The position of an announced message.
fn seq(arrival: &Arrival) -> Option<MessageSeq> {
    match arrival.body {
        Body::Request { seq, .. } => Some(seq),
        Body::Eager { .. } => None,
    }
}

/// Whether a receive waits for the rest of it.
fn is_awaited(arrival: &Arrival) -> bool {
    matches!(arrival.body, Body::Eager { then: Then::Land(_) | Then::Drop, whole: false, .. })
}
