//! Connections are cut under endpoints of one process: nothing is lost, and the end of a peer is reported.

mod requests;

use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use fishplate_engine::{Completion, Context, Envelope, Failure, SendRequest, VcId};
use fishplate_rails::streams::Streams;
use fishplate_rails::transfer::ThreadLimit;
use fishplate_rails::{Endpoint, Settings};
use requests::{extent, recv};
use socket2::SockRef;

/// How long a test waits for what must come: long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
const LEN: usize = 300_000;

/// Two endpoints, and how each calls the other.
struct Pair {
    ends: [Endpoint; 2],
    names: [VcId; 2],
}

impl Pair {
    fn open(streams: u8, encryption: bool) -> Pair {
        Pair::with_threads(streams, encryption, ThreadLimit::Fixed(0))
    }

    /// With this number of transfer threads at each end.
    fn with_threads(streams: u8, encryption: bool, threads: ThreadLimit) -> Pair {
        let (rails, streams) = (vec!["lo".into()], Streams::Fixed(streams));
        let settings = Settings { rails, streams, encryption, threads, shared_memory: false, ..Settings::default() };
        // SAFETY: the buffers of these tests outlive their operations.
        let mut ends = [(); 2].map(|()| unsafe { Endpoint::open(&settings) }.unwrap());
        let addresses = [ends[1].address().clone(), ends[0].address().clone()];
        let names = [ends[0].peer(&addresses[0]), ends[1].peer(&addresses[1])];
        Pair { ends, names }
    }

    /// Sends message number `tag` from one to the other and back, and checks every byte. Calls `disturb` in between.
    fn exchange(&mut self, tag: u64, mut disturb: impl FnMut(&Pair, usize)) {
        for from in 0..2 {
            let to = 1 - from;
            let sent: Vec<u8> = (0..LEN).map(|at| (at as u64 * 31 + tag * 7 + from as u64) as u8).collect();
            let mut got = vec![0; LEN];
            recv(&mut self.ends[to], tag, &mut got, Some(self.names[to]));
            self.ends[from]
                .send(SendRequest {
                    vc: self.names[from],
                    envelope: Envelope::Tagged(tag),
                    data: None,
                    payload: extent(&sent),
                    inject: false,
                    notify: true,
                    context: Context(tag),
                })
                .unwrap();
            let mut round = 0;
            let mut missing = 2;
            let start = Instant::now();
            while missing > 0 {
                disturb(self, round);
                round += 1;
                for end in &mut self.ends {
                    end.progress();
                    while let Some(completion) = end.poll_completion() {
                        assert!(completion.result.is_ok(), "{completion:?}");
                        missing -= 1;
                    }
                }
                assert!(start.elapsed() < PATIENCE, "message {tag} is lost");
            }
            assert!(got == sent, "message {tag} has arrived changed");
        }
    }

    fn close(self) {
        let [a, b] = self.ends;
        let other = std::thread::spawn(move || a.close());
        b.close();
        other.join().unwrap();
    }

    fn port(&self, end: usize) -> u16 {
        self.ends[end].address().port
    }
}

/// The process's sockets that are connected to one of these ports.
fn connections(ports: [u16; 2]) -> Vec<RawFd> {
    let fds = std::fs::read_dir("/proc/self/fd").unwrap();
    let numbers = fds.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<RawFd>().ok());
    numbers.filter(|fd| remote(*fd).is_some_and(|remote| ports.contains(&remote.port()))).collect()
}

fn remote(fd: RawFd) -> Option<SocketAddr> {
    // SAFETY: the descriptor is only queried, which fails if it is no socket any more.
    let socket = unsafe { BorrowedFd::borrow_raw(fd) };
    SockRef::from(&socket).peer_addr().ok()?.as_socket()
}

/// Shuts one of the connections, both ways, as if the path had been reset.
fn cut(pair: &Pair, which: usize) {
    let open = connections([pair.port(0), pair.port(1)]);
    if open.is_empty() {
        return;
    }
    // SAFETY: it is a socket of this test's endpoints, which are not used meanwhile.
    let socket = unsafe { BorrowedFd::borrow_raw(open[which % open.len()]) };
    let _ = SockRef::from(&socket).shutdown(std::net::Shutdown::Both);
}

#[test]
fn one_of_two_connections_may_be_cut_again_and_again() {
    cut_again_and_again(Pair::open(2, false));
}

#[test]
fn an_encrypted_connection_may_be_cut_too() {
    cut_again_and_again(Pair::open(2, true));
}

#[test]
fn connections_of_which_threads_send_and_receive_may_be_cut_too() {
    cut_again_and_again(Pair::with_threads(4, false, ThreadLimit::Fixed(3)));
    cut_again_and_again(Pair::with_threads(4, true, ThreadLimit::Fixed(3)));
}

fn cut_again_and_again(mut pair: Pair) {
    for tag in 0..30 {
        pair.exchange(tag, |pair, round| {
            if round == tag as usize % 7 {
                cut(pair, tag as usize);
            }
        });
    }
    pair.close();
}

#[test]
fn the_only_connection_may_be_cut_too() {
    let mut pair = Pair::open(1, false);
    for tag in 0..12 {
        pair.exchange(tag, |pair, round| {
            if round == tag as usize % 5 {
                cut(pair, 0);
            }
        });
    }
    pair.close();
}

#[test]
fn a_peer_that_has_ended_is_reported_at_once_and_with_the_rail() {
    let mut pair = Pair::open(2, false);
    pair.exchange(1, |_, _| {});
    let Pair { ends: [mut left, gone], names } = pair;
    drop(gone);
    let mut buffer = [0; 8];
    recv(&mut left, 2, &mut buffer, Some(names[0]));
    let start = Instant::now();
    let completion: Completion = loop {
        left.progress();
        if let Some(completion) = left.poll_completion() {
            break completion;
        }
        assert!(start.elapsed() < PATIENCE, "the failure was not reported");
    };
    let Err(Failure::PeerLost(why)) = completion.result else { panic!("{completion:?}") };
    assert!(why.contains("its process has ended") && why.contains("rail lo"), "{why}");
    // Far less than the time that a peer may be out of reach.
    assert!(start.elapsed() < Settings::default().timeout, "{:?}", start.elapsed());
}
