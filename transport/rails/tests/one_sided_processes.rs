//! One-sided operations of another process, which writes and reads whatever it can while registrations end at random
//! moments, and which is stopped and killed in the middle.

mod common;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{PATIENCE, injected};
use fishplate_engine::{Context, Failure, ReadRequest, Refusal, Registration, Remote, WriteRequest};
use fishplate_link_core::payload_of;
use fishplate_rails::{Address, Endpoint, Settings};
use rustix::process::{Pid, Signal, kill_process};

/// Registrations that come and go.
const KEYS: usize = 4;
/// Length of each.
const LEN: usize = 1_200_000;
/// What memory has that is not registered.
const ENDED: u8 = 0x11;
/// What it has at first, while it is registered.
const FRESH: u8 = 0x22;
/// What the origin writes.
const WRITTEN: u8 = 0x33;
/// In the environment of the origin: the target's address, and a seed.
const TARGET: &str = "FISHPLATE_TEST_TARGET";
const SEED: &str = "FISHPLATE_TEST_SEED";
/// In that of a target: where to write its address.
const ADDRESS_FILE: &str = "FISHPLATE_TEST_ADDRESS_FILE";

fn open() -> Endpoint {
    common::open(&Settings { shared_memory: true, top: false, ..common::settings() })
}

/// How peers name memory `number` at its `registration`: none of them has the key of another, or what had waited for one could
/// find the next.
fn key(number: usize, registration: u64) -> u64 {
    number as u64 + KEYS as u64 * registration
}

/// The other process: this test, with a target in its environment.
#[test]
fn origin() {
    let Ok(target) = std::env::var(TARGET) else { return };
    let bytes: Vec<u8> = target.split(',').map(|byte| byte.parse().unwrap()).collect();
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut endpoint = open();
    let vc = endpoint.peer(&Address::decode(&bytes).unwrap());
    endpoint.send_early(injected(vc, 1, &[])).unwrap();
    let (source, got) = (vec![WRITTEN; LEN], vec![0u8; LEN]);
    // Of each piece of memory, which registration was found last.
    let mut found = [seed << 32; KEYS];
    loop {
        let len = [1, 8, 4096, 100_000, LEN][random.usize(..5)];
        let (number, address) = (random.usize(..KEYS), random.u64(..=(LEN - len) as u64));
        // It is that one, or the next; or there have been others since.
        let registration = found[number] + if random.u8(..10) > 0 { random.u64(..2) } else { random.u64(..8) };
        let (at, is_write) = (Remote { key: key(number, registration), address }, random.bool());
        let posted = if is_write {
            endpoint.write(WriteRequest::new(vc, at, payload_of(&source[..len]), Context(0)))
        } else {
            let buffer = payload_of(&got[..len]);
            endpoint.read(ReadRequest { vc, from: at, buffer, notify: true, context: Context(0) })
        };
        posted.unwrap();
        let result = loop {
            if let Some(completion) = endpoint.poll_completion() {
                break completion.result;
            }
            endpoint.progress();
        };
        if result.is_ok() {
            found[number] = registration;
        }
        match result {
            // Bytes written after the end of a registration must not be seen.
            Ok(()) if !is_write => {
                let got = &std::hint::black_box(&got)[..len];
                assert!(!got.contains(&ENDED), "what is not registered was read");
            }
            Ok(()) | Err(Failure::Refused(Refusal::Key)) => {}
            Err(failure) => panic!("{failure:?}"),
        }
    }
}

/// Ends with the test, however that ends.
struct Origin(Child);

