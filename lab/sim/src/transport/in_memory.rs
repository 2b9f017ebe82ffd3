//! What a driver does with links in shared memory beside what it does with all: messages that take a short way through the
//! engine, news of what was taken, payloads in the sender's memory, and what only a link had when it fails.

use fishplate_engine::wire::{self, Body};
use fishplate_engine::{Payload, Placement, SendRequest, Source};

use super::data::Data;
use super::frame::Segment;
use super::ids::{HostId, LinkId};
use super::ledger::peer;
use super::mutation::Mutation;
use super::trace::Note;
use super::world::{Host, World};

impl World {
    /// The memory that a host shares with a peer, while it uses it.
    fn memory_link(&self, host: HostId, peer: HostId) -> Option<LinkId> {
        self.setup.shared_memory.as_ref()?;
        let mut links = self.hosts[host.0].links[peer.0].iter().copied();
        links.find(|link| self.flow(*link).is_in_memory() && !self.end(*link).is_closed)
    }

    /// Sends a message that fits into shared memory at once, as a copy; the send has completed then. False: it has to go the
    /// long way. `may_complete`: as soon as its memory may be used again.
    pub(super) fn send_in_memory(&mut self, host: HostId, request: &SendRequest, may_complete: bool) -> bool {
        let Some(link) = self.memory_link(host, peer(request.vc)) else { return false };
        let may_be_short = may_complete || request.inject && !request.notify;
        if !may_be_short || !self.flow(link).takes_copy(request.payload.len(), request.inject) {
            return false;
        }
        let now = self.queue.now();
        let Some((_, header)) = self.hosts[host.0].engine.send_in_memory(now.into(), request) else { return false };
        self.enqueue(link, header, (Source::User(request.payload.clone()), true));
        self.check_read(host, peer(request.vc));
        self.schedule(link);
        true
    }

    /// Whether all that a host has sent to a peer last is in shared memory.
    pub(super) fn is_in_memory(&self, host: HostId, peer: HostId) -> bool {
        let link = self.memory_link(host, peer);
        link.is_some_and(|link| !self.flow(link).has_waiting())
    }

    /// Looks what the peer has taken, and sends what waits for that.
    pub(super) fn look(&mut self, link: LinkId) {
        let now = self.queue.now();
        let (host, subchannel) = self.at(link);
        if self.end(link).is_closed {
            return;
        }
        match self.flow_mut(link).look() {
            Ok(None) => return,
            Ok(Some(frames)) => {
                if self.hosts[host.0].engine.delivered(now.into(), subchannel, frames).is_err() {
                    self.protocol_violation(link, "an acknowledgement of frames that were not sent");
                    return;
                }
            }
            Err(_) => {
                self.protocol_violation(link, "it acknowledges frames that were not sent");
                return;
            }
        }
        self.flush(link);
        self.act(host);
    }

    /// Tells the sender what was taken of a link. A host that does not keep to the protocol may say more than that.
    pub(super) fn publish(&mut self, link: LinkId) {
        let host = self.end(link).host;
        let flow = link.other();
        let lies = self.setup.hostile == Some(host) && self.sharing.percent(1);
        let excess = if lies { self.sharing.of_any_size(1000) as u32 } else { 0 };
        let now = self.queue.now();
        if !self.end(link).is_closed {
            self.flow_mut(flow).publish(now, excess);
        }
        self.schedule(flow);
    }

    /// Takes a segment that is a whole message, if there is a receive for it. False: it is not taken.
    pub(super) fn take_whole(&mut self, link: LinkId, segment: &Segment) -> bool {
        if !self.flow(link).is_in_memory() || segment.lent.is_some() {
            return false;
        }
        let Some(encoded) = &segment.header else { return false };
        let Ok(Some((header, _))) = wire::decode(encoded.bytes()) else { return false };
        let is_whole = u64::from(header.body.payload_len()) == segment.data.len();
        if !is_whole || !matches!(header.body, Body::Eager { .. }) {
            return false;
        }
        let now = self.queue.now();
        let (host, subchannel) = self.at(link);
        let memory = &mut self.memories[host.0];
        let place = |to: &Payload| memory.scatter(to, 0, &segment.data);
        match self.hosts[host.0].engine.receive_whole(now.into(), subchannel, &header, place) {
            Ok(true) => {
                self.trace.note(now, &Note::Came(link.connection, host, encoded.bytes()));
                self.short += 1;
                self.act(host);
                true
            }
            Ok(false) => false,
            Err(violation) => {
                self.protocol_violation(link, &violation.to_string());
                true
            }
        }
    }

