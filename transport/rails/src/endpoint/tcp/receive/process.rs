//! Hands frames that were read to the engine.

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Instant, Placement};
use fishplate_link_core::Link;

use crate::endpoint::Endpoint;
use crate::endpoint::connections::names::name;
use crate::endpoint::link_id::LinkId;
use crate::link::{Arrived, StreamLink, Unreadable};

/// How a frame has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::endpoint) enum Carrier {
    Stream,
    Datagram,
}

impl Endpoint {
    /// Hands frames that were read from a link's stream to the engine. False if the link has ended.
    pub(in crate::endpoint) fn process_received(&mut self, at: usize, now: Instant) -> bool {
        loop {
            let Some(link) = self.links.tcp.get_mut(at) else { return false };
            match link.receive.next(&self.memory, &mut self.bounces) {
                Ok(None) => return true,
                Ok(Some(Arrived::Header(header))) => {
                    if !self.begin_frame(at, header, now) {
                        return false;
                    }
                }
                Ok(Some(Arrived::Payload(len))) => {
                    if link.receive_sequence.end_stream_frame() {
                        let subchannel = link.payload_received(len);
                        self.payload_placed(subchannel, now);
                    }
                }
                Err(Unreadable::Malformed(malformed)) => {
                    self.protocol_violation(LinkId::Tcp(at), &malformed.to_string());
                    return false;
                }
                Err(Unreadable::Changed) => {
                    // The start of the next frame is lost.
                    link.is_ending = true;
                    self.frame_was_changed(LinkId::Tcp(at));
                    return false;
                }
            }
        }
    }

    /// Handles the header of a frame on the stream. False if the link has ended.
    fn begin_frame(&mut self, at: usize, mut header: Header, now: Instant) -> bool {
        if let Some(is_up) = self.control_received(at, &mut header, now) {
            return is_up;
        }
        let (len, is_counted) = (u64::from(header.body.payload_len()), header.body.is_counted());
        if self.links.tcp[at].is_on_trial {
            self.received_on_trial(at, &header.body);
        }
        let link = &mut self.links.tcp[at];
        let is_duplicate = is_counted && !link.receive_sequence.begin_stream_frame();
        if is_counted && !is_duplicate {
            match self.take_message(at, &mut header, Carrier::Stream, now) {
                Some(false) => {}
                taken => return taken.is_some(),
            }
        }
        let link = &mut self.links.tcp[at];
        let placement = match is_duplicate {
            // The frame has come as a datagram before.
            true => Some(Placement::Discard),
            false => {
                let subchannel = link.header_received(&mut header, now);
                self.handle_header(LinkId::Tcp(at), subchannel, &header, now)
            }
        };
        let (Some(placement), Some(link)) = (placement, self.links.tcp.get_mut(at)) else { return false };
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

    /// Handles a frame that concerns the link alone. Returns whether the link is still up; `None` for other frames.
    #[inline]
    fn control_received(&mut self, at: usize, header: &mut Header, now: Instant) -> Option<bool> {
        let link = &mut self.links.tcp[at];
        match header.body {
            Body::Resume { number } if link.receive_sequence.resume(number).is_ok() => Some(true),
            Body::Resume { .. } => {
                self.protocol_violation(LinkId::Tcp(at), "it leaves frames out");
                Some(false)
            }
            Body::Datagrams { port, secret, received } => {
                self.datagrams_offered(at, port, secret, received);
                Some(true)
            }
            Body::Leave if !link.peer_leaves() => {
                self.protocol_violation(LinkId::Tcp(at), "it lets go of a connection that has to stay");
                Some(false)
            }
            Body::Evict => {
                let subchannel = link.header_received(header, now);
                if self.handle_header(LinkId::Tcp(at), subchannel, header, now).is_some() {
                    self.link_evicted(at);
                }
                Some(false)
            }
            Body::Name { rank, host } => {
                link.is_confirmed = true;
                let vc = link.common.subchannel.vc;
                self.peers[vc].name = Some(name(rank, &host));
                Some(true)
            }
            Body::Description { .. } | Body::SharedMemory { .. } => {
                if let Err(how) = self.offer_received(at, &header.body, now) {
                    self.protocol_violation(LinkId::Tcp(at), how);
                }
                Some(self.links.tcp.contains(at))
            }
            _ => None,
        }
    }

    /// Handles a message that was read whole, if there is a receive for it; it then needs no record. False: it is not handled. `None`:
    /// the link has ended.
    #[inline]
    pub(in crate::endpoint) fn take_message(
        &mut self,
        at: usize,
        header: &mut Header,
        by: Carrier,
        now: Instant,
    ) -> Option<bool> {
        if !matches!(header.body, Body::Eager { .. }) {
            return Some(false);
        }
        let Endpoint { links, engine, memory, .. } = self;
        let link = links.tcp.get_mut(at)?;
        header.ack = link.newest_acknowledgement(header.ack, now);
        let StreamLink { receive, datagrams, receive_sequence, common, .. } = link;
        let receive = match (by, &mut *datagrams) {
            (Carrier::Datagram, Some(datagrams)) => datagrams.receive_mut(),
            _ => receive,
        };
        let len = u64::from(header.body.payload_len());
        let Some(payload) = receive.whole_payload(len) else { return Some(false) };
        match engine.receive_whole(now, common.subchannel, header, |to| memory.write(to, 0, payload)) {
            Ok(true) => {
                receive.skip_payload(len);
                common.counts.rx_messages += 1;
                common.counts.rx_bytes += len;
                if by == Carrier::Stream {
                    receive_sequence.end_stream_frame();
                    datagrams.iter_mut().for_each(|datagrams| datagrams.stream_had_frame());
                }
                self.apply_memory_actions();
                Some(true)
            }
            Ok(false) => Some(false),
            Err(violation) => {
                self.protocol_violation(LinkId::Tcp(at), &violation.to_string());
                None
            }
        }
    }
}