impl Origin {
    fn start(target: &Endpoint, seed: u64) -> Origin {
        let address: Vec<String> = target.address().encode().iter().map(u8::to_string).collect();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "origin", "--nocapture"]).env(TARGET, address.join(",")).env(SEED, seed.to_string());
        Origin(command.stdout(Stdio::null()).spawn().unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    fn assert_runs(&mut self) {
        assert!(self.0.try_wait().unwrap().is_none(), "the origin has ended: see what it said");
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Memory that is registered now and then.
struct Memory {
    bytes: [Vec<u8>; KEYS],
    is_registered: [bool; KEYS],
    /// How often something had been written, by memory.
    registrations: [u64; KEYS],
    /// How often something had been written when a registration ended.
    written: usize,
}

impl Memory {
    fn new() -> Memory {
        Memory {
            bytes: [(); KEYS].map(|()| vec![ENDED; LEN]),
            is_registered: [false; KEYS],
            registrations: [0; KEYS],
            written: 0,
        }
    }

    fn begin(&mut self, number: usize, target: &mut Endpoint) {
        self.check(number);
        self.bytes[number].fill(FRESH);
        let (memory, key) = (payload_of(&self.bytes[number]), key(number, self.registrations[number]));
        target.register(Registration { key, memory, base: 0, readable: true, writable: true }).unwrap();
        self.is_registered[number] = true;
    }

    fn end(&mut self, number: usize, target: &mut Endpoint) {
        assert!(target.deregister(key(number, self.registrations[number])));
        self.is_registered[number] = false;
        let is_written = std::hint::black_box(&self.bytes[number]).contains(&WRITTEN);
        self.written += usize::from(is_written);
        // What was not found by then has its key again.
        self.registrations[number] += u64::from(is_written);
        self.bytes[number].fill(ENDED);
    }

    /// Nothing has been written since the end.
    fn check(&self, number: usize) {
        let is_untouched = std::hint::black_box(&self.bytes[number])[..] == [ENDED; LEN];
        assert!(is_untouched, "written after the end of the registration");
    }

    fn end_all(&mut self, target: &mut Endpoint) {
        (0..KEYS).for_each(|number| {
            if self.is_registered[number] {
                self.end(number, target);
            }
        });
    }

    /// One turn: mostly progress, which answers what does not go straight.
    fn turn(&mut self, random: &mut fastrand::Rng, target: &mut Endpoint) {
        let number = random.usize(..KEYS);
        match random.u8(..20) {
            0 if self.is_registered[number] => self.end(number, target),
            0 => self.begin(number, target),
            1 => std::thread::sleep(Duration::from_micros(random.u64(..300))),
            _ => {
                target.progress();
            }
        }
    }

    /// Registrations come and go until the origin has written `enough`, in good time from `start` on.
    fn until_written(
        &mut self,
        (enough, start): (usize, Instant),
        origin: &mut Origin,
        random: &mut fastrand::Rng,
        target: &mut Endpoint,
    ) {
        while self.written < enough {
            origin.assert_runs();
            self.turn(random, target);
            assert!(start.elapsed() < PATIENCE, "{} ends of {enough}", self.written);
        }
    }
}

#[test]
fn nothing_is_written_after_the_end_of_a_registration() {
    let mut target = open();
    let mut memory = Memory::new();
    for seed in 0..3 {
        memory.registrations = [seed << 32; KEYS];
        let mut random = fastrand::Rng::with_seed(seed);
        let mut origin = Origin::start(&target, seed);
        let (start, enough) = (Instant::now(), memory.written + 200);
        memory.until_written((enough, start), &mut origin, &mut random, &mut target);
        // In the middle of whatever it does.
        origin.signal(Signal::KILL);
        memory.end_all(&mut target);
        (0..KEYS).for_each(|key| memory.check(key));
        while target.progress() {}
    }
    (0..KEYS).for_each(|key| memory.check(key));
}

#[test]
fn the_end_of_a_registration_does_not_wait_for_an_origin_that_is_stopped() {
    let mut target = open();
    let mut memory = Memory::new();
    let mut random = fastrand::Rng::with_seed(0);
    let mut origin = Origin::start(&target, 0);
    let start = Instant::now();
    for stops in 1..=40 {
        let enough = 3 * stops;
        memory.until_written((enough, start), &mut origin, &mut random, &mut target);
        origin.signal(Signal::STOP);
        memory.end_all(&mut target);
        origin.signal(Signal::CONT);
        // What it was about to do it does now, and answers to what waits for it come as well.
        (0..200).for_each(|_| {
            target.progress();
        });
        std::thread::sleep(Duration::from_millis(1));
        (0..KEYS).for_each(|key| memory.check(key));
    }
}

/// The target is killed while the origin writes and reads: its operations fail, as messages do.
#[test]
fn a_target_that_is_killed_is_lost() {
    let Ok(file) = std::env::var(ADDRESS_FILE) else { return kill_the_target() };
    let mut target = open();
    let memory = vec![0u8; LEN];
    let registration = Registration { key: 0, memory: payload_of(&memory), base: 0, readable: true, writable: true };
    target.register(registration).unwrap();
    let address: Vec<String> = target.address().encode().iter().map(u8::to_string).collect();
    std::fs::write(file, address.join(",")).unwrap();
    loop {
        target.progress();
    }
}

fn kill_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("address");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_target_that_is_killed_is_lost"]).env(ADDRESS_FILE, &file);
    let child = Origin(command.stdout(Stdio::null()).spawn().unwrap());
    let start = Instant::now();
    let bytes: Vec<u8> = loop {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let bytes: Vec<u8> = text.split(',').filter_map(|byte| byte.parse().ok()).collect();
        if bytes.len() == fishplate_rails::ADDRESS_LEN {
            break bytes;
        }
        assert!(start.elapsed() < PATIENCE);
    };
    let mut endpoint = open();
    let vc = endpoint.peer(&Address::decode(&bytes).unwrap());
    let sent = vec![WRITTEN; 100_000];
    let (mut direct, to) = (0, Remote { key: 0, address: 0 });
    loop {
        if endpoint.write(WriteRequest::new(vc, to, payload_of(&sent), Context(1))).is_err() {
            break;
        }
        let mut completion = endpoint.poll_completion();
        direct += usize::from(completion.is_some());
        if direct == 100 {
            child.signal(Signal::KILL);
        }
        while completion.is_none() {
            endpoint.progress();
            completion = endpoint.poll_completion();
            assert!(start.elapsed() < PATIENCE, "after {direct} writes that went straight");
        }
        if let Some(Err(failure)) = completion.map(|completion| completion.result) {
            assert!(matches!(failure, Failure::PeerLost(_)) && direct >= 100, "{failure:?} after {direct}");
            break;
        }
    }
}
