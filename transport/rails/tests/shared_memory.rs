//! Endpoints of one process that share memory beside their connection over loopback.

mod common;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use common::pair::Pair;
use common::sharing::{bells, sent_over};
use common::{PATIENCE, pattern, recv};
use fishplate_engine::Registration;
use fishplate_link_core::payload_of;
use socket2::SockRef;

/// Lengths around those at which something else is done with a message.
const LENS: [usize; 12] = [0, 1, 12, 13, 4000, 8191, 8192, 16384, 16385, 65_537, 300_000, 3 << 20];

impl Pair {
    /// Sends each of these from the first end to the second, those that may be injected so. Where they will be received, and how
    /// many operations have to end for that.
    fn send_all(&mut self, sent: &[Vec<u8>]) -> (Vec<Vec<u8>>, usize) {
        for (bytes, tag) in sent.iter().zip(1000..) {
            self.send_early(0, tag, bytes, bytes.len() <= 16384);
        }
        let notified = sent.iter().filter(|bytes| bytes.len() > 16384).count();
        let mut got: Vec<Vec<u8>> = sent.iter().map(|bytes| vec![0; bytes.len()]).collect();
        for (buffer, tag) in got.iter_mut().zip(1000..) {
            recv(&mut self.ends[1], tag, buffer, None);
        }
        (got, sent.len() + notified)
    }
}

#[test]
fn messages_of_all_lengths_go_through_memory() {
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("stats");
    let mut pair = Pair::sharing([true; 2], Some(&stats));
    for len in LENS {
        pair.exchange(len, false);
        pair.exchange(len.min(16384), true);
    }
    pair.close();
    let expected: u64 = LENS.iter().map(|len| 2 * (*len + (*len).min(16384)) as u64).sum();
    assert!(sent_over(&stats, "shm") >= expected);
    assert!(sent_over(&stats, "lo") < 1000);
}

#[test]
fn many_messages_wait_in_memory_and_behind_it_for_a_receiver_that_does_not_look() {
    let mut pair = Pair::sharing([true; 2], None);
    let sent: Vec<Vec<u8>> = (0..600).map(|at| pattern(LENS[at % LENS.len()].min(20_000), at as u8)).collect();
    let (got, operations) = pair.send_all(&sent);
    pair.until_ended(operations);
    assert!(std::hint::black_box(got) == sent);
    pair.close();
}

#[test]
fn an_endpoint_that_waits_in_the_kernel_is_woken_by_a_message_in_memory() {
    let mut pair = Pair::sharing([true; 2], None);
    let readiness = pair.ends[1].readiness_fd().unwrap();
    let is_ready = |patience: Duration| {
        let most = rustix::event::Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: 0 };
        let mut asked = [rustix::event::PollFd::new(&readiness, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut asked, Some(&most)).unwrap() == 1
    };
    while !pair.ends[1].progress_in_background() {}
    while is_ready(Duration::ZERO) {
        pair.ends[1].progress();
        while !pair.ends[1].progress_in_background() {}
    }
    let mut got = [0; 8];
    recv(&mut pair.ends[1], 77, &mut got, None);
    pair.send_early(0, 77, b"wake up!", true);
    assert!(is_ready(PATIENCE));
    pair.until_ended(1);
    assert_eq!(std::hint::black_box(&got), b"wake up!");
    pair.close();
}

#[test]
fn messages_in_failed_memory_arrive_another_way() {
    for round in 0..8 {
        let mut pair = Pair::sharing([true; 2], None);
        let len = |at: usize| LENS[(at + round) % LENS.len()].min(200_000);
        let sent: Vec<Vec<u8>> = (0..150).map(|at| pattern(len(at), at as u8)).collect();
        let (got, operations) = pair.send_all(&sent);
        (0..round).for_each(|_| {
            pair.ends[1].progress();
        });
        let bells = bells();
        // SAFETY: it is a socket of this test's endpoints, which are not used meanwhile.
        let bell = unsafe { BorrowedFd::borrow_raw(bells[round % bells.len()]) };
        SockRef::from(&bell).shutdown(std::net::Shutdown::Both).unwrap();
        pair.until_ended(operations);
        assert!(std::hint::black_box(got) == sent, "round {round}");
        pair.exchange(100_000, false);
        pair.close();
    }
}

#[test]
fn a_registration_that_ends_leaves_sends_from_the_same_memory_alone() {
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("stats");
    let mut pair = Pair::sharing([true; 2], Some(&stats));
    let sent = pattern(1 << 20, 1);
    let registration = Registration { key: 7, memory: payload_of(&sent), base: 0, readable: true, writable: false };
    pair.ends[0].register(registration).unwrap();
    pair.send_early(0, 1000, &sent, false);
    assert!(pair.ends[0].deregister(7));
    let mut got = vec![0; sent.len()];
    recv(&mut pair.ends[1], 1000, &mut got, None);
    pair.until_ended(2);
    assert!(std::hint::black_box(got) == sent);
    pair.close();
    assert!(sent_over(&stats, "shm") >= sent.len() as u64 && sent_over(&stats, "lo") < 1000);
}

#[test]
fn one_side_that_does_not_want_it_is_enough() {
    for wanted in [[true, false], [false, true], [false, false]] {
        let folder = tempfile::tempdir().unwrap();
        let stats = folder.path().join("stats");
        let mut pair = Pair::sharing(wanted, Some(&stats));
        pair.exchange(100_000, false);
        assert_eq!(bells().len(), 0);
        pair.close();
        assert_eq!(sent_over(&stats, "shm"), 0);
        assert!(sent_over(&stats, "lo") >= 200_000);
    }
}
