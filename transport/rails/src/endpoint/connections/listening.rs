//! The listening side of an endpoint: its listeners, and accepted connections that are not proven.

use std::os::fd::AsFd;

use crate::connect::unproven::UnprovenConnections;
use crate::listen::Listener;
use crate::poller::{Kind, Poller};
use crate::process;

use super::refuser::Refuser;

/// The listeners, and the accepted connections that are not proven.
pub struct Listening {
    pub listeners: Vec<Listener>,
    pub unproven: UnprovenConnections,
    pub refuser: Refuser,
    /// Connections that could not be accepted yet wait in the kernel.
    pub is_paused: bool,
    /// The listener whose turn it is when accepting resumes.
    first: usize,
}

impl Listening {
    /// Adds the listeners to the poll set.
    pub fn begin(listeners: Vec<Listener>, poller: &Poller) -> std::io::Result<Listening> {
        for (at, listener) in listeners.iter().enumerate() {
            listener.socket.set_nonblocking(true)?;
            poller.add(listener.socket.as_fd(), Kind::Listener.at(at))?;
        }
        let unproven = UnprovenConnections::new(process::ranks());
        Ok(Listening { listeners, unproven, refuser: Refuser::begin(), is_paused: false, first: 0 })
    }

    /// Ends a pause: the listeners at which connections may wait, another one first each time, as the first one may use up the
    /// number that may be accepted. Empty if there was no pause.
    pub fn resume(&mut self) -> Option<impl Iterator<Item = usize> + use<>> {
        if !std::mem::take(&mut self.is_paused) {
            return None;
        }
        let (first, count) = (self.first, self.listeners.len());
        self.first = (first + 1) % count.max(1);
        Some((first..count).chain(0..first))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn listeners_come_first_in_turn_once_others_may_be_accepted() {
        let listener = || Listener { socket: TcpListener::bind("127.0.0.1:0").unwrap(), rail: None };
        let mut listening =
            Listening::begin(vec![listener(), listener(), listener()], &Poller::new().unwrap()).unwrap();
        assert!(listening.resume().is_none(), "nobody waits");
        let mut next = || {
            listening.is_paused = true;
            listening.resume().map(Iterator::collect::<Vec<_>>)
        };
        assert_eq!([next(), next()], [Some(vec![0, 1, 2]), Some(vec![1, 2, 0])]);
        assert_eq!([next(), next()], [Some(vec![2, 0, 1]), Some(vec![0, 1, 2])]);
    }
}
