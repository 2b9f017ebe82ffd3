//! Pairs that share memory beside their connection over loopback.

use std::os::fd::{BorrowedFd, RawFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use fishplate_rails::Settings;
use socket2::SockRef;

use super::pair::Pair;
use super::{PATIENCE, descriptors, injected, message, pattern, recorded, recv, settings};

/// Tests find the sockets of their endpoints among those of the process: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

impl Pair {
    /// Connected, and sharing memory if both of them may.
    pub fn sharing(shared_memory: [bool; 2], stats: Option<&Path>) -> Pair {
        let alone = Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner));
        let of = |shared_memory| {
            let stats = stats.map(Path::to_path_buf);
            Settings { stats, top: false, shared_memory, ..settings() }
        };
        let mut pair = Pair { alone, ..Pair::open(shared_memory.map(of)) };
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

    /// Sends a message, which completes as soon as its memory may be used again.
    pub fn send_early(&mut self, from: usize, tag: u64, bytes: &[u8], inject: bool) {
        let vc = self.name(from);
        let send = if inject { injected(vc, tag, bytes) } else { message(vc, tag, bytes) };
        self.ends[from].send_early(send).unwrap();
    }

    /// A message each way, every byte checked.
    pub fn exchange(&mut self, len: usize, inject: bool) {
        for from in 0..2 {
            self.tag += 1;
            let (tag, to) = (self.tag, 1 - from);
            let sent = pattern(len, tag as u8);
            let mut got = vec![0; len];
            recv(&mut self.ends[to], tag, &mut got, self.names[to]);
            self.send_early(from, tag, &sent, inject);
            self.until_ended(if inject { 1 } else { 2 });
            assert!(std::hint::black_box(got) == sent, "message {tag} of {len} bytes has arrived changed");
        }
    }
}

/// The sockets of this process by which those that share memory wake each other.
pub fn bells() -> Vec<RawFd> {
    let is_bell = |fd: &RawFd| {
        // SAFETY: the descriptor is only queried, which fails if it is no socket any more.
        let socket = unsafe { BorrowedFd::borrow_raw(*fd) };
        let socket = SockRef::from(&socket);
        let is_listener = socket.is_listener().unwrap_or(true);
        !is_listener && socket.domain().is_ok_and(|domain| domain == socket2::Domain::UNIX)
    };
    descriptors().filter(is_bell).collect()
}

/// Counters of the rail of that name: bytes sent by both endpoints.
pub fn sent_over(stats: &Path, rail: &str) -> u64 {
    recorded(stats, "tx_bytes", |name| name == rail)
}
