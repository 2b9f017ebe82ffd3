//! The interface of an endpoint for rails, implemented by [`Port`](super::Port) and by a simulation for tests.

use std::time::Instant;

use fishplate_engine::Payload;
use fishplate_link_core::UserMemory;

use super::{Buffer, ConnectionEvent, Error, Event, LentPiece, PeerAddress, Posted, Remote, Request};

/// An endpoint of a provider.
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

    /// Posts `buffer` as a receive buffer for one message.
    fn receive(&mut self, buffer: Buffer) -> Posted<Buffer>;

    /// Sends the first `len` bytes of `buffer`. The event has `tag`.
    fn send(&mut self, buffer: Buffer, len: usize, peer: PeerAddress, tag: u64) -> Posted<Buffer>;

    /// Sends up to [`Provider::inject_len`] bytes, without an event.
    fn inject(&mut self, bytes: &[u8], peer: PeerAddress) -> Result<Posted<()>, Error>;

    /// Reads as many bytes of a peer's memory as `to` has into user memory, one extent. The event has `tag`.
    fn read(&mut self, to: (&UserMemory, &Payload), from: Remote, peer: PeerAddress, tag: u64) -> Posted<()>;

    /// Reads a peer's memory into memory that is returned with the completion.
    fn read_own(&mut self, own: Vec<u8>, from: Remote, peer: PeerAddress, tag: u64) -> Posted<()>;

    /// Appends a batch of events. True if there were any.
    fn poll(&mut self, events: &mut Vec<Event>) -> Result<bool, Error>;

    /// The time, for timeouts.
    fn now(&self) -> Instant;
}

/// Operations of an endpoint that has to be connected to each peer.
pub trait Connected {
    /// Begins a connection to the peer that listens at `address`, with `data` in the request. Takes as many buffers of `receives` as the
    /// connection needs.
    fn connect(&mut self, address: &[u8], data: &[u8], receives: &mut Vec<Buffer>) -> Result<PeerAddress, Error>;

    /// Accepts a connection.
    fn accept(&mut self, request: Request, receives: &mut Vec<Buffer>) -> Result<PeerAddress, Error>;

    /// Refuses a connection.
    fn refuse(&mut self, request: Request);

    /// Closes a connection. Its operations end, as the next poll reports, and access no memory any more.
    fn disconnect(&mut self, peer: PeerAddress);

    /// Appends the events of connections.
    fn poll_connections(&mut self, events: &mut Vec<ConnectionEvent>) -> Result<(), Error>;
}
