//! Datagrams beside streams: with whom, which frames, and what becomes of those that are not acknowledged.
//!
//! Near peers that talk in turns have them. Either side says over the stream where it takes them, and tries whether they
//! come through; only then frames follow.

use std::net::SocketAddr;

use fishplate_engine::wire::{Body, Header};
use fishplate_engine::{Instant, Transmit};

use super::BUDGET;
use crate::endpoint::Endpoint;
use crate::endpoint::progress::token::datagrams_token;
use crate::link::{Datagrams, NEAR_RTT_NS};
use crate::sys::poll::Kind;

/// Links of an endpoint that have datagrams, at most: each has one more socket.
const MOST_LINKS: usize = 64;
/// After so long without an acknowledgement a frame is repeated on the stream, in nanoseconds: longer than a peer that
/// looks at the network takes for it, and longer than most that look at it now and then.
const REPEAT_AFTER_NS: u64 = 5_000_000;

impl Endpoint {
    /// Sends a frame, which follows nothing that is not acknowledged, as a datagram if that can be.
    pub(in crate::endpoint) fn goes_as_datagram(&mut self, at: usize, transmit: &Transmit, now: Instant) -> bool {
        let link = &mut self.links[at];
        let Some(datagrams) = link.datagrams.as_mut().filter(|datagrams| datagrams.is_open()) else {
            if link.sampled.min_rtt_ns <= NEAR_RTT_NS && link.departures.offers() {
                self.offer_datagrams(at);
            }
            return false;
        };
        // No acknowledgement may overtake the refusal of a write: it would say that it has succeeded.
        let is_refusal = matches!(transmit.header.body, Body::Refused { .. });
        if is_refusal || !link.transmit.is_empty() || !Datagrams::fits(transmit.source.len()) {
            return false;
        }
        let frame = (&transmit.header, &transmit.source);
        if let Err(error) = datagrams.send(link.departures.next(), frame, &self.memory, &self.bounces, now) {
            log::debug!("a datagram to {} does not leave: {error}", link.remote);
            link.departures.give_up_for_now();
            return false;
        }
        link.departures.by_datagram();
        link.counts.tx_datagrams += 1;
        if !std::mem::replace(&mut datagrams.listed, true) {
            self.out.push(at);
        }
        self.engine.writable(link.subchannel, BUDGET);
        true
    }

    /// Takes datagrams on a link from now on, if that may be.
    fn open_datagrams(&mut self, at: usize) {
        let link = &self.links[at];
        let has_many = self.links.iter().filter(|(_, link)| link.datagrams.is_some()).count() >= MOST_LINKS;
        let is_wanted = self.settings.datagrams && !self.settings.encryption && self.held.watched;
        if has_many || !is_wanted || link.line.is_additional() {
            return;
        }
        let local = self.rails[usize::from(link.rail.0)].ip;
        let has_failed = self.peers[link.subchannel.vc.0 as usize].has_lost(link.rail.0);
        let device = self.device(link.rail, link.remote.ip(), has_failed);
        let opened = Datagrams::open(local, device).and_then(|datagrams| {
            if link.watched {
                self.poller.add(datagrams.socket(), Kind::Datagrams, datagrams_token(at))?;
            }
            Ok(datagrams)
        });
        match opened {
            Ok(datagrams) => self.links[at].datagrams = Some(Box::new(datagrams)),
            Err(error) => log::debug!("no datagrams from {}: {error}", self.links[at].remote),
        }
    }

    /// Tells the peer where datagrams are taken, if they are, and whether its own come through.
    pub(in crate::endpoint) fn offer_datagrams(&mut self, at: usize) {
        if self.links[at].datagrams.is_none() {
            self.open_datagrams(at);
        }
        let link = &mut self.links[at];
        let Some(datagrams) = &link.datagrams else { return };
        let Ok(body) = datagrams.offer() else { return };
        datagrams.show();
        link.transmit.push_header(&Header::without_news(body));
        self.soil(at);
    }

    /// The peer takes datagrams.
    pub(in crate::endpoint) fn hear_of_datagrams(&mut self, at: usize, (port, secret, heard): (u16, u64, bool)) {
        if self.links[at].datagrams.is_none() {
            self.offer_datagrams(at);
        }
        let link = &mut self.links[at];
        let remote = SocketAddr::new(link.remote.ip(), port);
        let Some(datagrams) = &mut link.datagrams else { return };
        if let Err(error) = datagrams.accept(remote, secret, heard) {
            log::debug!("no datagrams to {remote}: {error}");
        }
    }

    /// Frames that left as datagrams and were not acknowledged for long go into their streams. True if there were any.
    pub(in crate::endpoint) fn repeat_datagrams(&mut self, now: Instant) -> bool {
        let mut repeated = false;
        let out = std::mem::take(&mut self.out);
        for at in out {
            let Some(link) = self.links.get_mut(at) else { continue };
            let Some(datagrams) = &mut link.datagrams else { continue };
            if link.departures.is_out() && now.since_ns(datagrams.left_at()) < REPEAT_AFTER_NS {
                self.out.push(at);
                continue;
            }
            datagrams.listed = false;
            if link.settle() {
                repeated = true;
                self.soil(at);
            }
        }
        repeated
    }
}
