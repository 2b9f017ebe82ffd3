//! Frames that go over TCP, on their way to the kernel.
//!
//! `enqueue` puts a frame into the queue of its link, or sends it as a datagram (`datagrams`). Queues are flushed once the engine has
//! no more frames; `batching` holds a queue while a burst of sends goes on. `kernel_acks` queries how much of a stream the peer's
//! kernel has acknowledged.
//!
//! Called by the send path of all links, by the progress loop and, while the application is not in MPI, by the progress thread.

pub(in crate::endpoint) mod batching;
mod datagrams;
mod enqueue;
pub(in crate::endpoint) mod kernel_acks;

use std::io;
use std::os::fd::AsFd;

use fishplate_engine::Instant;

use crate::endpoint::Endpoint;
use crate::endpoint::send::BUDGET;

impl Endpoint {
    /// Flushes the links that have something to send, except held queues and payloads lent to threads. False if there were none.
    pub(in crate::endpoint) fn flush_dirty_links(&mut self, now: Instant) -> bool {
        if !self.links.tcp.has_dirty() {
            return false;
        }
        let mut dirty = self.links.tcp.take_dirty();
        for at in dirty.drain(..) {
            self.links.tcp.begin_flush(at);
            if !self.hold(at, now) && !self.links.tcp.lend_queue(at, &self.memory) {
                self.flush(at);
            }
        }
        self.links.tcp.reuse(dirty);
        true
    }

    /// Writes the queue of a link to its socket, as far as that takes it.
    pub(in crate::endpoint) fn flush(&mut self, at: usize) {
        let tcp = &mut self.links.tcp;
        let Some(link) = tcp.links.get_mut(at) else { return };
        if link.blocked || link.is_shut || link.transmit.is_lent() {
            return;
        }
        tcp.flushes += 1;
        let waiting = link.transmit.len();
        let started = self.processor_time.wants(waiting).then(|| self.clock.now());
        let flushed = link.transmit.flush(link.socket.as_fd(), &self.memory);
        if let Some(started) = started {
            let took_ns = self.clock.now().since_ns(started);
            self.processor_time.send.sample(waiting - link.transmit.len(), took_ns);
        }
        self.flushed(at, flushed);
    }

    /// The queue of a link was flushed: all was written (true), or the socket is full.
    pub(in crate::endpoint) fn flushed(&mut self, at: usize, flushed: io::Result<bool>) {
        let Some(link) = self.links.tcp.get(at) else { return };
        match flushed {
            Ok(true) => self.engine.writable(link.common.subchannel, BUDGET),
            Ok(false) => {
                self.links.tcp.block(at);
                self.register_link(at);
            }
            Err(error) => self.links.tcp.break_off(at, error.to_string()),
        }
    }
}
