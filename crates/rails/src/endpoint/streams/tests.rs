//! Two endpoints of one process over loopback, where streams do not grow by themselves.

use std::net::Shutdown;
use std::time::{Duration, Instant as Monotonic};

use fishplate_engine::wire::Body;
use fishplate_engine::{
    Context, Envelope, Extent, Failure, Pattern, Payload, RecvRequest, Region, SendRequest, Source, Space, VcId,
};

use super::*;
use crate::settings::Settings;
use crate::sys::memory::UserMemory;

/// How long a test waits for what must come: long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
const LEN: usize = 200_000;

struct Pair {
    ends: [Endpoint; 2],
    names: [VcId; 2],
    tag: u64,
}

impl Pair {
    /// Connected, the first one having begun.
    fn open() -> Pair {
        let settings = Settings { rails: vec!["lo".into()], top: false, ..Settings::default() };
        let mut ends = [(); 2].map(|()| Endpoint::begin(&settings, UserMemory::of_test()).unwrap());
        let addresses = [ends[1].address().clone(), ends[0].address().clone()];
        let names = [ends[0].peer(&addresses[0]), ends[1].peer(&addresses[1])];
        let mut pair = Pair { ends, names, tag: 0 };
        pair.exchange();
        for end in &mut pair.ends {
            let at = end.links.iter().next().unwrap().0;
            end.look_after_streams_of(at);
        }
        pair
    }

    /// A message each way, every byte checked.
    fn exchange(&mut self) {
        for from in 0..2 {
            self.tag += 1;
            let (tag, to) = (self.tag, 1 - from);
            let sent: Vec<u8> = (0..LEN).map(|at| (at as u64 * 31 + tag * 7) as u8).collect();
            let got = vec![0; LEN];
            let context = Context(tag);
            self.ends[to].recv(RecvRequest {
                pattern: Pattern { space: Space::Tagged { tag, ignore: 0 }, source: Some(self.names[to]) },
                buffer: extent(&got),
                multi_min_free: None,
                notify: true,
                context,
            });
            let (vc, envelope, payload) = (self.names[from], Envelope::Tagged(tag), extent(&sent));
            let send = SendRequest { vc, envelope, data: None, payload, inject: false, notify: true, context };
            self.ends[from].send(send).unwrap();
            let mut missing = 2;
            self.until(|pair| {
                for end in &mut pair.ends {
                    while let Some(completion) = end.poll_completion() {
                        assert_eq!(completion.result, Ok(()));
                        missing -= 1;
                    }
                }
                missing == 0
            });
            assert!(std::hint::black_box(got) == sent, "message {tag} has arrived changed");
        }
    }

    fn until(&mut self, mut done: impl FnMut(&mut Pair) -> bool) {
        let start = Monotonic::now();
        loop {
            self.ends.iter_mut().for_each(|end| {
                end.progress();
            });
            if done(self) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "nothing came");
        }
    }

    /// Messages go on until both sides have so many links and nothing changes.
    fn exchange_until(&mut self, links: usize) {
        let start = Monotonic::now();
        while self.ends.iter().any(|end| end.links.len() != links || !end.attempts.is_empty()) {
            self.exchange();
            let counts = [0, 1].map(|at| self.ends[at].links.len());
            assert!(start.elapsed() < PATIENCE, "{counts:?} links, not {links}");
        }
        self.exchange();
    }

    fn now(&self, end: usize) -> Instant {
        self.ends[end].clock.now()
    }

    fn set_up_more(&mut self, end: usize, count: u8) {
        let now = self.now(end);
        self.ends[end].set_up_more(0, count, now);
    }

    fn let_go_of(&mut self, end: usize, count: u8) {
        let now = self.now(end);
        self.ends[end].let_go_of(0, count, now);
    }

    fn close(self) {
        let [a, b] = self.ends;
        let other = std::thread::spawn(move || a.close());
        b.close();
        other.join().unwrap();
    }
}

fn extent(bytes: &[u8]) -> Payload {
    let region = Region(bytes.as_ptr().expose_provenance() as u64);
    Payload::One(Extent { region, offset: 0, len: bytes.len() as u64 })
}

#[test]
fn either_side_sets_up_streams_and_lets_its_own_go_under_traffic() {
    let mut pair = Pair::open();
    pair.set_up_more(0, 3);
    pair.exchange_until(4);
    pair.set_up_more(1, 2);
    pair.exchange_until(6);
    let busy = pair.ends[0].links.iter().filter(|(_, link)| link.counts.tx_bytes > 0).count();
    assert!(busy > 1, "all goes over one");
    // More than it has set up.
    pair.let_go_of(1, 5);
    pair.exchange_until(4);
    pair.let_go_of(0, 2);
    pair.set_up_more(1, 1);
    pair.exchange_until(3);
    pair.let_go_of(0, 1);
    pair.let_go_of(1, 1);
    pair.exchange_until(1);
    // It is nobody's to let go.
    pair.let_go_of(0, 1);
    pair.exchange_until(1);
    pair.close();
}

#[test]
fn there_are_no_more_streams_than_a_rail_may_have() {
    let mut pair = Pair::open();
    pair.set_up_more(0, 20);
    pair.exchange_until(usize::from(MOST_STREAMS));
    pair.close();
}

#[test]
fn a_stream_that_breaks_is_not_set_up_again() {
    let mut pair = Pair::open();
    pair.set_up_more(0, 2);
    pair.exchange_until(3);
    let additional = pair.ends[0].links.iter().find(|(_, link)| link.line.is_additional());
    additional.unwrap().1.socket.shutdown(Shutdown::Both).unwrap();
    pair.exchange_until(2);
    pair.close();
}

#[test]
fn a_peer_that_lets_go_of_what_has_to_stay_breaks_the_protocol() {
    let mut pair = Pair::open();
    let at = pair.ends[0].links.iter().next().unwrap().0;
    let now = pair.now(0);
    let end = &mut pair.ends[0];
    let header = end.engine.bare_header(now, end.links[at].subchannel, Body::Leave);
    end.links[at].transmit.push(&header, &Source::User(Payload::EMPTY), false, &end.memory, &end.bounces);
    end.flush(at);
    let buffer = [0; 8];
    pair.ends[1].recv(RecvRequest {
        pattern: Pattern { space: Space::Message, source: Some(pair.names[1]) },
        buffer: extent(&buffer),
        multi_min_free: None,
        notify: true,
        context: Context(99),
    });
    let mut why = None;
    pair.until(|pair| {
        why = pair.ends[1].poll_completion();
        why.is_some()
    });
    let Some(Err(Failure::PeerLost(why))) = why.map(|completion| completion.result) else { panic!("it is not lost") };
    assert!(why.contains("it lets go of a connection that has to stay"), "{why}");
}
