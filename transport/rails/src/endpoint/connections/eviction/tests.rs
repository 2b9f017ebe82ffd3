//! Two endpoints of one process over loopback, one of which gives connections back.

use fishplate_engine::{Context, Envelope, RailId, SendRequest};
use fishplate_link_core::payload_of;

use super::*;
use crate::connect::outgoing::Attempt;
use crate::endpoint::test_pair::{PATIENCE, Pair};

/// Neither has a connection to the other, nor seeks one.
fn are_unconnected(pair: &Pair) -> bool {
    let is_unconnected = |end: usize| {
        let peer = &pair.ends[end].peers[pair.names[end]];
        pair.links(end).is_empty() && pair.ends[end].attempts.is_empty() && peer.is_unconnected() && !peer.is_closing
    };
    is_unconnected(0) && is_unconnected(1)
}

impl Pair {
    /// An end gives a connection back as soon as one is idle.
    fn give_one_back(&mut self, end: usize) {
        self.until(|pair| {
            let now = pair.now(end);
            pair.ends[end].give_back_one(now)
        });
    }

    /// The connection of an end that is none of the streams beside it.
    fn staying(&self, end: usize) -> usize {
        let mut links = self.ends[end].links.tcp.iter();
        links.find(|(_, link)| !link.name.is_additional()).unwrap().0
    }

    /// An end gives its connection back, whatever is on its way.
    fn give_back_now(&mut self, end: usize) {
        let (at, now) = (self.links(end)[0], self.now(end));
        self.ends[end].give_back(at, now);
    }
}

#[test]
fn an_idle_connection_is_given_back_and_set_up_again_by_the_side_that_sends() {
    for (gives_back, sends) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let mut pair = Pair::open();
        pair.give_one_back(gives_back);
        pair.until(|pair| are_unconnected(pair));
        pair.transfer(sends, |_| ());
        assert_eq!([0, 1].map(|end| pair.links(end).len()), [1; 2], "given back by {gives_back}, {sends} has sent");
        pair.exchange();
        pair.close();
    }
}

#[test]
fn further_connections_go_before_the_last_one() {
    let mut pair = Pair::open();
    pair.add_streams(0, 2);
    pair.exchange_until(3);
    for left in [2, 1] {
        pair.give_one_back(1);
        pair.until(|pair| [0, 1].iter().all(|end| pair.links(*end).len() == left));
        assert!([0, 1].iter().all(|end| !pair.ends[*end].peers[pair.names[*end]].is_unconnected()));
        pair.exchange();
    }
    assert!([0, 1].iter().all(|end| pair.ends[*end].attempts.is_empty()), "they are not set up again");
    pair.close();
}

#[test]
fn a_connection_of_a_peer_that_waits_for_something_is_kept() {
    let mut pair = Pair::open();
    let sent = vec![7; 1 << 20];
    let message = SendRequest::new(pair.names[0], Envelope::Tagged(99), payload_of(&sent), Context(99));
    pair.ends[0].send(SendRequest { notify: false, ..message }).unwrap();
    let announced = |pair: &Pair| pair.ends[1].engine.idle_peers().is_empty();
    pair.until(|pair| announced(pair));
    for end in [0, 1] {
        let now = pair.now(end);
        assert!(!pair.ends[end].give_back_one(now), "there is no receive yet for what {end} knows of");
    }
    let [a, b] = pair.ends;
    a.close_at_once();
    b.close_at_once();
    assert_eq!(std::hint::black_box(sent).len(), 1 << 20);
}

#[test]
fn the_last_connection_may_be_given_back_while_another_one_retires() {
    for retires in [0, 1] {
        let mut pair = Pair::open();
        pair.add_streams(retires, 1);
        pair.exchange_until(2);
        pair.retire_streams(retires, 1);
        // Its end does not know yet, and takes the one that stays for one of two.
        let (at, now) = (pair.staying(1 - retires), pair.now(1 - retires));
        pair.ends[1 - retires].give_back(at, now);
        pair.transfer(retires, |_| ());
        pair.exchange();
        pair.close();
    }
}

