//! The hot link: the one that had news last, looked at in every call.

use std::os::fd::AsFd;

use fishplate_engine::Instant;

use super::poll_interval::LATEST_NS;
use super::token::{datagrams_token, link_token};
use crate::endpoint::Endpoint;
use crate::sys::poll::{Kind, is_readable};

impl Endpoint {
    /// Reads the link that had news last. (To read a socket locks it, which gets into the way of a packet that arrives; to
    /// ask whether there is something does not.)
    pub(in crate::endpoint) fn read_hot(&mut self, now: Instant) -> bool {
        let Some(at) = self.hot else { return false };
        let Some(link) = self.links.get_mut(at) else { return false };
        let Some(datagrams) = &mut link.datagrams else { return self.read_hot_stream(at, now) };
        // In turns, while calls follow each other closely; a program that calls rarely has both looked at.
        let is_late = |looked_at: Instant| now.since_ns(looked_at) >= LATEST_NS;
        let is_turn = datagrams.is_turn();
        let looks_at_datagrams = is_turn || is_late(datagrams.looked_at);
        let looks_at_stream = !is_turn || link.has_news || is_late(link.looked_at);
        let moved = looks_at_datagrams && self.read_datagram(at, now) == Some(true);
        moved || (looks_at_stream && self.read_hot_stream(at, now))
    }

    fn read_hot_stream(&mut self, at: usize, now: Instant) -> bool {
        let Some(link) = self.links.get_mut(at) else { return false };
        if !is_readable(link.socket.as_fd()) {
            link.looked_at = now;
            link.read_in = self.calls;
            return false;
        }
        self.read_link(at, now)
    }

    /// The hot link has been read in this call, and will be in the next: its news can wait, and is mostly old.
    pub(in crate::endpoint) fn leave_for_next_call(&mut self, at: usize) -> bool {
        let calls = self.calls;
        let Some(link) = self.links.get_mut(at).filter(|link| self.hot == Some(at) && link.read_in == calls) else {
            return false;
        };
        link.has_news = true;
        true
    }

    /// The link that has just had something is the likeliest to have more.
    pub(in crate::endpoint) fn make_hot(&mut self, at: usize) {
        if self.hot == Some(at) {
            return;
        }
        if let Some(before) = self.hot.replace(at)
            && let Some(link) = self.links.get(before)
        {
            if !link.watched {
                self.watch(before);
            } else if link.has_news {
                self.remind(before);
            }
        }
    }

    /// When a socket of a link had nothing that comes from it now, if it was looked at before at `looked_at`.
    pub(in crate::endpoint) fn looked_at(&self, is_watched: bool, looked_at: Instant) -> Instant {
        if is_watched { looked_at.max(self.asking.last()) } else { looked_at }
    }

    /// Takes the hot link out of the poll set, while no other has news: a socket of the set costs every packet that comes,
    /// on the sender's time where both share a machine. One that is to say when it takes more stays.
    pub(in crate::endpoint) fn unwatch_hot(&mut self) {
        if let Some(link) = self.hot.and_then(|at| self.links.get_mut(at))
            && link.watched
            && !link.blocked
        {
            link.watched = self.poller.remove(link.socket.as_fd()).is_err();
            let datagrams = link.datagrams.iter().filter(|_| !link.watched);
            datagrams.for_each(|datagrams| drop(self.poller.remove(datagrams.socket())));
        }
    }

    /// Puts it back: somebody is going to wait for the set.
    pub(in crate::endpoint) fn watch_hot(&mut self) {
        if let Some(at) = self.hot {
            self.watch(at);
        }
    }

    /// Puts a link back into the poll set, which reports what is ready on it already.
    pub(in crate::endpoint) fn watch(&mut self, at: usize) {
        let Some(link) = self.links.get_mut(at).filter(|link| !link.watched) else { return };
        let datagrams = link.datagrams.as_ref();
        let added = datagrams
            .map_or(Ok(()), |datagrams| self.poller.add(datagrams.socket(), Kind::Datagrams, datagrams_token(at)));
        match added.and_then(|()| self.poller.add(link.socket.as_fd(), Kind::Stream, link_token(at))) {
            Ok(()) => link.watched = true,
            Err(error) => self.link_failed(at, &format!("it cannot be watched: {error}"), self.clock.now()),
        }
    }

    /// Makes the poll set report the link again.
    pub(in crate::endpoint) fn remind(&mut self, at: usize) {
        if let Some(link) = self.links.get(at).filter(|link| link.watched) {
            let _ = self.poller.rename(link.socket.as_fd(), Kind::Stream, link_token(at));
        }
    }
}
