//! Reading the datagrams of a link.

use std::io;

use fishplate_engine::Instant;
use fishplate_link_core::Link;

use super::MAX_READS;
use super::process::Carrier;
use crate::endpoint::Endpoint;
use crate::endpoint::link_id::LinkId;
use crate::link::{Arrived, Datagram, DatagramKind};
use crate::poller::Kind;

impl Endpoint {
    /// Reads the datagrams of a link that the poll set has reported. True if there were frames.
    pub(in crate::endpoint) fn read_datagrams(&mut self, at: usize, now: Instant) -> bool {
        let mut moved = false;
        for _ in 0..MAX_READS {
            let Some(read) = self.read_datagram(at, now) else { return moved };
            moved |= read;
        }
        if let Some(datagrams) = self.links.tcp.get(at).and_then(|link| link.datagrams.as_ref()) {
            // There may be more datagrams, which the poll set would not report again. (If this fails, the socket is not in the set.)
            let _ = self.poller.rename(datagrams.socket(), Kind::Datagrams.at(at));
        }
        moved
    }

    /// Reads a datagram of a link. `None`: there is none; true: it came from the peer.
    pub(in crate::endpoint) fn read_datagram(&mut self, at: usize, now: Instant) -> Option<bool> {
        let link = self.links.tcp.get_mut(at)?;
        let datagrams = link.datagrams.as_mut()?;
        let has_waited = datagrams.early().is_some_and(|number| !link.receive_sequence.is_early(number));
        let came = if has_waited { datagrams.resume_early() } else { datagrams.fill() };
        let polled_before = std::mem::replace(&mut datagrams.polled_at, now);
        match came {
            Ok(DatagramKind::Frame(number)) => {
                let what = link.receive_sequence.accept_datagram(number);
                if what == Datagram::Early {
                    datagrams.keep_early(number);
                    return Some(false);
                }
                let (subchannel, is_watched) = (link.common.subchannel, link.in_poll_set);
                // The arrival time of a datagram that has waited is not known any more.
                if !has_waited {
                    self.engine.arrived_after(subchannel, self.known_empty_at(is_watched, polled_before));
                }
                self.engine.made_progress(now, subchannel);
                if self.links.tcp.active == Some(at) {
                    self.progress.poll_interval.active_link_had_data();
                }
                self.set_active_link(at);
                if what == Datagram::Taken {
                    self.process_datagram(at, now);
                    self.resume_datagram(at, now);
                }
                Some(true)
            }
            Ok(DatagramKind::Probe) => {
                let is_first = !std::mem::replace(&mut datagrams.peer_reaches_us, true);
                if is_first {
                    self.offer_datagrams(at);
                }
                Some(is_first)
            }
            Ok(DatagramKind::Foreign) => Some(false),
            Ok(DatagramKind::Changed) => {
                self.datagram_was_changed(at);
                Some(false)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            // An ICMP error about a sent datagram: its frame will be retransmitted.
            Err(_) => Some(false),
        }
    }

    /// A datagram has a wrong checksum: it is dropped, and its frame comes again over the stream.
    #[cold]
    fn datagram_was_changed(&mut self, at: usize) {
        let link = &mut self.links.tcp[at];
        link.common.counts.changed_frames += 1;
        let (vc, rail) = (link.common.subchannel.vc, &self.host[link.common.rail].name);
        let so_far = self.changed_frames_of(LinkId::Tcp(at));
        // A bad wire corrupts thousands a second.
        let level = if so_far.is_power_of_two() { log::Level::Warn } else { log::Level::Debug };
        log::log!(
            level,
            "{} rail {rail}: a datagram was changed on its way: its checksum is wrong; frames changed on this rail so far: {so_far}",
            self.peers[vc].describe()
        );
    }

    /// Handles a datagram that has waited for frames of the stream which have come now.
    pub(in crate::endpoint) fn resume_datagram(&mut self, at: usize, now: Instant) {
        let Some(link) = self.links.tcp.get(at) else { return };
        let early = link.datagrams.as_ref().and_then(|datagrams| datagrams.early());
        if early.is_some_and(|number| !link.receive_sequence.is_early(number)) {
            self.read_datagram(at, now);
        }
    }

    /// Hands the frame of a datagram that was read to the engine; it is the next one in order.
    fn process_datagram(&mut self, at: usize, now: Instant) {
        let Some(link) = self.links.tcp.get_mut(at) else { return };
        let Some(datagrams) = link.datagrams.as_mut() else { return };
        let frame = match datagrams.next(&self.memory, &mut self.bounces) {
            Ok(Some(Arrived::Header(header))) if header.body.is_counted() => Some(header),
            _ => None,
        };
        let len = frame.map_or(0, |header| u64::from(header.body.payload_len()));
        let Some(mut header) = frame.filter(|_| datagrams.payload_is(len)) else {
            return self.protocol_violation(LinkId::Tcp(at), "a datagram is not one frame");
        };
        if self.take_message(at, &mut header, Carrier::Datagram, now) != Some(false) {
            return;
        }
        let subchannel = self.links.tcp[at].header_received(&mut header, now);
        let Some(placement) = self.handle_header(LinkId::Tcp(at), subchannel, &header, now) else { return };
        if len == 0 {
            return;
        }
        let Some(link) = self.links.tcp.get_mut(at) else { return };
        let Some(datagrams) = link.datagrams.as_mut() else { return };
        datagrams.place(placement, len, &self.memory, &mut self.bounces);
        let subchannel = link.payload_received(len);
        self.payload_placed(subchannel, now);
    }
}
