//! Endpoints of one process, with somebody in between who reads and changes what passes.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fishplate_engine::{Completion, Context, Envelope, SendRequest, VcId};
use fishplate_rails::streams::Streams;
use fishplate_rails::{Address, Endpoint, Settings};

use crate::requests::{extent, recv};

/// How long a test waits for what must come: long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// What each side says until frames may follow, in bytes (docs/internals/wire.md): HELLO and PROOF, CHALLENGE and ACCEPT.
const HANDSHAKE_LENS: [usize; 2] = [80 + 120, 120 + 48];

/// Settings of endpoints with `streams` streams over loopback.
pub fn settings(streams: u8) -> Settings {
    let (rails, streams) = (vec!["lo".into()], Streams::Fixed(streams));
    Settings { rails, streams, shared_memory: false, top: false, ..Settings::default() }
}

pub fn send(endpoint: &mut Endpoint, vc: VcId, tag: u64, bytes: &[u8]) {
    let (envelope, payload, context) = (Envelope::Tagged(tag), extent(bytes), Context(tag));
    endpoint.send(SendRequest { vc, envelope, data: None, payload, inject: false, notify: true, context }).unwrap();
}

/// Two endpoints, the second of which the first reaches through somebody else.
pub struct Pair {
    pub ends: [Endpoint; 2],
    pub between: Between,
}

impl Pair {
    pub fn open(settings: [Settings; 2]) -> Pair {
        // SAFETY: the buffers of these tests outlive their operations.
        let ends = settings.map(|settings| unsafe { Endpoint::open(&settings) }.unwrap());
        let between = Between::open(ends[1].address());
        Pair { ends, between }
    }

    /// Sends `bytes` and waits until they have arrived, and the sender knows.
    pub fn carry(&mut self, tag: u64, bytes: &[u8]) {
        let to = self.ends[0].peer(&self.between.address);
        let mut got = vec![0; bytes.len()];
        recv(&mut self.ends[1], tag, &mut got, None);
        send(&mut self.ends[0], to, tag, bytes);
        for _ in 0..2 {
            let completion = self.next();
            assert!(completion.result.is_ok(), "{completion:?}");
        }
        assert!(got == bytes, "message {tag} of {} bytes has arrived changed", bytes.len());
    }

    /// The next completion of any of both.
    pub fn next(&mut self) -> Completion {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            self.between.pass();
            for end in &mut self.ends {
                end.progress();
                if let Some(completion) = end.poll_completion() {
                    return completion;
                }
            }
        }
        panic!("nothing comes");
    }
}

/// Somebody whom all connections of an endpoint pass.
pub struct Between {
    listener: TcpListener,
    target: SocketAddr,
    /// The endpoint's, but that it leads here.
    pub address: Address,
    pipes: Vec<Pipe>,
    /// All that has passed.
    pub seen: Vec<u8>,
    /// Number of connections of which a bit is flipped, from the first on.
    pub spoils: usize,
    /// Mean distance of flipped bits in bytes; 0: none.
    pub spoils_one_in: usize,
    random: fastrand::Rng,
}

/// One direction of a connection.
struct Pipe {
    from: TcpStream,
    to: TcpStream,
    /// Read, and not yet written.
    under_way: Vec<u8>,
    passed: usize,
    /// The byte of which a bit is changed next.
    spoils: Option<usize>,
    /// Bits that were changed.
    spoilt: usize,
}

impl Between {
    fn open(target: &Address) -> Between {
        let listener = TcpListener::bind((target.rails[0][0], 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = Address { port: listener.local_addr().unwrap().port(), ..target.clone() };
        let target = (target.rails[0][0], target.port).into();
        let random = fastrand::Rng::with_seed(7);
        let (pipes, seen) = (Vec::new(), Vec::new());
        Between { listener, target, address, pipes, seen, spoils: 0, spoils_one_in: 0, random }
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.pipes.len() / 2
    }

    /// Bits that were changed so far.
    pub fn spoilt(&self) -> usize {
        self.pipes.iter().map(|pipe| pipe.spoilt).sum()
    }

    pub fn pass(&mut self) {
        while let Ok((here, _)) = self.listener.accept() {
            let there = TcpStream::connect(self.target).unwrap();
            [&here, &there].into_iter().for_each(|stream| stream.set_nonblocking(true).unwrap());
            let spoils = self.pipes.len() / 2 < self.spoils;
            for (direction, (from, to)) in [(&here, &there), (&there, &here)].into_iter().enumerate() {
                self.pipes.push(Pipe {
                    from: from.try_clone().unwrap(),
                    to: to.try_clone().unwrap(),
                    under_way: Vec::new(),
                    passed: 0,
                    // The first record or frame: what it begins with, or what it holds.
                    spoils: spoils.then_some(HANDSHAKE_LENS[direction] + 3),
                    spoilt: 0,
                });
            }
        }
        for (at, pipe) in self.pipes.iter_mut().enumerate() {
            if self.spoils_one_in > 0 && pipe.spoils.is_none_or(|at| at < pipe.passed) {
                let next = pipe.passed.max(HANDSHAKE_LENS[at % 2]) + self.random.usize(..2 * self.spoils_one_in);
                pipe.spoils = Some(next);
            }
            pipe.pass(&mut self.seen, 1 << self.random.u8(..8));
        }
    }
}

impl Pipe {
    /// Passes on what has come, with the bits of `mask` of the byte that is to be changed.
    fn pass(&mut self, seen: &mut Vec<u8>, mask: u8) {
        let mut bytes = [0; 1 << 16];
        if self.under_way.is_empty() {
            match self.from.read(&mut bytes) {
                Ok(0) => drop(self.to.shutdown(std::net::Shutdown::Write)),
                Ok(got) => {
                    let bytes = &mut bytes[..got];
                    let spoilt = self.spoils.and_then(|at| at.checked_sub(self.passed)).filter(|at| *at < got);
                    spoilt.into_iter().for_each(|at| bytes[at] ^= mask);
                    self.spoilt += usize::from(spoilt.is_some());
                    self.passed += got;
                    self.under_way.extend_from_slice(bytes);
                    seen.extend_from_slice(bytes);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => drop(self.to.shutdown(std::net::Shutdown::Both)),
            }
        }
        match self.to.write(&self.under_way) {
            Ok(written) => drop(self.under_way.drain(..written)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => drop(self.from.shutdown(std::net::Shutdown::Both)),
        }
    }
}

/// Messages of the endpoints of this process to the user.
pub static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Listener;

impl log::Log for Listener {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        TOLD.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

/// From now on: the first logger of a process stays.
pub fn listen() {
    if log::set_logger(&Listener).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
}

/// Whether a message to the user contains all of `parts`.
pub fn told(parts: &[&str]) -> bool {
    TOLD.lock().unwrap().iter().any(|line| parts.iter().all(|part| line.contains(part)))
}

pub fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(31).wrapping_add((at >> 8) as u8) ^ seed).collect()
}
