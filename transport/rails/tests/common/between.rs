//! Somebody whom all connections of endpoints pass: who reads them, changes bits, and puts messages in.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use fishplate_rails::Address;

/// Lengths of the first two messages of each direction (docs/internals/wire.md): HELLO and PROOF, CHALLENGE and ACCEPT.
const LENS: [[usize; 2]; 2] = [[80, 120], [120, 48]];

/// A message, and where it is put into the next connection.
#[derive(Clone, Debug)]
pub struct Injection {
    /// In that direction.
    pub to_acceptor: bool,
    /// In front of the first message (0) or the second (1).
    pub before: usize,
    pub bytes: Vec<u8>,
}

pub struct Between {
    /// Where an endpoint is reached by way of here, and its own address.
    ways: Vec<(TcpListener, SocketAddr)>,
    pipes: Vec<Pipe>,
    injection: Option<Injection>,
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
    to_acceptor: bool,
    from: TcpStream,
    to: TcpStream,
    /// Read, and not yet written.
    under_way: Vec<u8>,
    passed: usize,
    /// Bytes that are put in when `passed` has this value.
    injected: Option<(usize, Vec<u8>)>,
    /// The byte of which a bit is changed next.
    spoils: Option<usize>,
    /// Bits that were changed.
    spoilt: usize,
}

impl Between {
    pub fn new() -> Between {
        let (ways, pipes, seen, random) = (Vec::new(), Vec::new(), Vec::new(), fastrand::Rng::with_seed(7));
        Between { ways, pipes, injection: None, seen, spoils: 0, spoils_one_in: 0, random }
    }

    /// The address of an endpoint, but that it leads here.
    pub fn way_to(&mut self, target: &Address) -> Address {
        let listener = TcpListener::bind((target.rails[0][0], 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = Address { port: listener.local_addr().unwrap().port(), ..target.clone() };
        self.ways.push((listener, (target.rails[0][0], target.port).into()));
        address
    }

    /// The next connection gets it.
    pub fn inject(&mut self, injection: Injection) {
        self.injection = Some(injection);
    }

    /// Puts bytes into all connections, between what has passed and what has not.
    pub fn put_in(&mut self, to_acceptor: bool, bytes: &[u8]) {
        assert!(!self.pipes.is_empty(), "no connection passes here");
        let pipes = self.pipes.iter_mut().filter(|pipe| pipe.to_acceptor == to_acceptor);
        pipes.for_each(|pipe| pipe.under_way.extend_from_slice(bytes));
    }

    /// The message of [`Between::inject`] is under way, or has passed.
    pub fn is_injected(&self) -> bool {
        self.injection.is_none() && self.pipes.iter().all(|pipe| pipe.injected.is_none())
    }

    /// Connections so far, or since they were cut.
    pub fn connections(&self) -> usize {
        self.pipes.len() / 2
    }

    /// Bits that were changed so far.
    pub fn spoilt(&self) -> usize {
        self.pipes.iter().map(|pipe| pipe.spoilt).sum()
    }

    /// Ends all connections.
    pub fn cut(&mut self) {
        self.pipes.clear();
    }

    pub fn pass(&mut self) {
        for way in 0..self.ways.len() {
            self.accept(way);
        }
        for pipe in &mut self.pipes {
            if self.spoils_one_in > 0 && pipe.spoils.is_none_or(|at| at < pipe.passed) {
                let from = pipe.passed.max(pipe.handshake_len());
                pipe.spoils = Some(from + self.random.usize(..2 * self.spoils_one_in));
            }
            pipe.pass(&mut self.seen, 1 << self.random.u8(..8));
        }
    }

    fn accept(&mut self, way: usize) {
        let (listener, target) = &self.ways[way];
        while let Ok((here, _)) = listener.accept() {
            let there = TcpStream::connect(target).unwrap();
            [&here, &there].into_iter().for_each(|stream| stream.set_nonblocking(true).unwrap());
            let (injection, is_spoilt) = (self.injection.take(), self.pipes.len() / 2 < self.spoils);
            for (to_acceptor, from, to) in [(true, &here, &there), (false, &there, &here)] {
                let [from, to] = [from, to].map(|stream| stream.try_clone().unwrap());
                let (under_way, injected, spoils) = (Vec::new(), None, None);
                let mut pipe = Pipe { to_acceptor, from, to, under_way, passed: 0, injected, spoils, spoilt: 0 };
                let injection = injection.as_ref().filter(|injection| injection.to_acceptor == to_acceptor);
                pipe.injected =
                    injection.map(|injection| (pipe.lens()[..injection.before].iter().sum(), injection.bytes.clone()));
                // The first record or frame: what it begins with, or what it holds.
                pipe.spoils = is_spoilt.then_some(pipe.handshake_len() + 3);
                self.pipes.push(pipe);
            }
        }
    }
}

impl Pipe {
    /// Lengths of the messages of the set-up.
    fn lens(&self) -> [usize; 2] {
        LENS[usize::from(!self.to_acceptor)]
    }

    fn handshake_len(&self) -> usize {
        self.lens().iter().sum()
    }

    /// Passes on what has come, with the bits of `mask` of the byte that is to be changed.
    fn pass(&mut self, seen: &mut Vec<u8>, mask: u8) {
        self.put_in();
        let mut bytes = [0; 1 << 16];
        if self.under_way.is_empty() {
            // Not beyond the place where something is put in.
            let most = self.injected.as_ref().map_or(bytes.len(), |(at, _)| at - self.passed);
            match self.from.read(&mut bytes[..most]) {
                Ok(0) => drop(self.to.shutdown(Shutdown::Write)),
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
                Err(_) => drop(self.to.shutdown(Shutdown::Both)),
            }
        }
        self.put_in();
        match self.to.write(&self.under_way) {
            Ok(written) => drop(self.under_way.drain(..written)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => drop(self.from.shutdown(Shutdown::Both)),
        }
    }

    fn put_in(&mut self) {
        if let Some((_, bytes)) = self.injected.take_if(|(at, _)| *at == self.passed) {
            self.under_way.extend(bytes);
        }
    }
}
