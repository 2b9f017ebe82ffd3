//! The connections that an endpoint is setting up.

use std::ops::{Deref, DerefMut};

use fishplate_engine::{RailId, VcId};
use slab::Slab;

use super::seeking::SeekingPeers;
use crate::connect::outgoing::Attempt;
use crate::discover::Class;

/// The attempts, by key, and the peers to which no way can be tried.
pub struct Attempts {
    all: Slab<Attempt>,
    /// The job is large: each peer is connected over one rail at first.
    pub by_need: bool,
    pub seeking: SeekingPeers,
}

impl Attempts {
    /// Without attempts. `by_need`: each peer is to be connected over one rail at first.
    pub fn new(by_need: bool) -> Attempts {
        Attempts { all: Slab::new(), by_need, seeking: SeekingPeers::default() }
    }

    pub fn keys(&self) -> Vec<usize> {
        self.all.iter().map(|(at, _)| at).collect()
    }

    /// The attempts to a peer.
    pub fn to(&self, vc: VcId) -> impl Iterator<Item = &Attempt> {
        self.all.iter().map(|(_, attempt)| attempt).filter(move |attempt| attempt.vc == vc)
    }

    /// The attempts to a peer, mutably.
    pub fn to_mut(&mut self, vc: VcId) -> impl Iterator<Item = &mut Attempt> {
        self.all.iter_mut().map(|(_, attempt)| attempt).filter(move |attempt| attempt.vc == vc)
    }

    /// Whether there are attempts to a peer.
    pub fn are_to(&self, vc: VcId) -> bool {
        self.to(vc).next().is_some()
    }

    /// Whether a connection to a peer is being set up over a rail.
    pub fn are_over(&self, vc: VcId, rail: RailId) -> bool {
        self.to(vc).any(|attempt| attempt.rail == rail)
    }

    /// Whether a connection to a peer is being set up over a way of a class that the rail has.
    pub fn are_of_class(&self, vc: VcId, rail: RailId, class: Class) -> bool {
        self.to(vc).any(|attempt| (attempt.rail, attempt.class) == (rail, class))
    }

    /// Number of connections that are being set up over a rail.
    pub fn count_over(&self, rail: RailId) -> usize {
        self.all.iter().filter(|(_, attempt)| attempt.rail == rail).count()
    }

    /// Whether there are attempts to a peer, and its kernel refused the last try of each: no process listens there.
    pub fn are_refused(&self, vc: VcId) -> bool {
        self.are_to(vc) && self.to(vc).all(Attempt::is_refused)
    }

    /// Ends the attempts to a peer.
    pub fn end(&mut self, vc: VcId) {
        self.all.retain(|_, attempt| attempt.vc != vc);
    }
}

impl Deref for Attempts {
    type Target = Slab<Attempt>;

    fn deref(&self) -> &Slab<Attempt> {
        &self.all
    }
}

impl DerefMut for Attempts {
    fn deref_mut(&mut self) -> &mut Slab<Attempt> {
        &mut self.all
    }
}

#[cfg(test)]
mod tests {
    use fishplate_engine::Instant;

    use super::*;

    const RAILS: [RailId; 2] = [RailId(0), RailId(1)];
    const PEERS: [VcId; 2] = [VcId(0), VcId(1)];

    fn attempts(all: &[(VcId, RailId)]) -> Attempts {
        let mut attempts = Attempts::new(false);
        for (vc, rail) in all {
            attempts.insert(Attempt::new(*vc, *rail, 0, "127.0.0.1:1".parse().unwrap(), Instant(0)));
        }
        attempts
    }

    #[test]
    fn attempts_are_distinguished_by_peer_rail_and_class() {
        let attempts = attempts(&[(PEERS[0], RAILS[0]), (PEERS[0], RAILS[1]), (PEERS[1], RAILS[1])]);
        let [a, b] = PEERS;
        assert_eq!((attempts.to(a).count(), attempts.to(b).count()), (2, 1));
        assert!(attempts.are_over(a, RAILS[0]) && !attempts.are_over(b, RAILS[0]));
        let classes = [Class::Rail, Class::Virtual].map(|class| attempts.are_of_class(b, RAILS[1], class));
        assert_eq!(classes, [true, false]);
        assert_eq!(RAILS.map(|rail| attempts.count_over(rail)), [1, 2]);
        assert!(!attempts.are_refused(a), "none was tried");
    }

    #[test]
    fn those_to_one_peer_are_ended_and_no_others() {
        let mut attempts = attempts(&[(PEERS[0], RAILS[0]), (PEERS[1], RAILS[1]), (PEERS[0], RAILS[1])]);
        attempts.end(PEERS[0]);
        assert!(!attempts.are_to(PEERS[0]) && attempts.are_to(PEERS[1]));
        assert!(!attempts.are_refused(PEERS[0]), "there is none");
    }
}
