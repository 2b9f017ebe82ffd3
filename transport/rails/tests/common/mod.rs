//! Endpoints of one process for tests, of which each test program uses a part.
#![allow(dead_code)]

pub mod between;
pub mod pair;
pub mod script;
pub mod sharing;
pub mod told;

use std::os::fd::RawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use fishplate_engine::{Completion, Context, Envelope, Failure, Pattern, RecvRequest, SendRequest, VcId};
use fishplate_link_core::payload_of;
use fishplate_rails::{Endpoint, PostError, Settings};

/// How long a test waits for what must come: long enough for a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Settings of endpoints that talk over loopback alone.
pub fn settings() -> Settings {
    Settings { rails: vec!["lo".into()], shared_memory: false, top: false, ..Settings::default() }
}

pub fn open(settings: &Settings) -> Endpoint {
    // SAFETY: the buffers of these tests outlive their operations.
    unsafe { Endpoint::open(settings) }.unwrap()
}

/// A message to send, named by its tag.
pub fn message(vc: VcId, tag: u64, bytes: &[u8]) -> SendRequest {
    SendRequest::new(vc, Envelope::Tagged(tag), payload_of(bytes), Context(tag))
}

/// As [`message`], whose bytes are the user's again at once, and whose success is not reported.
pub fn injected(vc: VcId, tag: u64, bytes: &[u8]) -> SendRequest {
    SendRequest { inject: true, notify: false, ..message(vc, tag, bytes) }
}

pub fn send(endpoint: &mut Endpoint, vc: VcId, tag: u64, bytes: &[u8]) -> Result<bool, PostError> {
    endpoint.send(message(vc, tag, bytes))
}

pub fn recv(endpoint: &mut Endpoint, tag: u64, buffer: &mut [u8], source: Option<VcId>) {
    let pattern = Pattern { source, ..Pattern::tagged(tag) };
    endpoint.recv(RecvRequest::new(pattern, payload_of(buffer), Context(tag)));
}

/// Progresses `endpoint` until `done`.
pub fn until<T>(endpoint: &mut Endpoint, mut done: impl FnMut(&mut Endpoint) -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        endpoint.progress();
        if let Some(result) = done(endpoint) {
            return result;
        }
    }
    panic!("it does not come");
}

/// The next completion of any of these, and whose it is; `meanwhile` happens in each round.
pub fn next(ends: &mut [Endpoint], mut meanwhile: impl FnMut()) -> (usize, Completion) {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        meanwhile();
        for (at, end) in ends.iter_mut().enumerate() {
            end.progress();
            if let Some(completion) = end.poll_completion() {
                return (at, completion);
            }
        }
    }
    panic!("nothing comes");
}

/// Progresses all of these until `operations` of them have ended, which must succeed; `meanwhile` happens in each round.
pub fn until_ended(ends: &mut [Endpoint], operations: usize, mut meanwhile: impl FnMut()) {
    for _ in 0..operations {
        let (_, completion) = next(ends, &mut meanwhile);
        assert!(completion.result.is_ok(), "{completion:?}");
    }
}

/// Why a peer is lost, as the completion of an operation says.
pub fn loss(completion: &Completion) -> String {
    let Err(Failure::PeerLost(why)) = &completion.result else { panic!("{completion:?}") };
    why.to_string()
}

/// Ends endpoints that may still have something for each other.
pub fn close_all(endpoints: impl IntoIterator<Item = Endpoint>) {
    let close = |endpoint: Endpoint| std::thread::spawn(move || endpoint.close());
    let closing: Vec<_> = endpoints.into_iter().map(close).collect();
    closing.into_iter().for_each(|closing| closing.join().unwrap());
}

/// Contents of a message, which no other `seed` has.
pub fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(31).wrapping_add((at >> 8) as u8) ^ seed).collect()
}

/// The sum of a count in the records that endpoints have appended to their file, for rails of which `is_meant`.
pub fn recorded(stats: &Path, count: &str, is_meant: impl Fn(&str) -> bool) -> u64 {
    let text = std::fs::read_to_string(stats).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.filter(|line| is_meant(line["rail"].as_str().unwrap())).map(|line| line[count].as_u64().unwrap()).sum()
}

/// The descriptors of this process.
pub fn descriptors() -> impl Iterator<Item = RawFd> {
    let fds = std::fs::read_dir("/proc/self/fd").unwrap();
    fds.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}
