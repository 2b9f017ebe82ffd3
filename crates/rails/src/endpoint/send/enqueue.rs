//! Frames from the engine to the links.

use fishplate_engine::{Instant, Payload, Source, Transmit};

use crate::endpoint::Endpoint;
use crate::endpoint::receive::process::carries_data;

/// Payloads that are lent only now are copied into the queue up to this many bytes: cheaper than a piece of their own in
/// the system call.
const COPIED_IF_LENT: u64 = 8 << 10;

impl Endpoint {
    /// Takes a frame from the engine to its link. True if no flush has to follow.
    pub(in crate::endpoint) fn hand_over(&mut self, at: usize, transmit: &Transmit, now: Instant) -> bool {
        let link = &mut self.links[at];
        if transmit.header.body.is_counted() {
            link.counts.tx_bytes += transmit.source.len();
            link.counts.tx_messages += u64::from(carries_data(&transmit.header.body));
            if link.departures.is_calm() && self.goes_as_datagram(at, transmit, now) {
                return true;
            }
            let link = &mut self.links[at];
            link.settle();
            let resume = link.departures.by_stream();
            link.resume(resume);
        }
        self.queue(at, transmit, now)
    }

    /// Puts a frame into the queue of its stream. True if that was flushed, or is held back, already.
    fn queue(&mut self, at: usize, transmit: &Transmit, now: Instant) -> bool {
        let Endpoint { links, memory, bounces, .. } = self;
        let queue = &mut links[at].transmit;
        let Transmit { header, source, copy, .. } = transmit;
        match source {
            // The kernel copies it, from where it is.
            Source::User(payload) if *copy && payload.len() > COPIED_IF_LENT && queue.is_empty() => {
                queue.push(header, source, false, memory, bounces);
                self.look_for_delivery(at, transmit);
                self.send_lent(at, payload, now);
                true
            }
            _ => {
                queue.push(header, source, *copy, memory, bounces);
                if header.body.is_counted() {
                    self.look_for_delivery(at, transmit);
                }
                self.soil(at);
                false
            }
        }
    }

    /// Sends a frame whose payload is lent only now; copies what the socket does not take.
    fn send_lent(&mut self, at: usize, payload: &Payload, now: Instant) {
        if !self.hold(at, now) {
            self.flush(at);
        }
        if let Some(link) = self.links.get_mut(at) {
            link.transmit.detach(payload, &self.memory);
        }
    }
}
