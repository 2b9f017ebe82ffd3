//! Somebody whom all connections of endpoints pass, and who puts a message into one.

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

#[derive(Default)]
pub struct Between {
    /// Where an endpoint is reached by way of here, and its own address.
    ways: Vec<(TcpListener, SocketAddr)>,
    pipes: Vec<Pipe>,
    injection: Option<Injection>,
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
}

impl Between {
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

    /// Ends all connections.
    pub fn cut(&mut self) {
        self.pipes.clear();
    }

    pub fn pass(&mut self) {
        for way in 0..self.ways.len() {
            self.accept(way);
        }
        self.pipes.iter_mut().for_each(Pipe::pass);
    }

    fn accept(&mut self, way: usize) {
        let (listener, target) = &self.ways[way];
        while let Ok((here, _)) = listener.accept() {
            let there = TcpStream::connect(target).unwrap();
            [&here, &there].into_iter().for_each(|stream| stream.set_nonblocking(true).unwrap());
            let injection = self.injection.take();
            for (direction, (from, to)) in [(&here, &there), (&there, &here)].into_iter().enumerate() {
                let is_meant = |one: &&Injection| one.to_acceptor == (direction == 0);
                let injected = injection
                    .as_ref()
                    .filter(is_meant)
                    .map(|injection| (LENS[direction][..injection.before].iter().sum(), injection.bytes.clone()));
                let [from, to] = [from, to].map(|stream| stream.try_clone().unwrap());
                self.pipes.push(Pipe {
                    to_acceptor: direction == 0,
                    from,
                    to,
                    under_way: Vec::new(),
                    passed: 0,
                    injected,
                });
            }
        }
    }
}

impl Pipe {
    fn pass(&mut self) {
        self.put_in();
        let mut bytes = [0; 1 << 16];
        if self.under_way.is_empty() {
            // Not beyond the place where something is put in.
            let most = self.injected.as_ref().map_or(bytes.len(), |(at, _)| at - self.passed);
            match self.from.read(&mut bytes[..most]) {
                Ok(0) => drop(self.to.shutdown(Shutdown::Write)),
                Ok(got) => {
                    self.passed += got;
                    self.under_way.extend_from_slice(&bytes[..got]);
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
