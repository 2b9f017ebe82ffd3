//! What rails ask of an endpoint: [`Port`] has it, and so has what stands for a provider in tests.

use std::time::Instant;

use fishplate_engine::Payload;

use super::connected::Connected;
use super::port::Endpoints;
use super::{Buffer, Error, Event, LentPiece, PeerAddress, Port, Posted, Registration, Remote};
use crate::sys::memory::UserMemory;

/// An endpoint of a provider. What each does is told at [`Port`].
pub trait Provider {
    /// Registered memory, until it is dropped.
    type Registration;

    /// Where peers reach it.
    fn address(&self) -> Result<Vec<u8>, Error>;

    /// Makes known a peer that needs no connection.
    fn insert(&mut self, address: &[u8]) -> Result<PeerAddress, Error>;

    /// Itself, if it has to be connected to each peer, instead.
    fn connected(&mut self) -> Option<&mut dyn Connected> {
        None
    }

    /// Memory for `count` messages of `len` bytes.
    fn buffers(&self, count: usize, len: usize) -> Result<Vec<Buffer>, Error>;

    /// Registers a payload, so that peers who are told may read it.
    fn lend(&self, memory: &UserMemory, payload: &Payload) -> Result<Vec<LentPiece<Self::Registration>>, Error>;

    /// Bytes that are sent at once without a completion, at most.
    fn inject_len(&self) -> usize;

    /// A message may come into `buffer`.
    fn receive(&mut self, buffer: Buffer) -> Posted<Buffer>;

    /// Sends the first `len` bytes of `buffer`.
    fn send(&mut self, buffer: Buffer, len: usize, peer: PeerAddress, tag: u64) -> Posted<Buffer>;

    /// Sends a few bytes, of which nobody will hear any more.
    fn inject(&mut self, bytes: &[u8], peer: PeerAddress) -> Result<Posted<()>, Error>;

    /// Reads a peer's memory into user memory, one piece.
    fn read(&mut self, to: (&UserMemory, &Payload), from: Remote, peer: PeerAddress, tag: u64) -> Posted<()>;

    /// The same into memory that comes back as well.
    fn read_own(&mut self, own: Vec<u8>, from: Remote, peer: PeerAddress, tag: u64) -> Posted<()>;

    /// Takes what has ended, a part of it. True if there was anything.
    fn poll(&mut self, events: &mut Vec<Event>) -> Result<bool, Error>;

    /// The time, by which waiting is bounded.
    fn now(&self) -> Instant;
}

impl Provider for Port {
    type Registration = Registration;

    fn address(&self) -> Result<Vec<u8>, Error> {
        Port::address(self)
    }

    fn insert(&mut self, address: &[u8]) -> Result<PeerAddress, Error> {
        Port::insert(self, address)
    }

    fn connected(&mut self) -> Option<&mut dyn Connected> {
        match self.endpoints {
            Endpoints::Connected(_) => Some(self),
            Endpoints::Datagram(_) => None,
        }
    }

    fn buffers(&self, count: usize, len: usize) -> Result<Vec<Buffer>, Error> {
        Port::buffers(self, count, len)
    }

    fn lend(&self, memory: &UserMemory, payload: &Payload) -> Result<Vec<LentPiece>, Error> {
        Port::lend(self, memory, payload)
    }

    #[inline]
    fn inject_len(&self) -> usize {
        Port::inject_len(self)
    }

    #[inline]
    fn receive(&mut self, buffer: Buffer) -> Posted<Buffer> {
        Port::receive(self, buffer)
    }

    #[inline]
    fn send(&mut self, buffer: Buffer, len: usize, peer: PeerAddress, tag: u64) -> Posted<Buffer> {
        Port::send(self, buffer, len, peer, tag)
    }

    #[inline]
    fn inject(&mut self, bytes: &[u8], peer: PeerAddress) -> Result<Posted<()>, Error> {
        Port::inject(self, bytes, peer)
    }

    #[inline]
    fn read(&mut self, to: (&UserMemory, &Payload), from: Remote, peer: PeerAddress, tag: u64) -> Posted<()> {
        Port::read(self, to, from, peer, tag)
    }

    fn read_own(&mut self, own: Vec<u8>, from: Remote, peer: PeerAddress, tag: u64) -> Posted<()> {
        Port::read_own(self, own, from, peer, tag)
    }

    #[inline]
    fn poll(&mut self, events: &mut Vec<Event>) -> Result<bool, Error> {
        Port::poll(self, events)
    }

    fn now(&self) -> Instant {
        Instant::now()
    }
}
