//! The send path: what the engine has to send goes to the links, and from there to the kernel.
//!
//! `enqueue` puts a frame into the queue of its link, or sends it as a datagram (`datagrams`). [`Endpoint::pump`] does so
//! while the engine has frames and flushes the queues. `batching` holds a queue back while a burst of sends goes on.
//! `kernel_acks` asks the kernel how much of a stream the peer's kernel has acknowledged.
//!
//! Called by the progress loop, by `post` and, while the application is not in MPI, by the progress thread.

pub(in crate::endpoint) mod batching;
mod datagrams;
mod enqueue;
mod kernel_acks;

use std::io;
use std::os::fd::AsFd;

use fishplate_engine::{Instant, Payload};

use crate::ablation::Mechanism;
use crate::endpoint::Endpoint;

/// Bytes that a link takes from the engine at a time: one good system call, and no more bound to a rail than that.
pub(in crate::endpoint) const BUDGET: u64 = 256 << 10;
/// Rounds of sending in one call of the endpoint, so that one busy peer does not keep the user waiting.
const MOST_ROUNDS: usize = 8;

impl Endpoint {
    /// Sends what the engine has to send and the links take. True if that was anything.
    #[inline]
    pub(in crate::endpoint) fn pump(&mut self, now: Instant) -> bool {
        let has_nothing = !self.engine.may_transmit() && self.dirty.is_empty() && !self.engine.has_memory_actions();
        if has_nothing {
            self.ring_bells(false);
            return false;
        }
        self.pump_all(now)
    }

    fn pump_all(&mut self, now: Instant) -> bool {
        let mut moved = false;
        for _ in 0..MOST_ROUNDS {
            while let Some(transmit) = self.engine.poll_transmit(now) {
                if let Some(link) = self.link_of(transmit.subchannel) {
                    moved |= self.enqueue(link, &transmit, now);
                }
            }
            self.apply_memory_actions();
            if self.dirty.is_empty() {
                break;
            }
            moved = true;
            let mut dirty = std::mem::take(&mut self.dirty);
            for at in dirty.drain(..) {
                self.links.streams.get_mut(at).into_iter().for_each(|link| link.dirty = false);
                if !self.hold_back(at, now) && !self.lend_queue(at) {
                    self.flush(at);
                }
            }
            if self.dirty.is_empty() {
                self.dirty = dirty;
            }
        }
        self.ring_bells(false);
        moved
    }

    /// A link has something to send.
    pub(in crate::endpoint) fn mark_dirty(&mut self, at: usize) {
        let link = &mut self.links.streams[at];
        if !std::mem::replace(&mut link.dirty, true) {
            self.dirty.push(at);
        }
    }

    pub(in crate::endpoint) fn flush(&mut self, at: usize) {
        let Some(link) = self.links.streams.get_mut(at) else { return };
        if link.blocked || link.is_shut || link.transmit.is_lent() {
            return;
        }
        self.flushes += 1;
        let waiting = link.transmit.len();
        let started = self.processor_time.send.wants(waiting).then(|| self.clock.now());
        let flushed = link.transmit.flush(link.socket.as_fd(), &self.memory);
        if let Some(started) = started {
            let took_ns = self.clock.now().since_ns(started);
            self.processor_time.send.sample(waiting - link.transmit.len(), took_ns);
        }
        self.flushed(at, flushed);
    }

    /// The queue of a link was flushed: everything has left (true), or the socket takes no more.
    pub(in crate::endpoint) fn flushed(&mut self, at: usize, flushed: io::Result<bool>) {
        let Some(link) = self.links.streams.get_mut(at) else { return };
        match flushed {
            Ok(true) => self.engine.writable(link.common.subchannel, BUDGET),
            Ok(false) => {
                link.blocked = true;
                if !self.stalled.contains(&at) {
                    self.stalled.push(at);
                }
                self.register_link(at);
            }
            Err(error) => {
                link.blocked = true;
                link.broken = Some(error.to_string());
                self.broken.push(at);
            }
        }
    }

    pub(in crate::endpoint) fn unblock(&mut self, at: usize) {
        let Some(link) = self.links.streams.get_mut(at).filter(|link| link.blocked) else { return };
        link.blocked = false;
        self.stalled.retain(|stalled| *stalled != at);
        self.mark_dirty(at);
    }

    /// Sends end whose bytes the kernels have: what waits in this process needs calls of the user's, and who has nothing under
    /// way may not come back.
    pub(in crate::endpoint) fn buffer_sends(&mut self, now: Instant) -> bool {
        let links = &self.links;
        let waits = || links.iter().any(|(_, link)| link.has_waiting());
        let is_off = self.settings.ablation.is_off(Mechanism::BufferedSends);
        if is_off || !self.engine.has_buffer_candidates() || waits() {
            return false;
        }
        let is_lent = |payload: &Payload| links.iter().any(|(_, link)| link.has_lent(payload));
        if !self.engine.buffer_sends(now, is_lent) {
            return false;
        }
        self.apply_memory_actions();
        true
    }
}
