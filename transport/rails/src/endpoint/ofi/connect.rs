//! Set-up: each side sends the other the address of its endpoint, and a secret, over a proven connection. The secret authenticates
//! the first record that comes to the endpoint.

use fishplate_engine::wire::{Body, DESCRIPTION_PART, Header};
use fishplate_engine::{Instant, VcId};
use fishplate_link_core::Counts;
use fishplate_rails_ofi::{self as ofi, Answer, Description, OfiLink, lock};

use super::{End, EndId, Pause};
use crate::endpoint::Endpoint;
use crate::endpoint::link_id::LinkId;
use crate::endpoint::messenger::Messenger;
use crate::endpoint::send::BUDGET;
use crate::sys::tcp_info::TcpInfo;

impl Endpoint {
    /// A connection has come up: sends its peer the descriptions of this side's ends.
    pub(in crate::endpoint) fn offer_ofi(&mut self, over: Messenger) {
        if !over.is_additional {
            (0..self.links.ofi.rails.len()).for_each(|rail| self.offer_ofi_rail(rail, over));
        }
    }

    /// Sends a peer the description of this side's end on a rail, which is made if there is none.
    fn offer_ofi_rail(&mut self, rail: usize, over: Messenger) {
        if self.settings.shared_memory && self.host.has(over.remote) {
            return;
        }
        let Some(end) = self.ofi_end(rail, over.vc) else {
            self.offer_ofi_link(rail, over);
            return;
        };
        // An earlier description may have been lost with its connection.
        if self.links.ofi.end(end).is_some_and(|end| end.link.is_none()) {
            self.tell_of_ofi_end(end, over);
        }
    }

    /// A peer has sent the description of an endpoint.
    pub(in crate::endpoint) fn ofi_described(&mut self, over: Messenger, theirs: &Description) {
        let vc = over.vc;
        let is_theirs = |rail: &super::OfiRail| {
            let rail = lock(&rail.rail);
            (&rail.provider, &rail.fabric, rail.ordinal) == (&theirs.provider, &theirs.fabric, theirs.ordinal)
        };
        let Some(rail) = self.links.ofi.rails.iter().position(is_theirs) else {
            let Description { provider, fabric, .. } = theirs;
            log::info!("{} has a rail by {provider}, of {fabric}, and this side has none", self.describe_peer(vc));
            return;
        };
        let known = self.ofi_end(rail, vc);
        let Some(end) = known.or_else(|| self.offer_ofi_link(rail, over)) else { return };
        match self.answer_ofi(end, theirs) {
            // The peer may have lost this end's description.
            Some(Answer::Taken) if known.is_some() => self.tell_of_ofi_end(end, over),
            Some(Answer::Outdated) => {
                self.ofi_ended(end, "the peer has set it up anew");
                if let Some(end) = self.offer_ofi_link(rail, over) {
                    self.answer_ofi(end, theirs);
                }
            }
            _ => {}
        }
    }

    /// Applies a peer's description to a link. `None`: the link has failed.
    fn answer_ofi(&mut self, end: EndId, theirs: &Description) -> Option<Answer> {
        let answered = lock(&self.links.ofi.rails[end.rail].rail).answer(end.at, theirs);
        answered.map_err(|error| self.ofi_ended(end, &format!("the peer's address cannot be used: {error}"))).ok()
    }

    /// Makes this side's end of a new link, and sends its description. `None` if it could not be made.
    fn offer_ofi_link(&mut self, rail: usize, over: Messenger) -> Option<EndId> {
        let own = &mut self.links.ofi.rails[rail];
        let mut open = lock(&own.rail);
        if !open.is_open() {
            return None;
        }
        let offered = open.offer();
        drop(open);
        let at = offered.inspect_err(|error| log::warn!("rail {}: no memory for a link: {error}", own.name)).ok()?;
        if own.ends.len() <= at {
            own.ends.resize_with(at + 1, || None);
        }
        own.ends[at] = Some(End { vc: over.vc, link: None });
        let end = EndId { rail, at };
        self.tell_of_ofi_end(end, over);
        Some(end)
    }

    /// Sends a peer the description of this side's end of a link.
    fn tell_of_ofi_end(&mut self, end: EndId, over: Messenger) {
        let Some(description) = lock(&self.links.ofi.rails[end.rail].rail).description(end.at) else { return };
        let bytes = description.encode();
        for (number, chunk) in bytes.chunks(DESCRIPTION_PART).enumerate() {
            let mut part = [0; DESCRIPTION_PART];
            part[..chunk.len()].copy_from_slice(chunk);
            let (total, offset) = (bytes.len() as u16, (number * DESCRIPTION_PART) as u16);
            let header = Header::without_acknowledgement(Body::Description { total, offset, part });
            self.tell(over, &header);
        }
    }