    /// Reads the payload that is being received out of the sender's memory. `None`: the link has failed.
    pub(super) fn fetch(&mut self, link: LinkId, lent: &Payload) -> Option<Data> {
        let (host, sender) = (self.end(link).host, self.across(link));
        let flow = &self.connections[link.connection.0].flows[link.other().end.0];
        let receiving = self.connections[link.connection.0].ends[link.end.0].receiving.as_ref();
        let placement = receiving.map_or(Placement::Discard, |receiving| receiving.placement.clone());
        let of_sender = &mut self.memories[sender.0];
        let (blank, all) = (Data::blank(self.setup.contents, lent.len()), Source::User(lent.clone()));
        let fetched = match flow.is_lender_there() {
            false if self.setup.mutation != Some(Mutation::ClosedUnseen) => None,
            _ if placement == Placement::Discard => Some(blank.clone()),
            _ => Some(of_sender.gather(&all, 0, lent.len())),
        };
        self.check_read(sender, host);
        if fetched.is_none() {
            // The contents read are undefined.
            if let Placement::User(place) = placement {
                self.memories[host.0].scatter(&place, 0, &blank);
            }
            self.check_memory(host);
            self.link_failed(link, "the peer's memory cannot be read");
        }
        fetched
    }

    /// Copies what a link alone has of messages, so that it can be sent another way.
    pub(super) fn recover(&mut self, link: LinkId) {
        let (host, subchannel) = self.at(link);
        let flow = &self.connections[link.connection.0].flows[link.end.0];
        if !flow.is_in_memory() || self.setup.mutation == Some(Mutation::RecoverForgotten) {
            return;
        }
        let (memory, contents) = (&mut self.memories[host.0], self.setup.contents);
        self.hosts[host.0].engine.recover(subchannel, |frame, len, id| {
            let found = flow.recover(frame).filter(|data| data.len() == len);
            let is_there = found.is_some();
            memory.keep_copy(id, found.unwrap_or_else(|| Data::blank(contents, len)));
            is_there
        });
    }

    /// The memory `ended` is not there any more once this returns.
    pub(super) fn detach(&mut self, host: HostId, ended: &Payload) {
        let mut lenders = Vec::new();
        for link in self.hosts[host.0].links.iter().flatten().copied() {
            let flow = &mut self.connections[link.connection.0].flows[link.end.0];
            if !flow.detach(ended, &mut self.memories[host.0]) {
                lenders.push(link);
            }
        }
        if self.setup.mutation == Some(Mutation::LentReleased) {
            return;
        }
        for link in lenders {
            // Whose users have agreed that it ends: the peer has read it.
            self.look(link);
            let (_, subchannel) = self.at(link);
            let has_lent = self.flow(link).has_lent(ended);
            // The memory of sends stays until they complete, registered or not.
            if has_lent && self.hosts[host.0].engine.has_ended_sources(subchannel.vc) {
                self.link_failed(link, "memory that the peer was to read has ended");
            }
        }
    }

    /// Ends sends before their acknowledgement, but those whose memory the peer may yet read.
    pub(super) fn buffer_sends(&mut self, host: HostId) {
        let now = self.queue.now();
        let Host { engine, links, .. } = &mut self.hosts[host.0];
        let (connections, mutation) = (&self.connections, self.setup.mutation);
        engine.buffer_sends(now.into(), |payload| {
            let has_lent = |LinkId { connection, end }: &LinkId| {
                let connection = &connections[connection.0];
                !connection.ends[end.0].is_closed && connection.flows[end.0].has_lent(payload)
            };
            mutation != Some(Mutation::LentReleased) && links.iter().flatten().any(has_lent)
        });
        self.act(host);
    }
}
