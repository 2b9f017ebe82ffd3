//! Endpoints of one process that share memory beside their connection over loopback.

mod requests;

use std::os::fd::{BorrowedFd, RawFd};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fishplate_engine::{Context, Envelope, Registration, SendRequest, VcId};
use fishplate_rails::{Endpoint, Settings};
use requests::{extent, recv};
use socket2::SockRef;

/// How long a test waits for what must come: long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Lengths around those at which something else is done with a message.
const LENS: [usize; 12] = [0, 1, 12, 13, 4000, 8191, 8192, 16384, 16385, 65_537, 300_000, 3 << 20];

/// Tests find the sockets of their endpoints among those of the process: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

struct Pair {
    ends: [Endpoint; 2],
    names: [VcId; 2],
    tag: u64,
    _alone: MutexGuard<'static, ()>,
}

impl Pair {
    /// Connected, and sharing memory if both of them may.
    fn open(shared_memory: [bool; 2], stats: Option<&Path>) -> Pair {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let ends = shared_memory.map(|shared_memory| {
            let (rails, stats) = (vec!["lo".into()], stats.map(Path::to_path_buf));
            let settings = Settings { rails, stats, top: false, shared_memory, ..Settings::default() };
            // SAFETY: the buffers of these tests outlive their operations.
            unsafe { Endpoint::open(&settings) }.unwrap()
        });
        let mut pair = Pair { ends, names: [VcId(0); 2], tag: 0, _alone: alone };
        let addresses = [1, 0].map(|at: usize| pair.ends[at].address().clone());
        pair.names = [0, 1].map(|at: usize| pair.ends[at].peer(&addresses[at]));
        pair.exchange(1, false);
        let start = Instant::now();
        while shared_memory == [true; 2] && bells().len() < 2 {
            pair.exchange(1, false);
            assert!(start.elapsed() < PATIENCE, "no memory is shared");
        }
        // What was found may not have been told yet.
        (0..10).for_each(|_| pair.exchange(1, false));
        pair
    }

    fn send(&mut self, from: usize, tag: u64, bytes: &[u8], inject: bool) {
        let (vc, payload) = (self.names[from], extent(bytes));
        let (envelope, context) = (Envelope::Tagged(tag), Context(tag));
        let send = SendRequest { vc, envelope, data: None, payload, inject, notify: !inject, context };
        self.ends[from].send_early(send).unwrap();
    }

    /// Sends each of these from the first end to the second, those that may be injected so. Where they will be received, and how
    /// many operations have to end for that.
    fn send_all(&mut self, sent: &[Vec<u8>]) -> (Vec<Vec<u8>>, usize) {
        for (bytes, tag) in sent.iter().zip(1000..) {
            self.send(0, tag, bytes, bytes.len() <= 16384);
        }
        let notified = sent.iter().filter(|bytes| bytes.len() > 16384).count();
        let mut got: Vec<Vec<u8>> = sent.iter().map(|bytes| vec![0; bytes.len()]).collect();
        for (buffer, tag) in got.iter_mut().zip(1000..) {
            recv(&mut self.ends[1], tag, buffer, None);
        }
        (got, sent.len() + notified)
    }

    /// Both progress until so many operations have ended well.
    fn until_ended(&mut self, mut missing: usize) {
        let start = Instant::now();
        while missing > 0 {
            for end in &mut self.ends {
                end.progress();
                while let Some(completion) = end.poll_completion() {
                    assert!(completion.result.is_ok(), "{completion:?}");
                    missing -= 1;
                }
            }
            assert!(start.elapsed() < PATIENCE, "{missing} operations do not end");
        }
    }

    /// A message each way, every byte checked.
    fn exchange(&mut self, len: usize, inject: bool) {
        for from in 0..2 {
            self.tag += 1;
            let (tag, to) = (self.tag, 1 - from);
            let sent = contents(len, tag);
            let mut got = vec![0; len];
            recv(&mut self.ends[to], tag, &mut got, Some(self.names[to]));
            self.send(from, tag, &sent, inject);
            self.until_ended(if inject { 1 } else { 2 });
            assert!(std::hint::black_box(got) == sent, "message {tag} of {len} bytes has arrived changed");
        }
    }

    fn close(self) {
        let Pair { ends: [a, b], _alone, .. } = self;
        let other = std::thread::spawn(move || a.close());
        b.close();
        other.join().unwrap();
    }
}

fn contents(len: usize, tag: u64) -> Vec<u8> {
    (0..len as u64).map(|at| (at * 31 + (at >> 9) + tag * 7) as u8).collect()
}

/// The sockets of this process by which those that share memory wake each other.
fn bells() -> Vec<RawFd> {
    let fds = std::fs::read_dir("/proc/self/fd").unwrap();
    let numbers = fds.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<RawFd>().ok());
    let is_bell = |fd: &RawFd| {
        // SAFETY: the descriptor is only asked, and what is not a socket any more answers with an error.
        let socket = unsafe { BorrowedFd::borrow_raw(*fd) };
        let socket = SockRef::from(&socket);
        let is_listener = socket.is_listener().unwrap_or(true);
        !is_listener && socket.domain().is_ok_and(|domain| domain == socket2::Domain::UNIX)
    };
    numbers.filter(is_bell).collect()
}

/// Counters of the rail of that name: bytes sent by both endpoints.
fn sent_over(stats: &Path, rail: &str) -> u64 {
    let text = std::fs::read_to_string(stats).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.filter(|line| line["rail"] == rail).map(|line| line["tx_bytes"].as_u64().unwrap()).sum()
}

#[test]
fn messages_of_all_lengths_go_through_memory() {
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("stats");
    let mut pair = Pair::open([true; 2], Some(&stats));
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
    let mut pair = Pair::open([true; 2], None);
    let sent: Vec<Vec<u8>> = (0..600).map(|at| contents(LENS[at % LENS.len()].min(20_000), at as u64)).collect();
    let (got, operations) = pair.send_all(&sent);
    pair.until_ended(operations);
    assert!(std::hint::black_box(got) == sent);
    pair.close();
}

#[test]
fn whoever_waits_in_the_kernel_is_woken_by_a_message_in_memory() {
    let mut pair = Pair::open([true; 2], None);
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
    pair.send(0, 77, b"wake up!", true);
    assert!(is_ready(PATIENCE));
    pair.until_ended(1);
    assert_eq!(std::hint::black_box(&got), b"wake up!");
    pair.close();
}

#[test]
fn what_was_in_memory_when_that_fails_arrives_another_way() {
    for round in 0..8 {
        let mut pair = Pair::open([true; 2], None);
        let len = |at: usize| LENS[(at + round) % LENS.len()].min(200_000);
        let sent: Vec<Vec<u8>> = (0..150).map(|at| contents(len(at), at as u64)).collect();
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
    let mut pair = Pair::open([true; 2], Some(&stats));
    let sent = contents(1 << 20, 1);
    let registration = Registration { key: 7, memory: extent(&sent), base: 0, readable: true, writable: false };
    pair.ends[0].register(registration).unwrap();
    pair.send(0, 1000, &sent, false);
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
        let mut pair = Pair::open(wanted, Some(&stats));
        pair.exchange(100_000, false);
        assert_eq!(bells().len(), 0);
        pair.close();
        assert_eq!(sent_over(&stats, "shm"), 0);
        assert!(sent_over(&stats, "lo") >= 200_000);
    }
}