    /// A link is proven.
    pub(super) fn ofi_link_up(&mut self, end: EndId) {
        let id = self.ofi_rail(end.rail);
        let Some(own) = self.links.ofi.end(end) else { return };
        let (vc, rail) = (own.vc, &self.links.ofi.rails[end.rail]);
        // The peer's grant is known from the streams.
        let Ok(subchannel) = self.engine.subchannel_up(vc, id, rail.speed, 0) else { return };
        let link = OfiLink::new(rail.rail.clone(), end.at, subchannel, id);
        let link = self.links.ofi.insert(link);
        if let Some(own) = &mut self.links.ofi.rails[end.rail].ends[end.at] {
            own.link = Some(link);
        }
        self.peers[vc].set_link(subchannel.index, LinkId::Ofi(link));
        self.stand_by(vc);
        self.diagnostics.counters.connected(id, 1, &TcpInfo::default());
        log::info!("rail {}: connected to {}", self.links.ofi.rails[end.rail].name, self.describe_peer(vc));
        self.engine.writable(subchannel, BUDGET);
    }

    /// A link, or its set-up, has failed.
    pub(super) fn ofi_ended(&mut self, end: EndId, why: &str) {
        let Some(own) = self.links.ofi.end(end) else { return };
        let vc = own.vc;
        match own.link {
            Some(link) if self.peers[vc].is_closing => self.link_shut(LinkId::Ofi(link)),
            Some(link) => self.link_failed(LinkId::Ofi(link), why),
            None => {
                log::warn!(
                    "rail {}: no link to {}: {why}",
                    self.links.ofi.rails[end.rail].name,
                    self.describe_peer(vc)
                );
                self.remove_ofi_end(end);
            }
        }
    }

    /// Removes a link. Returns its counts.
    pub(in crate::endpoint) fn remove_ofi(&mut self, at: usize) -> Counts {
        let link = self.links.ofi.remove(at);
        let rail = usize::from(link.common.rail.0) - self.host.rails.len();
        self.remove_ofi_end(EndId { rail, at: link.at });
        link.common.counts
    }

    /// Removes a link, or its set-up.
    fn remove_ofi_end(&mut self, end: EndId) {
        let own = &mut self.links.ofi.rails[end.rail];
        lock(&own.rail).remove(end.at, &mut self.bounces);
        let Some(removed) = own.ends[end.at].take() else { return };
        own.pauses.entry(removed.vc).or_default().failed(self.clock.now());
        self.stand_by(removed.vc);
    }

    /// Removes all links and set-ups of a peer.
    pub(in crate::endpoint) fn remove_ofi_ends(&mut self, vc: VcId) {
        for rail in 0..self.links.ofi.rails.len() {
            while let Some(end) = self.ofi_end(rail, vc) {
                self.remove_ofi_end(end);
            }
            self.links.ofi.rails[rail].pauses.remove(&vc);
        }
    }

    /// Sets up failed links and rails again, and records which links are in use.
    pub(in crate::endpoint) fn service_ofi(&mut self, now: Instant) {
        for (_, link) in &*self.links.ofi {
            self.diagnostics.counters.touch(link.common.rail, &link.common.counts, now);
        }
        for rail in 0..self.links.ofi.rails.len() {
            self.reopen_ofi(rail, now);
            let is_due = |(vc, pause): (&VcId, &Pause)| (pause.until <= now).then_some(*vc);
            let due: Vec<VcId> = self.links.ofi.rails[rail].pauses.iter().filter_map(is_due).collect();
            for vc in due {
                let over = self.messenger_to(vc).filter(|_| !self.peers[vc].is_closing);
                if let Some(over) = over.filter(|_| self.ofi_end(rail, vc).is_none()) {
                    self.offer_ofi_link(rail, over);
                }
            }
        }
    }

    /// Opens a closed rail again, once its links are removed.
    fn reopen_ofi(&mut self, rail: usize, now: Instant) {
        let own = &mut self.links.ofi.rails[rail];
        let ordinal = match lock(&own.rail) {
            open if open.is_open() => return,
            closed => closed.ordinal,
        };
        if own.reopening.until > now || own.ends.iter().any(Option::is_some) {
            return;
        }
        own.reopening.failed(now);
        match ofi::open(&own.wanted, self.settings.checksum) {
            Ok(mut opened) => {
                opened.ordinal = ordinal;
                *lock(&own.rail) = opened;
                log::info!("rail {}: opened again", own.name);
                for vc in self.peers.channels() {
                    self.messenger_to(vc).into_iter().for_each(|over| self.offer_ofi_rail(rail, over));
                }
            }
            Err(why) => log::warn!("rail {} cannot be opened again: {why}", own.name),
        }
    }

    /// The end of a rail's link to a peer.
    fn ofi_end(&self, rail: usize, vc: VcId) -> Option<EndId> {
        let is_to = |end: &Option<End>| end.as_ref().is_some_and(|end| end.vc == vc);
        self.links.ofi.rails[rail].ends.iter().position(is_to).map(|at| EndId { rail, at })
    }

    fn describe_peer(&self, vc: VcId) -> String {
        self.peers[vc].describe()
    }
}
