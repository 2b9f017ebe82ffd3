//! A connection that somebody has made to us.

use std::net::{SocketAddr, TcpStream};

use fishplate_engine::Instant;

use super::{read_some, write_whole};
use crate::handshake::{Acceptor, HandshakeError, Proven, Refusal, Step, accept, refusal_for, refuse};

/// Most connections that are not proven yet; further ones are closed at once. Ranks of a large job that connect to one
/// of them all at the same time are as many.
const MAX_UNPROVEN: usize = 1024;
/// They take no more than this part of the sockets that the process may have: it needs some itself.
const PART_OF_SOCKETS: usize = 4;
/// How long a connection may stay unproven, in nanoseconds.
pub const UNPROVEN_FOR_NS: u64 = 10_000_000_000;

/// Most connections that may be unproven in a process that may have so many files open.
pub fn most_unproven(open_files: usize) -> usize {
    MAX_UNPROVEN.min(open_files / PART_OF_SOCKETS).max(1)
}

/// The connection.
#[derive(Debug)]
pub struct Incoming {
    /// Its socket.
    pub stream: TcpStream,
    /// The other end.
    pub remote: SocketAddr,
    /// Since when it exists.
    pub since: Instant,
    acceptor: Acceptor,
    received: Vec<u8>,
}

/// Why it came to nothing.
#[derive(Debug)]
pub enum Unproven {
    /// It was shut or reset.
    Gone,
    /// It broke the protocol, or could not prove itself.
    Handshake(HandshakeError),
}

impl Incoming {
    /// A connection just accepted.
    pub fn new(stream: TcpStream, remote: SocketAddr, since: Instant, acceptor: Acceptor) -> Self {
        Incoming { stream, remote, since, acceptor, received: Vec::new() }
    }

    /// Something can be read. Some: the peer is proven; answer with [`Incoming::accept`] or [`Incoming::refuse`].
    pub fn advance(&mut self) -> Result<Option<Proven>, Unproven> {
        let open = read_some(&self.stream, &mut self.received).map_err(|_| Unproven::Gone)?;
        loop {
            match self.acceptor.advance(&mut self.received) {
                Ok(Step::Wait) if open => return Ok(None),
                Ok(Step::Wait) => return Err(Unproven::Gone),
                Ok(Step::Send(message)) => write_whole(&self.stream, &message).map_err(|_| Unproven::Gone)?,
                Ok(Step::Done(proven)) => return Ok(Some(proven)),
                Err(error) => {
                    if let Some(refusal) = refusal_for(&error) {
                        self.refuse(refusal);
                    }
                    return Err(Unproven::Handshake(error));
                }
            }
        }
    }

    /// Takes the connection as a subchannel, granting so many bytes.
    pub fn accept(&self, grant: u64) -> std::io::Result<()> {
        write_whole(&self.stream, &accept(grant))
    }

    /// Says why not. Whether that arrives does not matter.
    pub fn refuse(&self, refusal: Refusal) {
        let _ = write_whole(&self.stream, &refuse(refusal));
    }
}
