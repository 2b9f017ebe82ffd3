//! The lists of TCP links, over connections that are not read.

use std::net::{TcpListener, TcpStream};

use fishplate_engine::{SubchannelId, VcId};

use super::*;
use crate::address::EndpointId;
use crate::link::{CongestionPhase, Protection};
use crate::link_name::LinkName;
use crate::poller::{Poller, is_readable};
use crate::settings::Settings;
use crate::transfer::{ThreadLimit, Threads};

fn none() -> TcpLinks {
    let socket = crate::socket::unconnected("127.0.0.1".parse().unwrap()).unwrap();
    TcpLinks::new(
        CongestionControl::of_system(&socket),
        OpenFiles::begin(1),
        1,
        Transfers::new(Threads::new(ThreadLimit::Fixed(0), 1, 1)),
        KernelAckQueries::new(&Settings::default()),
    )
}

/// A link to the peer of channel `vc` over this rail, and that peer's socket.
fn link(vc: u32, rail: u8) -> (StreamLink, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    socket.set_nonblocking(true).unwrap();
    let (far, remote) = (listener.accept().unwrap().0, socket.peer_addr().unwrap());
    let subchannel = SubchannelId { vc: VcId(vc), index: 0 };
    let name = LinkName { by_peer: false, rail, stream: 0 };
    let phase = CongestionPhase::Settled;
    (StreamLink::new(socket, Protection::Nothing, subchannel, RailId(rail), remote, name, phase), far)
}

/// As many links as there are rails named, one to each of as many peers, and the peers' sockets.
fn links(rails: &[u8]) -> (TcpLinks, Vec<TcpStream>) {
    let mut all = none();
    let add = |(rail, vc): (&u8, u32)| {
        let (link, far) = link(vc, *rail);
        all.insert(link);
        far
    };
    let far = rails.iter().zip(0..).map(add).collect();
    (all, far)
}

#[test]
fn links_are_found_by_peer_and_by_rail() {
    let (all, _far) = links(&[0, 1, 0]);
    let counts = [0, 1, 2].map(|rail| all.over(RailId(rail)).count());
    assert_eq!(counts, [2, 1, 0]);
    let mut peer = Peer::new(EndpointId(1), false);
    assert_eq!(all.of_peer(&peer).count(), 0);
    peer.set_link(0, LinkId::Tcp(2));
    peer.set_link(3, LinkId::Memory(0));
    peer.set_link(1, LinkId::Tcp(1));
    assert_eq!(all.of_peer(&peer).map(|(at, _)| at).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn a_link_with_something_to_send_is_listed_once_until_it_is_seen_to() {
    let (mut all, _far) = links(&[0, 0]);
    all.mark_dirty(1);
    all.mark_dirty(1);
    all.mark_dirty(0);
    let dirty = all.take_dirty();
    assert_eq!(dirty, [1, 0]);
    all.mark_dirty(1);
    assert!(!all.has_dirty(), "it is yet to be seen to");
    all.begin_flush(1);
    all.mark_dirty(1);
    assert_eq!(all.take_dirty(), [1]);
    all.reuse(dirty);
    assert!(!all.has_dirty());
}

#[test]
fn a_full_socket_is_flushed_once_it_takes_more() {
    let (mut all, _far) = links(&[0]);
    all.unblock(0);
    assert!(!all.has_dirty(), "it was not full");
    all.block(0);
    all.block(0);
    assert!(all.has_blocked_sends());
    all.unblock(0);
    assert!(!all.has_blocked_sends() && !all[0].blocked);
    assert_eq!(all.take_dirty(), [0]);
    all.block(0);
    all.unblock_stalled();
    assert!(!all.has_blocked_sends());
}

#[test]
fn why_a_link_was_broken_off_is_reported_once() {
    let (mut all, _far) = links(&[0, 0]);
    all.break_off(0, "as the test has it".into());
    all.break_off(1, "as well".into());
    all.remove(1);
    assert!(all[0].blocked, "nothing more is sent over it");
    assert_eq!(all.take_broken(), Some((0, "as the test has it".into())));
    assert_eq!(all.take_broken(), None);
}

#[test]
fn removed_links_are_on_no_list_so_that_keys_may_be_used_again() {
    let (mut all, _far) = links(&[0, 0]);
    all.mark_dirty(0);
    all.block(0);
    all.break_off(0, "as the test has it".into());
    all.goodbye_received(0);
    all.active = Some(0);
    all.remove(0);
    let (link, _far) = link(7, 1);
    assert_eq!((all.insert(link), all.active), (0, None));
    assert!(!all.has_dirty() && !all.has_blocked_sends() && all.take_broken().is_none() && all.leaving.is_empty());
}

#[test]
fn the_active_link_leaves_the_poll_set_unless_it_is_blocked() {
    let (mut all, _far) = links(&[0]);
    let poller = Poller::new().unwrap();
    all[0].in_poll_set = false;
    all.register(0, &poller).unwrap();
    all.active = Some(0);
    all.block(0);
    all.deregister_active(&poller);
    assert!(all[0].in_poll_set, "the set is to say when it takes more");
    all.unblock(0);
    all.deregister_active(&poller);
    assert!(!all[0].in_poll_set);
    all.register(0, &poller).unwrap();
    assert!(all[0].in_poll_set && all.register(0, &poller).is_ok(), "it is there already");
}

#[test]
fn only_the_active_link_defers_events_of_the_call_in_which_it_was_read() {
    let (mut all, _far) = links(&[0, 0]);
    (all.active, all[0].read_in_call) = (Some(0), 7);
    assert!(!all.defer_read(1, 7) && !all.defer_read(0, 8) && !all[0].read_deferred);
    assert!(all.defer_read(0, 7) && all[0].read_deferred);
}

#[test]
fn a_new_connection_is_no_farther_than_others_over_its_way() {
    let (mut all, _far) = links(&[0, 1]);
    all[0].sampled.min_rtt_ns = 50_000;
    let info = TcpInfo { rtt_ns: 900_000, min_rtt_ns: 700_000, ..TcpInfo::default() };
    let (rail, remote) = (RailId(0), all[0].remote.ip());
    let known = all.with_known_distance(rail, remote, info);
    assert_eq!((known.rtt_ns, known.min_rtt_ns), (50_000, 50_000));
    let elsewhere = [(RailId(1), remote), (rail, "127.0.0.9".parse().unwrap())];
    for (rail, remote) in elsewhere {
        assert_eq!(all.with_known_distance(rail, remote, info).min_rtt_ns, 700_000);
    }
}

#[test]
fn remaining_data_are_read_so_that_closing_sends_no_reset() {
    use std::io::Write;
    let (mut all, mut far) = links(&[0]);
    far[0].write_all(b"last words").unwrap();
    while !is_readable(&all[0].socket) {}
    all.take_the_rest();
    assert!(!is_readable(&all[0].socket));
}
