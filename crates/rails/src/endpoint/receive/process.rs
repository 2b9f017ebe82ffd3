//! Frames that were read of a link go to the engine.

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Instant, Placement};

use crate::endpoint::Endpoint;
use crate::link::Arrived;

impl Endpoint {
    /// Hands what was read of a link's stream to the engine. False if the link is gone.
    pub(in crate::endpoint) fn process_received(&mut self, at: usize, now: Instant) -> bool {
        loop {
            let Some(link) = self.links.get_mut(at) else { return false };
            match link.receive.next(&self.memory, &mut self.bounces) {
                Ok(None) => return true,
                Ok(Some(Arrived::Header(header))) => {
                    if !self.begin_frame(at, header, now) {
                        return false;
                    }
                }
                Ok(Some(Arrived::Payload(len))) => {
                    if link.receive_sequence.end_stream_frame() {
                        self.payload_placed(at, len, now);
                    }
                }
                Err(malformed) => {
                    self.protocol_violation(at, &malformed.to_string());
                    return false;
                }
            }
        }
    }

    /// A frame begins on the stream. False if the link is gone.
    fn begin_frame(&mut self, at: usize, header: Header, now: Instant) -> bool {
        let link = &mut self.links[at];
        let (len, is_counted) = (u64::from(header.body.payload_len()), header.body.is_counted());
        match header.body {
            Body::Resume { number } if link.receive_sequence.resume(number).is_ok() => return true,
            Body::Resume { .. } => {
                self.protocol_violation(at, "it leaves frames out");
                return false;
            }
            Body::Datagrams { port, secret, received } => {
                self.datagrams_offered(at, (port, secret, received));
                return true;
            }
            Body::SharedMemory { listener, secret } => {
                self.shared_memory_offered(at, listener, secret, now);
                return true;
            }
            _ => {}
        }
        let placement = match is_counted && !link.receive_sequence.begin_stream_frame() {
            // It has come as a datagram.
            true => Some(Placement::Discard),
            false => self.handle_header(at, header, now),
        };
        let (Some(placement), Some(link)) = (placement, self.links.get_mut(at)) else { return false };
        if is_counted {
            link.datagrams.iter_mut().for_each(|datagrams| datagrams.stream_had_frame());
        }
        if len > 0 {
            link.receive.expect_payload(placement, len, &mut self.bounces);
        } else if is_counted {
            link.receive_sequence.end_stream_frame();
        }
        true
    }

    /// Where the payload of a frame that is taken goes. `None`: the link is gone.
    pub(super) fn handle_header(&mut self, at: usize, mut header: Header, now: Instant) -> Option<Placement> {
        let link = &mut self.links[at];
        let subchannel = link.subchannel;
        header.ack = link.send_sequence.acknowledged(header.ack, now);
        link.counts.rx_messages += u64::from(carries_data(&header.body));
        link.goodbye_received |= matches!(header.body, Body::Bye);
        if matches!(header.body, Body::Leave) && !link.peer_leaves() {
            self.protocol_violation(at, "it lets go of a connection that has to stay");
            return None;
        }
        match self.engine.handle_header(now, subchannel, &header) {
            Ok(placement) => {
                self.apply_memory_actions();
                Some(placement)
            }
            Err(violation) => {
                self.protocol_violation(at, &violation.to_string());
                None
            }
        }
    }

    /// The payload of the last frame that was taken is where it belongs.
    pub(super) fn payload_placed(&mut self, at: usize, len: u64, now: Instant) {
        let link = &mut self.links[at];
        link.counts.rx_bytes += len;
        self.engine.payload_placed(now, link.subchannel);
        self.apply_memory_actions();
    }
}

/// Whether a frame is a message, a write or a piece of one, not protocol.
pub(in crate::endpoint) fn carries_data(body: &Body) -> bool {
    matches!(body, Body::Eager { .. } | Body::EarlyData { .. } | Body::Stripe { .. } | Body::Write { .. })
}
