//! The sockets of TCP links, and the numbers by which the poll set names them.

use fishplate_engine::Instant;

use crate::endpoint::Endpoint;
use crate::endpoint::progress::token::Token;
use crate::sys::poll::Ready;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpSocket {
    /// A listener for peers.
    Listener(usize),
    /// Of a link.
    Link(usize),
    /// A connection that this endpoint sets up.
    Attempt(usize),
    /// A connection that a peer sets up.
    Incoming(usize),
    /// For the datagrams of a link.
    Datagrams(usize),
}

impl TcpSocket {
    pub fn number(self) -> u64 {
        let (kind, at) = match self {
            TcpSocket::Listener(at) => (0, at),
            TcpSocket::Link(at) => (1, at),
            TcpSocket::Attempt(at) => (2, at),
            TcpSocket::Incoming(at) => (3, at),
            TcpSocket::Datagrams(at) => (4, at),
        };
        Token { kind, at }.number()
    }

    /// The socket of a number, if it is one of these.
    pub fn of(number: u64) -> Option<TcpSocket> {
        let Token { kind, at } = Token::of(number);
        match kind {
            0 => Some(TcpSocket::Listener(at)),
            1 => Some(TcpSocket::Link(at)),
            2 => Some(TcpSocket::Attempt(at)),
            3 => Some(TcpSocket::Incoming(at)),
            4 => Some(TcpSocket::Datagrams(at)),
            _ => None,
        }
    }
}

impl Endpoint {
    /// The poll set has reported a socket. True if there were frames, or a connection.
    pub(in crate::endpoint) fn tcp_ready(&mut self, socket: TcpSocket, event: Ready, now: Instant) -> bool {
        match socket {
            TcpSocket::Listener(at) => self.accept_all(at, now),
            TcpSocket::Attempt(at) => self.attempt_ready(at, now),
            TcpSocket::Incoming(at) => self.incoming_ready(at, now),
            TcpSocket::Datagrams(at) => self.read_datagrams(at, now),
            TcpSocket::Link(at) => {
                if event.writable {
                    self.links.tcp.unblock(at);
                }
                if event.ended
                    && let Some(link) = self.links.tcp.get_mut(at)
                {
                    link.hung_up = true;
                }
                event.readable && !self.links.tcp.defer_read(at, self.progress.calls) && self.read_link(at, now)
            }
        }
    }
}
