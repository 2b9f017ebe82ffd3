//! Connections are cut under endpoints of one process: nothing is lost, and the end of a peer is reported.

mod common;

use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::Instant;

use common::pair::Pair;
use common::{descriptors, loss, pattern, recv, settings, until};
use fishplate_rails::streams::Streams;
use fishplate_rails::transfer::ThreadLimit;
use fishplate_rails::{Endpoint, Settings};
use socket2::SockRef;

const LEN: usize = 300_000;

/// Two endpoints, with this number of transfer threads each.
fn pair(streams: u8, encryption: bool, threads: u8) -> Pair {
    let (streams, threads) = (Streams::Fixed(streams), ThreadLimit::Fixed(threads.into()));
    Pair::open([(); 2].map(|()| Settings { streams, encryption, threads, ..settings() }))
}

/// A message each way, during which one of the connections is cut in that round.
fn exchange(pair: &mut Pair, seed: u8, which: usize, in_round: usize) {
    let ports = pair.ends.each_ref().map(|end| end.address().port);
    let disturb = |round| {
        if round == in_round {
            cut(ports, which);
        }
    };
    [0, 1].into_iter().for_each(|from| pair.carry_from(from, &pattern(LEN, seed), disturb));
}

/// The process's sockets that are connected to one of these ports.
fn connections(ports: [u16; 2]) -> Vec<RawFd> {
    descriptors().filter(|fd| remote(*fd).is_some_and(|remote| ports.contains(&remote.port()))).collect()
}

fn remote(fd: RawFd) -> Option<SocketAddr> {
    // SAFETY: the descriptor is only queried, which fails if it is no socket any more.
    let socket = unsafe { BorrowedFd::borrow_raw(fd) };
    SockRef::from(&socket).peer_addr().ok()?.as_socket()
}

/// Shuts one of the connections, both ways, as if the path had been reset.
fn cut(ports: [u16; 2], which: usize) {
    let open = connections(ports);
    if open.is_empty() {
        return;
    }
    // SAFETY: it is a socket of this test's endpoints, which are not used meanwhile.
    let socket = unsafe { BorrowedFd::borrow_raw(open[which % open.len()]) };
    let _ = SockRef::from(&socket).shutdown(std::net::Shutdown::Both);
}

#[test]
fn one_of_two_connections_may_be_cut_again_and_again() {
    cut_again_and_again(pair(2, false, 0));
}

#[test]
fn an_encrypted_connection_may_be_cut_too() {
    cut_again_and_again(pair(2, true, 0));
}

#[test]
fn connections_of_which_threads_send_and_receive_may_be_cut_too() {
    cut_again_and_again(pair(4, false, 3));
    cut_again_and_again(pair(4, true, 3));
}

fn cut_again_and_again(mut pair: Pair) {
    (0..30).for_each(|at| exchange(&mut pair, at, at.into(), usize::from(at) % 7));
    pair.close();
}

#[test]
fn the_only_connection_may_be_cut_too() {
    let mut pair = pair(1, false, 0);
    (0..12).for_each(|at| exchange(&mut pair, at, 0, usize::from(at) % 5));
    pair.close();
}

#[test]
fn a_peer_that_has_ended_is_reported_at_once_and_with_the_rail() {
    let mut pair = pair(2, false, 0);
    [0, 1].into_iter().for_each(|from| pair.carry_from(from, &pattern(LEN, 1), |_| ()));
    let Pair { ends: [mut left, gone], names, .. } = pair;
    drop(gone);
    let mut buffer = [0; 8];
    recv(&mut left, 2, &mut buffer, names[0]);
    let start = Instant::now();
    let why = loss(&until(&mut left, Endpoint::poll_completion));
    assert!(why.contains("its process has ended") && why.contains("rail lo"), "{why}");
    // Far less than the time that a peer may be out of reach.
    assert!(start.elapsed() < Settings::default().timeout, "{:?}", start.elapsed());
}
