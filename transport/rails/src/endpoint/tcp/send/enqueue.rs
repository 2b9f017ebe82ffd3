//! Frames from the engine into the transmit queues of the links.

use fishplate_engine::wire::Body;
use fishplate_engine::{Instant, Payload, Source, Transmit};
use fishplate_link_core::Link;

use crate::endpoint::Endpoint;

/// Payloads up to this length, in bytes, that are valid only during the call are copied into the queue: cheaper than a separate
/// buffer of the system call.
const COPY_IF_BORROWED: u64 = 8 << 10;

impl Endpoint {
    /// Puts a frame from the engine into its stream. True if no flush has to follow.
    pub(in crate::endpoint) fn enqueue_on_stream(&mut self, at: usize, transmit: &Transmit, now: Instant) -> bool {
        let link = &mut self.links.tcp[at];
        if transmit.header.body.is_counted() {
            link.count_sent(&transmit.header.body, transmit.source.len());
            // A process that shares its processor acknowledges late; the kernel acknowledges what comes over a stream at once.
            let is_late = self.progress.is_crowded;
            if link.send_sequence.may_use_datagram() && !is_late && self.try_send_datagram(at, transmit, now) {
                return true;
            }
            let link = &mut self.links.tcp[at];
            link.retransmit_datagrams();
            let resume = link.send_sequence.sent_on_stream(now);
            link.resume(resume);
        }
        self.push_to_stream(at, transmit, now)
    }

    /// Puts a frame into the queue of its stream. True if the queue was flushed, or is held, already.
    fn push_to_stream(&mut self, at: usize, transmit: &Transmit, now: Instant) -> bool {
        let Endpoint { links, memory, bounces, .. } = self;
        let queue = &mut links.tcp.links[at].transmit;
        let Transmit { header, source, copy, .. } = transmit;
        match source {
            // The kernel copies it from user memory. (With checksums it is copied now, as it may change before that.)
            Source::User(payload)
                if *copy && payload.len() > COPY_IF_BORROWED && queue.is_empty() && !queue.is_checked() =>
            {
                queue.push(header, source, false, memory, bounces);
                self.links.tcp.track_kernel_ack(at, transmit);
                self.send_borrowed(at, payload, now);
                true
            }
            _ => {
                queue.push(header, source, *copy, memory, bounces);
                if header.body.is_counted() {
                    self.links.tcp.track_kernel_ack(at, transmit);
                }
                // Padding measures the spacing of its frames: each is sent as a segment of its own.
                if matches!(header.body, Body::Padding { .. }) {
                    self.flush(at);
                    return true;
                }
                self.links.tcp.mark_dirty(at);
                false
            }
        }
    }

    /// Sends a frame whose payload is valid only during the call; copies the part that the socket does not take.
    fn send_borrowed(&mut self, at: usize, payload: &Payload, now: Instant) {
        if !self.hold(at, now) {
            self.flush(at);
        }
        if let Some(link) = self.links.tcp.get_mut(at) {
            link.transmit.detach(payload, &self.memory);
        }
    }
}
