//! Two endpoints of one process over loopback, where streams do not grow by themselves.

use std::net::Shutdown;

use fishplate_engine::wire::Body;
use fishplate_engine::{Context, Failure, Pattern, Payload, RecvRequest, Source};
use fishplate_link_core::payload_of;

use super::*;
use crate::endpoint::test_pair::Pair;

#[test]
fn either_side_sets_up_streams_and_lets_its_own_go_under_traffic() {
    let mut pair = Pair::open();
    pair.add_streams(0, 3);
    pair.exchange_until(4);
    pair.add_streams(1, 2);
    pair.exchange_until(6);
    let busy = pair.ends[0].links.tcp.iter().filter(|(_, link)| link.common.counts.tx_bytes > 0).count();
    assert!(busy > 1, "all goes over one");
    // More than it has set up.
    pair.retire_streams(1, 5);
    pair.exchange_until(4);
    pair.retire_streams(0, 2);
    pair.add_streams(1, 1);
    pair.exchange_until(3);
    pair.retire_streams(0, 1);
    pair.retire_streams(1, 1);
    pair.exchange_until(1);
    // Neither side may retire it.
    pair.retire_streams(0, 1);
    pair.exchange_until(1);
    pair.close();
}

#[test]
fn there_are_no_more_streams_than_a_rail_may_have() {
    let mut pair = Pair::open();
    pair.add_streams(0, 20);
    pair.exchange_until(usize::from(MAX_STREAMS));
    pair.close();
}

#[test]
fn a_stream_that_breaks_is_not_set_up_again() {
    let mut pair = Pair::open();
    pair.add_streams(0, 2);
    pair.exchange_until(3);
    let additional = pair.ends[0].links.tcp.iter().find(|(_, link)| link.name.is_additional());
    additional.unwrap().1.socket.shutdown(Shutdown::Both).unwrap();
    pair.exchange_until(2);
    pair.close();
}

#[test]
fn a_peer_that_lets_go_of_what_has_to_stay_breaks_the_protocol() {
    let mut pair = Pair::open();
    let at = pair.links(0)[0];
    let now = pair.now(0);
    let end = &mut pair.ends[0];
    let header = end.engine.bare_header(now, end.links.tcp[at].common.subchannel, Body::Leave);
    end.links.tcp[at].transmit.push(&header, &Source::User(Payload::EMPTY), false, &end.memory, &end.bounces);
    end.flush(at);
    let buffer = [0; 8];
    let pattern = Pattern { source: Some(pair.names[1]), ..Pattern::MESSAGE };
    pair.ends[1].recv(RecvRequest::new(pattern, payload_of(&buffer), Context(99)));
    let mut why = None;
    pair.until(|pair| {
        why = pair.ends[1].poll_completion();
        why.is_some()
    });
    let Some(Err(Failure::PeerLost(why))) = why.map(|completion| completion.result) else { panic!("it is not lost") };
    assert!(why.contains("it lets go of a connection that has to stay"), "{why}");
}
