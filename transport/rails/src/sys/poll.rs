//! Readiness of many sockets at once: edge-triggered epoll.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};

/// Sockets reported by one wait, at most; others are reported by the next.
const MAX_EVENTS: usize = 32;

/// Kind of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A listener, or a connection: all its events are reported.
    Stream,
    /// Only reported when it is readable. (It would become writable whenever a datagram has left.)
    Datagrams,
}

impl Kind {
    fn events(self) -> libc::c_int {
        match self {
            Kind::Stream => libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP,
            Kind::Datagrams => libc::EPOLLIN,
        }
    }
}

/// An event of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Its number, from [`Poller::add`].
    pub token: u64,
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
        // SAFETY: the call takes no pointers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and has no other owner.
        Ok(Poller { epoll: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// A duplicate descriptor of the set: readable while events are pending.
    pub fn try_clone(&self) -> io::Result<OwnedFd> {
        self.epoll.try_clone()
    }

    /// Adds a socket. It leaves the set when it is closed.
    pub fn add(&self, socket: BorrowedFd<'_>, kind: Kind, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, socket, kind.events(), token)
    }

    /// Gives a socket another number. Its present readiness is reported (again).
    pub fn rename(&self, socket: BorrowedFd<'_>, kind: Kind, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, socket, kind.events(), token)
    }

    /// Takes a socket out.
    pub fn remove(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, socket, 0, 0)
    }

    fn control(
        &self,
        operation: libc::c_int,
        socket: BorrowedFd<'_>,
        events: libc::c_int,
        token: u64,
    ) -> io::Result<()> {
        let mut event = libc::epoll_event { events: (events | libc::EPOLLET) as u32, u64: token };
        // SAFETY: `event` is valid for the call; both descriptors are open.
        let result = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, socket.as_raw_fd(), &mut event) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Calls `handle` for what became ready since it was last reported. Waits up to `timeout` if nothing has.
    pub fn wait(&self, timeout: Duration, mut handle: impl FnMut(Ready)) -> io::Result<()> {
        let mut events = [const { libc::epoll_event { events: 0, u64: 0 } }; MAX_EVENTS];
        let timeout_ms = timeout.as_millis().min(60_000) as libc::c_int;
        // SAFETY: the array is valid for MAX_EVENTS events.
        let count = unsafe {
            libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), MAX_EVENTS as libc::c_int, timeout_ms)
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        let ended = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
        let readable = libc::EPOLLIN as u32 | ended;
        let writable = (libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR) as u32;
        for event in &events[..count as usize] {
            let what = event.events;
            let is = |events| what & events != 0;
            handle(Ready { token: event.u64, readable: is(readable), writable: is(writable), ended: is(ended) });
        }
        Ok(())
    }
}

/// Whether a read would find something.
pub fn is_readable(socket: BorrowedFd<'_>) -> bool {
    let mut asked = [PollFd::from_borrowed_fd(socket, PollFlags::IN | PollFlags::RDHUP)];
    rustix::event::poll(&mut asked, Some(&Timespec::default())) != Ok(0)
}
