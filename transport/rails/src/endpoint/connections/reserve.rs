//! Interfaces in reserve: those of worse classes, on either side, for a peer to which no better one leads.
//!
//! Ways are tried class by class ([`Class`]): those of the next class once all of the classes before have failed, or been silent
//! for a while. Earlier ways go on being tried. Only links of the best class carry (`endpoint/standby.rs`).

use std::collections::BTreeMap;

use fishplate_engine::{Instant, VcId};

use crate::discover::Class;
use crate::endpoint::Endpoint;
use crate::pairing::{self, Pair, pair_class};

/// For how long the ways of a class may be silent before the next class is tried too, in nanoseconds: longer than a lost SYN and its
/// retransmission.
const UNANSWERED_NS: u64 = 1_500_000_000;

impl Endpoint {
    /// The ways of one class to a peer.
    pub(in crate::endpoint) fn ways(&self, vc: VcId, class: Class) -> Vec<Pair> {
        let Some(address) = &self.peers[vc].address else { return Vec::new() };
        let peer = pairing::Peer { rails: &address.rails, preferred: address.preferred, own: &self.host.addresses };
        pair_class(&self.host.rails, peer, class)
    }

    /// Starts to set up connections to the peer's addresses, over the ways that are tried so far, or of the first class that has any.
    /// False if no rail leads to any address.
    pub(in crate::endpoint) fn begin_attempts(&mut self, vc: VcId, now: Instant) -> bool {
        let reach = self.peers[vc].reach;
        let mut finds_way = false;
        for class in Class::ALL.into_iter().filter(|class| *class <= reach) {
            finds_way |= self.begin_class(vc, class, now);
        }
        finds_way || self.begin_next_class(vc, now)
    }

    /// Starts to set up connections over the ways of the next class that has any.
    pub(in crate::endpoint) fn begin_next_class(&mut self, vc: VcId, now: Instant) -> bool {
        let reach = self.peers[vc].reach;
        for class in Class::ALL.into_iter().filter(|class| *class > reach) {
            self.set_reach(vc, class, now);
            if self.begin_class(vc, class, now) {
                let peer = self.peers[vc].describe();
                log::info!("no rail is known to lead to {peer}: interfaces in reserve are tried");
                return true;
            }
        }
        false
    }

    /// Ways up to this class are tried from now on.
    pub(in crate::endpoint) fn set_reach(&mut self, vc: VcId, class: Class, now: Instant) {
        let peer = &mut self.peers[vc];
        (peer.reach, peer.reach_since) = (class, now);
    }

    /// Tries the next class for peers without connection none of whose ways is answered.
    pub(in crate::endpoint) fn service_reserve(&mut self, now: Instant) {
        // For each peer: whether a way is answered, and whether all have been tried.
        let mut sought: BTreeMap<VcId, (bool, bool)> = BTreeMap::new();
        for (_, attempt) in &*self.attempts {
            let (is_answered, all_tried) = sought.entry(attempt.vc).or_insert((false, true));
            *is_answered |= attempt.is_answered();
            *all_tried &= attempt.has_tried_all();
        }
        sought.retain(|vc, (is_answered, all_tried)| {
            let peer = &self.peers[*vc];
            let is_sought = peer.is_sought() && !peer.is_closing && peer.reach < Class::LAST;
            is_sought && !*is_answered && (*all_tried || now.since_ns(peer.reach_since) >= UNANSWERED_NS)
        });
        sought.into_keys().for_each(|vc| _ = self.begin_next_class(vc, now));
    }

    /// All links to a peer have failed: the best ways that it had get their full time again before the next class is tried.
    pub(in crate::endpoint) fn restart_reach(&mut self, vc: VcId, now: Instant) {
        let ways = &self.peers[vc].known_paths;
        let best = ways.iter().map(|way| way.class).min().unwrap_or(Class::Rail);
        self.set_reach(vc, best, now);
    }
}

#[cfg(test)]
mod tests {
    use fishplate_engine::RailId;
    use fishplate_link_core::UserMemory;

    use super::*;
    use crate::connect::outgoing::Attempt;
    use crate::endpoint::link_id::LinkId;
    use crate::endpoint::test_pair::Pair;
    use crate::settings::Settings;

    fn link(end: &Endpoint, class: Class) -> Option<usize> {
        end.links.tcp.iter().find(|(_, link)| link.class == class).map(|(at, _)| at)
    }

    /// Bytes that the first endpoint has sent over the link of a class.
    fn sent(pair: &Pair, class: Class) -> u64 {
        link(&pair.ends[0], class).map_or(0, |at| pair.ends[0].links.tcp[at].common.counts.tx_bytes)
    }

    #[test]
    fn a_link_in_reserve_carries_only_while_no_better_one_does() {
        let mut pair = Pair::open();
        let (vc, now) = (pair.names[0], pair.now(0));
        let remote = pair.ends[0].links.tcp.iter().next().unwrap().1.remote;
        let has_both = |pair: &mut Pair| pair.ends.iter().all(|end| end.links.tcp.len() == 2);
        pair.ends[0].attempts.insert(Attempt::new(vc, RailId(0), 1, remote, now).of_class(Class::Virtual));
        pair.until(has_both);
        pair.exchange();
        assert!(pair.ends.iter().all(|end| link(end, Class::Virtual).is_some()), "both sides know the class");
        assert_eq!(sent(&pair, Class::Virtual), 0);
        let end = &mut pair.ends[0];
        end.link_failed(LinkId::Tcp(link(end, Class::Rail).unwrap()), "as the test has it");
        end.attempts.clear();
        pair.until(|pair| pair.ends.iter().all(|end| end.links.tcp.len() == 1));
        pair.exchange();
        let before = sent(&pair, Class::Virtual);
        assert!(before > 0);
        pair.ends[0].attempts.insert(Attempt::new(vc, RailId(0), 0, remote, now));
        pair.until(has_both);
        pair.exchange();
        assert_eq!(sent(&pair, Class::Virtual), before);
        assert!(sent(&pair, Class::Rail) > 0);
        pair.close();
    }

    #[test]
    fn a_peer_to_which_no_rail_leads_is_reached_over_what_it_has_in_reserve() {
        let settings = Settings {
            rails: vec!["lo".into()],
            congestion: Some("reno".into()),
            shared_memory: false,
            top: false,
            ..Settings::default()
        };
        let [mut here, mut there] = [(); 2].map(|()| Endpoint::begin(&settings, UserMemory::of_test()).unwrap());
        let mut address = there.address().clone();
        address.rails.insert(0, vec!["203.0.113.9".parse().unwrap()]);
        address.preferred = 1;
        // It counts as one of another host.
        here.host.addresses.clear();
        let (vc, now) = (here.peer(&address), here.clock.now());
        here.connect(vc, now);
        let start = std::time::Instant::now();
        while !here.peers[vc].is_connected() {
            here.progress();
            there.progress();
            assert!(start.elapsed() < crate::endpoint::test_pair::PATIENCE, "no connection");
        }
        assert!(link(&here, Class::OfHost).is_some());
        let other = std::thread::spawn(move || there.close());
        here.close();
        other.join().unwrap();
    }
}
