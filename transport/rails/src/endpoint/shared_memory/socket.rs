//! The sockets beside shared memory, and the numbers by which the poll set names them.

use fishplate_engine::Instant;

use crate::endpoint::Endpoint;
use crate::endpoint::progress::token::Token;
use crate::sys::poll::Ready;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySocket {
    /// At which peers deliver memory to share.
    Listener,
    /// Over which memory is to come.
    Arriving(usize),
    /// Over which memory was offered.
    Offered(usize),
    /// Of a link: carries bells.
    Link(usize),
}

impl MemorySocket {
    pub fn number(self) -> u64 {
        let (kind, at) = match self {
            MemorySocket::Listener => (16, 0),
            MemorySocket::Arriving(at) => (17, at),
            MemorySocket::Offered(at) => (18, at),
            MemorySocket::Link(at) => (19, at),
        };
        Token { kind, at }.number()
    }

    /// The socket of a number, if it is one of these.
    pub fn of(number: u64) -> Option<MemorySocket> {
        let Token { kind, at } = Token::of(number);
        match kind {
            16 => Some(MemorySocket::Listener),
            17 => Some(MemorySocket::Arriving(at)),
            18 => Some(MemorySocket::Offered(at)),
            19 => Some(MemorySocket::Link(at)),
            _ => None,
        }
    }
}

impl Endpoint {
    /// The poll set has reported a socket. True if there was anything to handle.
    pub(in crate::endpoint) fn memory_socket_ready(
        &mut self,
        socket: MemorySocket,
        event: Ready,
        now: Instant,
    ) -> bool {
        match socket {
            MemorySocket::Listener => self.accept_shared_memory(now),
            MemorySocket::Arriving(at) => self.shared_memory_arrived(at),
            MemorySocket::Offered(at) => self.shared_memory_answered(at),
            MemorySocket::Link(at) => self.shared_memory_rang(at, event.ended),
        }
    }

    /// A peer has rung the bell, or shut its end.
    fn shared_memory_rang(&mut self, at: usize, is_shut: bool) -> bool {
        let Some(link) = self.links.memory.get_mut(at) else { return false };
        link.silence();
        link.hung_up |= is_shut;
        let now = self.clock.now();
        self.poll_shared_memory(now, false)
    }
}
