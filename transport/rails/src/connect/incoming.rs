//! A connection that a peer has set up, until it is proven.

use std::net::{SocketAddr, TcpStream};

use fishplate_engine::Instant;

use super::{read_some, write_whole};
use crate::address::{EndpointId, Token};
use crate::encryption::Keys;
use crate::handshake::{Acceptor, HandshakeError, MAX_MESSAGE_LEN, Proven, Refusal, Step, refusal_for};

/// The connection.
#[derive(Debug)]
pub struct Incoming {
    /// Its socket.
    pub stream: TcpStream,
    /// The other end.
    pub remote: SocketAddr,
    /// The rail that it came over; `None`: the rail of its local address.
    pub rail: Option<u8>,
    /// When it was accepted.
    pub since: Instant,
    acceptor: Acceptor,
    received: Vec<u8>,
}

/// Why its handshake failed.
#[derive(Debug)]
pub enum AcceptError {
    /// It was shut or reset.
    Gone,
    /// It broke the protocol, or could not prove itself.
    Handshake(HandshakeError),
}

impl Incoming {
    /// A connection just accepted, over `rail`.
    pub fn new(
        stream: TcpStream,
        (remote, rail): (SocketAddr, Option<u8>),
        since: Instant,
        acceptor: Acceptor,
    ) -> Self {
        Incoming { stream, remote, rail, since, acceptor, received: Vec::new() }
    }

    /// The socket is readable. `token` returns the token of an endpoint, if it is known. Some: the peer is proven; answer with
    /// [`Incoming::accept`] or [`Incoming::refuse`].
    pub fn advance(&mut self, token: impl Fn(EndpointId) -> Option<Token>) -> Result<Option<Proven>, AcceptError> {
        loop {
            let open = read_some(&self.stream, &mut self.received, MAX_MESSAGE_LEN).map_err(|_| AcceptError::Gone)?;
            let may_have_more = self.received.len() == MAX_MESSAGE_LEN;
            if let Some(proven) = self.take_steps(&token)? {
                return Ok(Some(proven));
            }
            match (open, may_have_more) {
                (true, false) => return Ok(None),
                (true, true) => {}
                (false, _) => return Err(AcceptError::Gone),
            }
        }
    }

    fn take_steps(&mut self, token: &impl Fn(EndpointId) -> Option<Token>) -> Result<Option<Proven>, AcceptError> {
        loop {
            match self.acceptor.advance(&mut self.received, token) {
                Ok(Step::Wait) => return Ok(None),
                Ok(Step::Send(message)) => write_whole(&self.stream, &message).map_err(|_| AcceptError::Gone)?,
                Ok(Step::Done(proven)) => return Ok(Some(proven)),
                Err(error) => {
                    if let Some(refusal) = refusal_for(&error) {
                        self.refuse(refusal);
                    }
                    return Err(AcceptError::Handshake(error));
                }
            }
        }
    }

    /// Whether its HELLO names this endpoint. The id is no secret, but a stranger must have learned it.
    pub fn has_named_us(&self) -> bool {
        self.acceptor.is_named()
    }

    /// Whether the peer has closed it after its proof, as it does once it has taken a connection of this side instead.
    pub fn was_closed(&self) -> bool {
        matches!(self.stream.peek(&mut [0]), Ok(0))
    }

    /// Accepts the connection as a subchannel, with a grant in bytes.
    pub fn accept(&self, grant: u64) -> std::io::Result<()> {
        write_whole(&self.stream, &self.acceptor.accept(grant))
    }

    /// Sends the peer, which has asked, all addresses of this endpoint. The connection serves nothing else.
    pub fn tell(&self, addresses: &[u8]) {
        let _ = write_whole(&self.stream, &self.acceptor.tell(addresses));
    }

    /// The keys of an accepted connection; `None`: it is not encrypted.
    pub fn take_keys(&mut self) -> Option<Box<Keys>> {
        self.acceptor.take_keys()
    }

    /// Refuses the connection. It does not matter whether the refusal arrives.
    pub fn refuse(&self, refusal: Refusal) {
        let _ = write_whole(&self.stream, &self.acceptor.refuse(refusal));
    }
}
