//! The end of a peer.

use std::sync::Arc;

use super::Engine;
use super::post::failed_recv;
use crate::channel::State;
use crate::ids::VcId;
use crate::matching::arrival::{Arrival, Body, Then};
use crate::matching::landing::Landing;
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
        self.incoming[vc.0 as usize].clear();
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
        let mut gone: Vec<u64> = self.vcs[vc.0 as usize].reorder.drain().collect();
        let arrivals = &self.arrivals;
        let incomplete = |key: u64| {
            let body = arrivals.get(key).map(|arrival| arrival.body);
            matches!(body, Some(Body::Request(_) | Body::Eager { whole: false, .. }))
        };
        gone.extend(self.unexpected.remove_of(vc, incomplete));
        gone.extend(self.arrivals.keys_where(|arrival| arrival.vc == vc && is_awaited(arrival)));
        for key in gone {
            if let Some(Arrival { body: Body::Eager { bounce: Some(bounce), .. }, .. }) = self.arrivals.remove(key) {
                self.release(bounce);
            }
        }
    }
}

/// Whether a receive waits for the rest of it.
fn is_awaited(arrival: &Arrival) -> bool {
    matches!(arrival.body, Body::Eager { then: Then::Land(_) | Then::Drop, whole: false, .. })
}
