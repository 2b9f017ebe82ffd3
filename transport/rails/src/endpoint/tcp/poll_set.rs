//! The active link, which had data last and is polled in every call, and the poll set with the others.

use std::io;
use std::os::fd::AsFd;

use fishplate_engine::Instant;

use super::TcpLinks;
use crate::endpoint::Endpoint;
use crate::endpoint::link_id::LinkId;
use crate::endpoint::progress::poll_interval::MAX_INTERVAL_NS;
use crate::poller::{Kind, Poller, Ready, is_readable};

impl Endpoint {
    /// The poll set has reported the stream of a link. True if there were frames.
    pub(in crate::endpoint) fn stream_ready(&mut self, at: usize, event: Ready, now: Instant) -> bool {
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

    /// Polls the active link, and reads it if it is readable. (Reading a socket locks it, which delays an arriving packet; asking
    /// whether it is readable does not.)
    pub(in crate::endpoint) fn poll_active_link(&mut self, now: Instant) -> bool {
        let Some(at) = self.links.tcp.active else { return false };
        let Some(link) = self.links.tcp.get_mut(at) else { return false };
        let Some(datagrams) = &mut link.datagrams else { return self.poll_active_stream(at, now) };
        // Stream and datagrams are polled alternately while calls follow each other closely; for a program that calls rarely, both.
        let is_late = |polled_at: Instant| now.since_ns(polled_at) >= MAX_INTERVAL_NS;
        let polls_datagrams_next = datagrams.polls_datagrams_next();
        let polls_datagrams = polls_datagrams_next || is_late(datagrams.polled_at);
        // A datagram that has overtaken the stream needs data from it.
        let has_early = datagrams.early().is_some();
        let polls_stream = !polls_datagrams_next || has_early || link.read_deferred || is_late(link.polled_at);
        let moved = polls_datagrams && self.read_datagram(at, now) == Some(true);
        moved || (polls_stream && self.poll_active_stream(at, now))
    }

    fn poll_active_stream(&mut self, at: usize, now: Instant) -> bool {
        let Some(link) = self.links.tcp.get_mut(at).filter(|link| !link.receive.is_lent()) else { return false };
        if !is_readable(&link.socket) {
            link.polled_at = now;
            link.read_in_call = self.progress.calls;
            return false;
        }
        self.read_link(at, now)
    }

    /// Makes the link that has just had data the active one.
    pub(in crate::endpoint) fn set_active_link(&mut self, at: usize) {
        if self.links.tcp.active == Some(at) {
            return;
        }
        self.release_active_link();
        self.links.tcp.active = Some(at);
    }

    /// Ends the state of the active link.
    pub(in crate::endpoint) fn release_active_link(&mut self) {
        let Some(before) = self.links.tcp.active.take() else { return };
        let Some(link) = self.links.tcp.get(before) else { return };
        if !link.in_poll_set {
            self.register_link(before);
        } else if link.read_deferred {
            self.links.tcp.rearm(before, &self.poller);
        }
    }

    /// The last time at which a socket that is polled directly at `polled_at` is known not to have had its present data.
    pub(in crate::endpoint) fn known_empty_at(&self, is_watched: bool, polled_at: Instant) -> Instant {
        if is_watched { polled_at.max(self.progress.poll_interval.last_poll()) } else { polled_at }
    }

    /// Puts the active link back into the poll set, as a thread is going to wait for the set.
    pub(in crate::endpoint) fn register_active_link(&mut self) {
        if let Some(at) = self.links.tcp.active {
            self.register_link(at);
        }
    }

    /// Puts a link back into the poll set. One that cannot be watched fails.
    pub(in crate::endpoint) fn register_link(&mut self, at: usize) {
        if let Err(error) = self.links.tcp.register(at, &self.poller) {
            self.link_failed(LinkId::Tcp(at), &format!("it cannot be watched: {error}"));
        }
    }
}

impl TcpLinks {
    /// Whether an event of the active link can be ignored: it was read in the present call, number `calls`, and will be in the next.
    pub fn defer_read(&mut self, at: usize, calls: u64) -> bool {
        let is_active = self.active == Some(at);
        let Some(link) = self.links.get_mut(at).filter(|link| is_active && link.read_in_call == calls) else {
            return false;
        };
        link.read_deferred = true;
        true
    }

    /// Removes the active link from the poll set while no other has data: membership costs time with every arriving packet, the
    /// sender's where both are on one machine. A blocked link stays, as the set reports when it is writable.
    pub fn deregister_active(&mut self, poller: &Poller) {
        if let Some(link) = self.active.and_then(|at| self.links.get_mut(at))
            && link.in_poll_set
            && !link.blocked
        {
            link.in_poll_set = poller.remove(link.socket.as_fd()).is_err();
            let datagrams = link.datagrams.iter().filter(|_| !link.in_poll_set);
            datagrams.for_each(|datagrams| drop(poller.remove(datagrams.socket())));
        }
    }

    /// Puts a link back into the poll set, which also reports data that has come before.
    pub(super) fn register(&mut self, at: usize, poller: &Poller) -> io::Result<()> {
        let Some(link) = self.links.get_mut(at).filter(|link| !link.in_poll_set) else { return Ok(()) };
        if let Some(datagrams) = &link.datagrams {
            poller.add(datagrams.socket(), Kind::Datagrams.at(at))?;
        }
        poller.add(link.socket.as_fd(), Kind::Link.at(at))?;
        link.in_poll_set = true;
        Ok(())
    }

    /// Makes the poll set report the link again.
    pub fn rearm(&mut self, at: usize, poller: &Poller) {
        if let Some(link) = self.links.get(at).filter(|link| link.in_poll_set) {
            let _ = poller.rename(link.socket.as_fd(), Kind::Link.at(at));
        }
    }
}
