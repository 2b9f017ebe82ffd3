//! Encrypted endpoints of one process, with somebody in between who reads and changes what passes.

mod requests;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fishplate_engine::{Completion, Context, Envelope, Failure, SendRequest, VcId};
use fishplate_rails::streams::Streams;
use fishplate_rails::{Address, Endpoint, Settings};
use requests::{extent, recv};

/// How long a test waits for what must come: long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// What each side says until frames may follow, in bytes (docs/internals/wire.md): HELLO and PROOF, CHALLENGE and
/// ACCEPT.
const HANDSHAKE_LENS: [usize; 2] = [80 + 120, 120 + 48];

fn open(encryption: bool, streams: u8) -> Endpoint {
    let streams = Streams::Fixed(streams);
    let settings =
        Settings { rails: vec!["lo".into()], streams, encryption, shared_memory: false, ..Settings::default() };
    // SAFETY: the buffers of these tests outlive their operations.
    unsafe { Endpoint::open(&settings) }.unwrap()
}

fn send(endpoint: &mut Endpoint, vc: VcId, tag: u64, bytes: &[u8]) {
    let (envelope, payload, context) = (Envelope::Tagged(tag), extent(bytes), Context(tag));
    endpoint.send(SendRequest { vc, envelope, data: None, payload, inject: false, notify: true, context }).unwrap();
}

/// Two endpoints, the second of which the first reaches through somebody else.
struct Pair {
    ends: [Endpoint; 2],
    between: Between,
}

impl Pair {
    fn open(encryption: [bool; 2], streams: u8) -> Pair {
        let ends = encryption.map(|encryption| open(encryption, streams));
        let between = Between::open(ends[1].address());
        Pair { ends, between }
    }

    /// Sends `bytes` and waits until they have arrived, and the sender knows.
    fn carry(&mut self, tag: u64, bytes: &[u8]) {
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
    fn next(&mut self) -> Completion {
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
struct Between {
    listener: TcpListener,
    target: SocketAddr,
    /// The endpoint's, but that it leads here.
    address: Address,
    pipes: Vec<Pipe>,
    /// All that has passed.
    seen: Vec<u8>,
    /// Changes a bit of so many connections, from the first on.
    spoils: usize,
}

/// One direction of a connection.
struct Pipe {
    from: TcpStream,
    to: TcpStream,
    /// Read, and not yet written.
    under_way: Vec<u8>,
    passed: usize,
    /// The byte of which one bit is changed.
    spoils: Option<usize>,
}

impl Between {
    fn open(target: &Address) -> Between {
        let listener = TcpListener::bind((target.rails[0][0], 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = Address { port: listener.local_addr().unwrap().port(), ..target.clone() };
        let target = (target.rails[0][0], target.port).into();
        Between { listener, target, address, pipes: Vec::new(), seen: Vec::new(), spoils: 0 }
    }

    fn pass(&mut self) {
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
                    // The first record: its length, tag, or what it holds.
                    spoils: spoils.then_some(HANDSHAKE_LENS[direction] + 3),
                });
            }
        }
        self.pipes.iter_mut().for_each(|pipe| pipe.pass(&mut self.seen));
    }
}

impl Pipe {
    fn pass(&mut self, seen: &mut Vec<u8>) {
        let mut bytes = [0; 1 << 16];
        if self.under_way.is_empty() {
            match self.from.read(&mut bytes) {
                Ok(0) => drop(self.to.shutdown(std::net::Shutdown::Write)),
                Ok(got) => {
                    let bytes = &mut bytes[..got];
                    let spoilt = self.spoils.and_then(|at| at.checked_sub(self.passed)).filter(|at| *at < got);
                    spoilt.into_iter().for_each(|at| bytes[at] ^= 0x10);
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

/// What the endpoints of this process have told the user.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

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
fn listen() {
    if log::set_logger(&Listener).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
}

/// Whether the user was told something that contains all of `parts`.
fn told(parts: &[&str]) -> bool {
    TOLD.lock().unwrap().iter().any(|line| parts.iter().all(|part| line.contains(part)))
}

fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(31).wrapping_add((at >> 8) as u8) ^ seed).collect()
}

#[test]
fn messages_of_all_sizes_arrive_over_several_encrypted_streams() {
    listen();
    let mut pair = Pair::open([true; 2], 3);
    let sizes = [0, 1, 2047, 4096, 16_384 - 57, 16_384, 65_536, 65_537, 200_000, 1 << 20, 8 << 20];
    for (tag, len) in sizes.into_iter().enumerate() {
        pair.carry(tag as u64, &pattern(len, tag as u8));
    }
    // And back, over the same connections.
    let back = pattern(300_000, 9);
    let mut got = vec![0; back.len()];
    let from = pair.ends[0].address().clone();
    let to = pair.ends[1].peer(&from);
    recv(&mut pair.ends[0], 99, &mut got, None);
    send(&mut pair.ends[1], to, 99, &back);
    assert!(pair.next().result.is_ok() && pair.next().result.is_ok());
    assert!(got == back, "the answer has arrived changed");
}

#[test]
fn nobody_in_between_reads_what_passes() {
    listen();
    const SECRET: &[u8] = b"what nobody else is meant to read";
    let contains = |seen: &[u8], what: &[u8]| seen.windows(what.len()).any(|part| part == what);
    for encryption in [false, true] {
        let mut pair = Pair::open([encryption; 2], 1);
        for (tag, copies) in [1, 100, 10_000].into_iter().enumerate() {
            pair.carry(tag as u64, &SECRET.repeat(copies));
        }
        let (seen, token) = (&pair.between.seen, pair.ends[1].address().token.0);
        assert!(seen.len() > 10_000 * SECRET.len());
        assert_eq!(contains(seen, SECRET), !encryption);
        assert!(!contains(seen, &token), "the token has passed");
    }
}

#[test]
fn a_change_on_the_way_ends_the_connection_and_what_it_carried_arrives_over_another() {
    listen();
    let mut pair = Pair::open([true; 2], 2);
    pair.between.spoils = 3;
    for tag in 0..5 {
        pair.carry(tag, &pattern(300_000, tag as u8));
    }
    // So the first ones did not last.
    assert!(pair.between.pipes.len() / 2 > 3);
    let parts = ["peer ", "rail lo (127.0.0.1 to 127.0.0.1:", "an encrypted record was changed on its way"];
    assert!(told(&parts), "{TOLD:?}");
}

#[test]
fn one_side_that_encrypts_and_one_that_does_not_refuse_each_other_and_say_why() {
    listen();
    for encryption in [[true, false], [false, true]] {
        let mut pair = Pair::open(encryption, 1);
        let to = pair.ends[0].peer(&pair.between.address);
        let bytes = pattern(100, 1);
        send(&mut pair.ends[0], to, 1, &bytes);
        let completion = pair.next();
        let Err(Failure::PeerLost(why)) = &completion.result else { panic!("{completion:?}") };
        let word = |on| if on { "on" } else { "off" };
        let [here, there] = encryption.map(word);
        let reason = format!("FISHPLATE_ENCRYPTION is {there} at the peer and {here} at this side");
        assert!(why.contains("rail lo") && why.contains(&reason), "{why}");
        let reason = format!("was refused: FISHPLATE_ENCRYPTION is {here} at the peer and {there} at this side");
        assert!(told(&["a connection from 127.0.0.1:", &reason]), "{TOLD:?}");
    }
}
