//! The interface of an endpoint for rails, implemented by [`Port`] and by a simulation for tests.

use std::time::Instant;

use fishplate_engine::Payload;

use super::connected::Connected;
use super::port::Endpoints;
use super::{Buffer, Error, Event, LentPiece, PeerAddress, Port, Posted, Registration, Remote};
use crate::sys::memory::UserMemory;

/// An endpoint of a provider. See [`Port`] for the operations.
pub trait Provider {
    /// Registered memory, until it is dropped.
    type Registration;

    /// Its address for peers.
    fn address(&self) -> Result<Vec<u8>, Error>;

    /// Adds a peer that needs no connection.
    fn insert(&mut self, address: &[u8]) -> Result<PeerAddress, Error>;

    /// Its operations for connections, if each peer needs one.
    fn connected(&mut self) -> Option<&mut dyn Connected> {
        None
    }

    /// Memory for `count` messages of `len` bytes.
    fn buffers(&self, count: usize, len: usize) -> Result<Vec<Buffer>, Error>;

    /// Registers a payload, so that peers with the key can read it.
    fn lend(&self, memory: &UserMemory, payload: &Payload) -> Result<Vec<LentPiece<Self::Registration>>, Error>;

    /// Bytes that are sent at once without a completion, at most.
    fn inject_len(&self) -> usize;

    /// Posts `buffer` for a message.
    fn receive(&mut self, buffer: Buffer) -> Posted<Buffer>;

    /// Sends the first `len` bytes of `buffer`.
    fn send(&mut self, buffer: Buffer, len: usize, peer: PeerAddress, tag: u64) -> Posted<Buffer>;

    /// Sends a few bytes, without an event.
    fn inject(&mut self, bytes: &[u8], peer: PeerAddress) -> Result<Posted<()>, Error>;

    /// Reads a peer's memory into user memory, one extent.
    fn read(&mut self, to: (&UserMemory, &Payload), from: Remote, peer: PeerAddress, tag: u64) -> Posted<()>;

    /// Reads a peer's memory into memory that is returned with the completion.
    fn read_own(&mut self, own: Vec<u8>, from: Remote, peer: PeerAddress, tag: u64) -> Posted<()>;

    /// Appends a batch of events. True if there were any.
    fn poll(&mut self, events: &mut Vec<Event>) -> Result<bool, Error>;

    /// The time, for timeouts.
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
