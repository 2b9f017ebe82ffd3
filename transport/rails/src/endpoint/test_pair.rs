//! Two endpoints of one process over loopback, for tests with access to their internals.

use std::time::{Duration, Instant as Monotonic};

use fishplate_engine::{Context, Envelope, Instant, Pattern, RecvRequest, SendRequest, VcId};
use fishplate_link_core::{UserMemory, payload_of};

use super::Endpoint;
use crate::settings::Settings;

/// How long a test waits for what must come: long enough for a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
const LEN: usize = 200_000;

/// Two endpoints that know each other.
pub struct Pair {
    pub ends: [Endpoint; 2],
    /// The channel of each to the other.
    pub names: [VcId; 2],
    tag: u64,
}

impl Pair {
    /// Connected by the first one; the number of streams changes only when a test says so.
    pub fn open() -> Pair {
        Pair::with_rails(&["lo"])
    }

    /// As [`Pair::open`], with these words as FISHPLATE_RAILS.
    pub fn with_rails(words: &[&str]) -> Pair {
        let rails = words.iter().map(|word| word.to_string()).collect();
        let (ablation, streams) = ("parallel-streams".parse().unwrap(), "auto:16".parse().unwrap());
        Pair::with(Settings { rails, ablation, streams, ..Settings::default() })
    }

    /// As [`Pair::open`], with these settings.
    pub fn with(settings: Settings) -> Pair {
        let settings = Settings { top: false, congestion: Some("reno".into()), shared_memory: false, ..settings };
        let mut ends = [(); 2].map(|()| Endpoint::begin(&settings, UserMemory::of_test()).unwrap());
        let addresses = [ends[1].address().clone(), ends[0].address().clone()];
        let names = [ends[0].peer(&addresses[0]), ends[1].peer(&addresses[1])];
        let mut pair = Pair { ends, names, tag: 0 };
        pair.exchange();
        for end in &mut pair.ends {
            let at = end.links.tcp.iter().next().unwrap().0;
            end.manage_streams_of(at);
        }
        pair
    }

    /// The connections of an end.
    pub fn links(&self, end: usize) -> Vec<usize> {
        self.ends[end].links.tcp.iter().map(|(at, _)| at).collect()
    }

    /// A message each way, every byte checked.
    pub fn exchange(&mut self) {
        self.transfer(0, |_| ());
        self.transfer(1, |_| ());
    }

    /// A message from one of them; `meanwhile` happens between the post and any progress.
    pub fn transfer(&mut self, from: usize, meanwhile: impl FnOnce(&mut Pair)) {
        self.tag += 1;
        let (tag, to) = (self.tag, 1 - from);
        let sent: Vec<u8> = (0..LEN).map(|at| (at as u64 * 31 + tag * 7) as u8).collect();
        let got = vec![0; LEN];
        let pattern = Pattern { source: Some(self.names[to]), ..Pattern::tagged(tag) };
        self.ends[to].recv(RecvRequest::new(pattern, payload_of(&got), Context(tag)));
        let send = SendRequest::new(self.names[from], Envelope::Tagged(tag), payload_of(&sent), Context(tag));
        self.ends[from].send(send).unwrap();
        meanwhile(self);
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

    /// Both progress until `done`.
    pub fn until(&mut self, mut done: impl FnMut(&mut Pair) -> bool) {
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

    /// Exchanges messages until both sides have `links` links and the number is stable.
    pub fn exchange_until(&mut self, links: usize) {
        let start = Monotonic::now();
        while self.ends.iter().any(|end| end.links.tcp.len() != links || !end.attempts.is_empty()) {
            self.exchange();
            let counts = [0, 1].map(|at| self.ends[at].links.tcp.len());
            assert!(start.elapsed() < PATIENCE, "{counts:?} links, not {links}");
        }
        self.exchange();
    }

    /// The time at one of them.
    pub fn now(&self, end: usize) -> Instant {
        self.ends[end].clock.now()
    }

    /// One of them starts to set up more streams.
    pub fn add_streams(&mut self, end: usize, count: u8) {
        let now = self.now(end);
        self.ends[end].add_streams(0, count, now);
    }

    /// One of them lets go of streams that it has set up.
    pub fn retire_streams(&mut self, end: usize, count: u8) {
        let now = self.now(end);
        self.ends[end].retire_streams(0, count, now);
    }

    /// Both close.
    pub fn close(self) {
        let [a, b] = self.ends;
        let other = std::thread::spawn(move || a.close());
        b.close();
        other.join().unwrap();
    }
}
