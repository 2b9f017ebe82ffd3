//! Two endpoints of this process that share memory beside their connection over loopback.

use std::os::fd::{BorrowedFd, RawFd};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fishplate_engine::{Context, Envelope, SendRequest, VcId};
use fishplate_rails::{Endpoint, Settings};
use socket2::SockRef;

use crate::requests::{extent, recv};

/// How long a test waits for what must come: long enough for a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Tests find the sockets of their endpoints among those of the process: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

pub struct Pair {
    pub ends: [Endpoint; 2],
    pub names: [VcId; 2],
    tag: u64,
    _alone: MutexGuard<'static, ()>,
}

impl Pair {
    /// Connected, and sharing memory if both of them may.
    pub fn open(shared_memory: [bool; 2], stats: Option<&Path>) -> Pair {
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
        // The finding may not have been reported yet.
        (0..10).for_each(|_| pair.exchange(1, false));
        pair
    }

    pub fn send(&mut self, from: usize, tag: u64, bytes: &[u8], inject: bool) {
        let (vc, payload) = (self.names[from], extent(bytes));
        let (envelope, context) = (Envelope::Tagged(tag), Context(tag));
        let send = SendRequest { vc, envelope, data: None, payload, inject, notify: !inject, context };
        self.ends[from].send_early(send).unwrap();
    }

    /// Both make progress until `missing` operations completed successfully.
    pub fn until_ended(&mut self, mut missing: usize) {
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
    pub fn exchange(&mut self, len: usize, inject: bool) {
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

    pub fn close(self) {
        let Pair { ends: [a, b], _alone, .. } = self;
        let other = std::thread::spawn(move || a.close());
        b.close();
        other.join().unwrap();
    }
}

pub fn contents(len: usize, tag: u64) -> Vec<u8> {
    (0..len as u64).map(|at| (at * 31 + (at >> 9) + tag * 7) as u8).collect()
}

/// The sockets of this process by which those that share memory wake each other.
pub fn bells() -> Vec<RawFd> {
    let fds = std::fs::read_dir("/proc/self/fd").unwrap();
    let numbers = fds.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<RawFd>().ok());
    let is_bell = |fd: &RawFd| {
        // SAFETY: the descriptor is only queried, which fails if it is no socket any more.
        let socket = unsafe { BorrowedFd::borrow_raw(*fd) };
        let socket = SockRef::from(&socket);
        let is_listener = socket.is_listener().unwrap_or(true);
        !is_listener && socket.domain().is_ok_and(|domain| domain == socket2::Domain::UNIX)
    };
    numbers.filter(is_bell).collect()
}

/// Counters of the rail of that name: bytes sent by both endpoints.
pub fn sent_over(stats: &Path, rail: &str) -> u64 {
    let text = std::fs::read_to_string(stats).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.filter(|line| line["rail"] == rail).map(|line| line["tx_bytes"].as_u64().unwrap()).sum()
}
