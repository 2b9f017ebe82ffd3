//! Datagrams beside streams: which peers and frames they are used for, and the retransmission of unacknowledged ones.
//!
//! They are for near peers with request-response traffic. Each side announces its UDP port over the stream, and sends a probe;
//! frames follow only once probes have arrived.

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Instant, Transmit};

use crate::ablation::Mechanism;
use crate::endpoint::Endpoint;
use crate::endpoint::send::BUDGET;
use crate::link::{Datagrams, NEAR_RTT_NS};
use crate::poller::Kind;

/// Links of an endpoint that have datagrams, at most: each has one more socket.
const MAX_LINKS: usize = 64;

impl Endpoint {
    /// Sends a frame as a datagram, if datagrams are in use and hardly any earlier frames are unacknowledged.
    pub(in crate::endpoint) fn try_send_datagram(&mut self, at: usize, transmit: &Transmit, now: Instant) -> bool {
        let link = &mut self.links.tcp[at];
        let Some(datagrams) = link.datagrams.as_mut().filter(|datagrams| datagrams.is_open()) else {
            if link.sampled.min_rtt_ns <= NEAR_RTT_NS && link.send_sequence.should_offer() {
                self.offer_datagrams(at);
            }
            return false;
        };
        // An acknowledgement must not overtake the refusal of a write: the write would seem to succeed.
        let is_refusal = matches!(transmit.header.body, Body::Refused { .. });
        if is_refusal || !link.transmit.is_empty() || !datagrams.fits(transmit.source.len()) {
            return false;
        }
        let frame = (&transmit.header, &transmit.source);
        if let Err(error) = datagrams.send(link.send_sequence.next(), frame, &self.memory, &self.bounces) {
            log::debug!("a datagram to {} does not leave: {error}", link.remote);
            link.send_sequence.back_off();
            return false;
        }
        link.send_sequence.sent_as_datagram(now);
        link.common.counts.tx_datagrams += 1;
        self.engine.writable(link.common.subchannel, BUDGET);
        self.links.tcp.datagram_left(at);
        true
    }

    /// Opens the socket for a link's datagrams, within the limits.
    fn open_datagrams(&mut self, at: usize) {
        let link = &self.links.tcp[at];
        let others = self.links.tcp.iter().filter(|(_, link)| link.datagrams.is_some()).count();
        let connections = self.links.tcp.len() + self.attempts.len();
        let has_many = others >= MAX_LINKS || !self.links.tcp.files.has_room_for_datagrams(connections, others);
        let is_set = self.settings.datagrams && !self.settings.ablation.is_off(Mechanism::Datagrams);
        let is_wanted = is_set && !self.settings.encryption && self.links.tcp.held.enabled;
        if has_many || !is_wanted || link.name.is_additional() {
            return;
        }
        let Ok(mut local) = link.socket.local_addr() else { return };
        // Processes of a host start their search for a free port at different ones.
        local.set_port(self.identity.address.port);
        let device = self.host.device(link.common.rail, link.remote.ip());
        let opened = Datagrams::open(local, device, self.settings.ports, self.settings.checksum);
        let opened = opened.and_then(|datagrams| {
            if link.in_poll_set {
                self.poller.add(datagrams.socket(), Kind::Datagrams.at(at))?;
            }
            Ok(datagrams)
        });
        match opened {
            Ok(datagrams) => self.links.tcp[at].datagrams = Some(Box::new(datagrams)),
            Err(error) => log::debug!("no datagrams from {}: {error}", self.links.tcp[at].remote),
        }
    }

    /// Announces the port for datagrams to the peer, if there is one, and whether its own datagrams arrive.
    pub(in crate::endpoint) fn offer_datagrams(&mut self, at: usize) {
        if self.links.tcp[at].datagrams.is_none() {
            self.open_datagrams(at);
        }
        let Some(datagrams) = &self.links.tcp[at].datagrams else { return };
        let Ok(body) = datagrams.offer() else { return };
        datagrams.send_probe();
        self.links.tcp.push_header(at, &Header::without_acknowledgement(body));
    }

    /// The peer has announced its port for datagrams.
    pub(in crate::endpoint) fn datagrams_offered(&mut self, at: usize, port: u16, secret: u64, heard: bool) {
        if self.links.tcp[at].datagrams.is_none() {
            self.offer_datagrams(at);
        }
        let link = &mut self.links.tcp[at];
        let mut remote = link.remote;
        remote.set_port(port);
        let Some(datagrams) = &mut link.datagrams else { return };
        if let Err(error) = datagrams.accept(remote, secret, heard) {
            log::debug!("no datagrams to {remote}: {error}");
        }
    }
}
