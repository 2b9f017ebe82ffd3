//! The sockets of an endpoint, and which of them are ready: edge-triggered epoll.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Room for the sockets that one wait reports, at most; others are reported by the next.
pub type Events = [MaybeUninit<Event>; 32];

/// Room that is free.
pub const NO_EVENTS: Events = [MaybeUninit::uninit(); 32];

/// A socket of an endpoint: its kind, and its key among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    pub kind: Kind,
    pub at: usize,
}

/// Kind of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A listener for peers.
    Listener,
    /// Of a link over TCP.
    Link,
    /// A connection that this endpoint sets up.
    Attempt,
    /// A connection that a peer sets up.
    Incoming,
    /// For the datagrams of a link.
    Datagrams,
    /// At which peers deliver memory to share.
    MemoryListener,
    /// Over which memory is to come.
    MemoryArriving,
    /// Over which memory was offered.
    MemoryOffered,
    /// Of a link in shared memory: carries bells.
    Bell,
}

impl Kind {
    /// All of them, in the order of their numbers.
    const ALL: [Kind; 9] = [
        Kind::Listener,
        Kind::Link,
        Kind::Attempt,
        Kind::Incoming,
        Kind::Datagrams,
        Kind::MemoryListener,
        Kind::MemoryArriving,
        Kind::MemoryOffered,
        Kind::Bell,
    ];

    /// The socket of this kind with a key.
    pub fn at(self, at: usize) -> Socket {
        Socket { kind: self, at }
    }

    fn events(self) -> EventFlags {
        match self {
            // It would become writable whenever a datagram has left.
            Kind::Datagrams => EventFlags::IN | EventFlags::ET,
            _ => EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET,
        }
    }
}

impl Socket {
    fn number(self) -> u64 {
        (self.kind as u64) << 32 | self.at as u64
    }

    /// The inverse of [`Socket::number`].
    fn of(number: u64) -> Option<Socket> {
        Some(Kind::ALL.get((number >> 32) as usize)?.at((number & u64::from(u32::MAX)) as usize))
    }
}

/// An event of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    pub socket: Socket,
    /// Bytes, a connection, or an end can be read.
    pub readable: bool,
    /// It takes bytes again.
    pub writable: bool,
    /// Its end was reached, behind the data that can be read. This is reported only once.
    pub ended: bool,
}

/// A set of sockets.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    /// An empty set.
    pub fn new() -> io::Result<Self> {
        Ok(Poller { epoll: epoll::create(CreateFlags::CLOEXEC)? })
    }

    /// A duplicate descriptor of the set: readable while events are pending.
    pub fn try_clone(&self) -> io::Result<OwnedFd> {
        self.epoll.try_clone()
    }

    /// Adds the socket `fd` as `socket`. It leaves the set when it is closed.
    pub fn add(&self, fd: BorrowedFd<'_>, socket: Socket) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(socket.number()), socket.kind.events())?)
    }

    /// Makes a socket of the set another one. Its present readiness is reported (again).
    pub fn rename(&self, fd: BorrowedFd<'_>, socket: Socket) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, EventData::new_u64(socket.number()), socket.kind.events())?)
    }

    /// Takes a socket out.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, fd)?)
    }

    /// What became ready since it was last reported. Waits up to `timeout` if nothing has.
    pub fn wait<'a>(
        &self,
        timeout: Duration,
        room: &'a mut Events,
    ) -> io::Result<impl Iterator<Item = Ready> + Clone + use<'a>> {
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        let events: &[Event] = match epoll::wait(&self.epoll, room, Some(&timeout)) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => &[],
            Err(error) => return Err(error.into()),
        };
        let ended = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        let writable = EventFlags::OUT | EventFlags::HUP | EventFlags::ERR;
        Ok(events.iter().filter_map(move |event| {
            let is = |flags| { event.flags }.intersects(flags);
            let (readable, writable) = (is(EventFlags::IN | ended), is(writable));
            Some(Ready { socket: Socket::of(event.data.u64())?, readable, writable, ended: is(ended) })
        }))
    }
}

/// Whether a read would find something.
pub fn is_readable(socket: impl AsFd) -> bool {
    let mut asked = [PollFd::new(&socket, PollFlags::IN | PollFlags::RDHUP)];
    poll(&mut asked, Some(&Timespec::default())) != Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_socket_has_a_number_of_its_own() {
        for socket in Kind::ALL.map(|kind| kind.at(7)) {
            assert_eq!(Socket::of(socket.number()), Some(socket));
        }
        assert_eq!(Socket::of(u64::MAX), None);
    }
}