#[test]
fn a_message_that_crosses_the_end_of_a_connection_comes_once() {
    for from in [0, 1] {
        let mut pair = Pair::open();
        pair.transfer(from, |pair| pair.give_back_now(1 - from));
        pair.exchange();
        pair.close();
    }
}

#[test]
fn both_sides_may_give_a_connection_back_at_a_time() {
    let mut pair = Pair::open();
    pair.give_one_back(0);
    if !pair.links(1).is_empty() {
        pair.give_back_now(1);
    }
    pair.until(|pair| are_unconnected(pair));
    pair.exchange();
    pair.close();
}

#[test]
fn a_connection_that_fails_while_it_is_given_back_costs_nothing() {
    for end in [0, 1] {
        let mut pair = Pair::open();
        // The peer has no word of it: to it the connection has failed.
        let at = pair.links(end)[0];
        pair.ends[end].link_evicted(at);
        pair.exchange();
        pair.close();
    }
}

#[test]
fn a_peer_that_was_turned_away_over_a_connection_that_it_has_given_back_is_connected() {
    let mut pair = Pair::open();
    pair.ends[1].peers[pair.names[1]].was_turned_away = true;
    pair.give_one_back(0);
    pair.until(|pair| !pair.links(0).is_empty());
    let of_second = pair.ends[0].links.tcp.iter().next().unwrap().1.name.by_peer;
    assert!(of_second, "the second has set it up");
    pair.exchange();
    pair.close();
}

#[test]
fn a_connection_that_has_carried_nothing_yet_is_kept_for_a_while() {
    let mut pair = Pair::open();
    pair.exchange();
    let (at, now) = (pair.links(0)[0], pair.now(0));
    let link = &mut pair.ends[0].links.tcp[at];
    link.common.counts = Default::default();
    link.up_since = now;
    assert!(!is_idle(link, now.plus_ns(UNUSED_NS - 1)) && is_idle(link, now.plus_ns(UNUSED_NS)));
    link.common.counts.rx_messages = 1;
    assert!(is_idle(link, now));
    pair.close();
}

#[test]
fn a_connection_that_the_peer_has_let_go_of_before_it_was_up_is_no_failure_where_files_are_short() {
    let mut pair = Pair::open();
    let (at, vc) = (pair.links(1)[0], pair.names[1]);
    pair.ends[1].links.tcp[at].is_confirmed = false;
    assert_eq!(pair.ends[1].was_let_go_of(LinkId::Tcp(at)), None, "files are not short");
    pair.ends[1].links.tcp.files.ran_short();
    pair.ends[1].links.tcp[at].is_confirmed = true;
    assert_eq!(pair.ends[1].was_let_go_of(LinkId::Tcp(at)), None, "the peer has it");
    pair.ends[1].links.tcp[at].is_confirmed = false;
    pair.ends[1].link_failed(LinkId::Tcp(at), "as the test has it");
    let peer = &pair.ends[1].peers[vc];
    assert!(peer.is_unconnected() && peer.last_failure.is_empty() && !peer.has_lost_link(RailId(0)));
    pair.exchange();
    pair.close();
}

#[test]
fn an_attempt_of_which_the_peer_does_not_know_waits_first_for_a_file() {
    let mut pair = Pair::open();
    let (vc, now) = (pair.names[0], pair.now(0));
    let remote = pair.ends[0].links.tcp.iter().next().unwrap().1.remote;
    let end = &mut pair.ends[0];
    assert!(!end.postpone_an_attempt(now), "there is none");
    let [taken, other] = [1, 2].map(|stream| end.attempts.insert(Attempt::new(vc, RailId(0), stream, remote, now)));
    end.start_attempts(now);
    let start = std::time::Instant::now();
    while !end.attempts[taken].is_taken() {
        assert!(start.elapsed() < PATIENCE, "it is not taken");
        let now = end.clock.now();
        end.attempt_ready(taken, now);
    }
    assert!(end.postpone_an_attempt(now));
    assert!(end.attempts[other].waits_for_file() && end.attempts[taken].has_socket());
    assert!(end.postpone_an_attempt(now) && end.attempts[taken].waits_for_file());
    end.attempts.clear();
    pair.close();
}
