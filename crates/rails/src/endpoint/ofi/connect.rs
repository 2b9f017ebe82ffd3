//! Set-up: each side tells the other of its endpoints, and of a secret for each; what comes with the secret is from who was
//! told.

use fishplate_engine::wire::{Body, DESCRIPTION_PART, Header};
use fishplate_engine::{Instant, VcId};

use super::{End, Pause};
use crate::endpoint::Endpoint;
use crate::endpoint::send::BUDGET;
use crate::link_kind::{Counts, LinkId};
use crate::ofi::description::MOST_DESCRIPTION;
use crate::ofi::{self, Answer, Description, OfiLink, lock};
use crate::sys::tcp_info::TcpInfo;

impl Endpoint {
    /// Stream `at` has come up: tells its peer of this side's ends.
    pub(in crate::endpoint) fn offer_ofi(&mut self, at: usize) {
        let link = &self.links.streams[at];
        if !link.name.is_additional() {
            (0..self.ofi.rails.len()).for_each(|rail| self.offer_ofi_rail(rail, at));
        }
    }

    /// Tells the peer of stream `at` of this side's end of a link by a rail, which comes about if there is none.
    fn offer_ofi_rail(&mut self, rail: usize, at: usize) {
        let link = &self.links.streams[at];
        let (vc, remote) = (link.common.subchannel.vc, link.remote.ip());
        if self.settings.shared_memory && self.host.has(remote) {
            return;
        }
        let Some(end) = self.ofi_end(rail, vc) else {
            self.offer_ofi_link(rail, vc, at);
            return;
        };
        // What was told over a stream that has ended may be lost.
        if self.ofi.rails[rail].ends[end].as_ref().is_some_and(|end| end.link.is_none()) {
            self.tell_of_ofi_end(rail, end, at);
        }
    }

    /// A part of a description has come over stream `at`.
    pub(in crate::endpoint) fn description_came(
        &mut self,
        at: usize,
        (total, offset): (u16, u16),
        part: &[u8; DESCRIPTION_PART],
    ) -> Result<(), &'static str> {
        let described = &mut self.links.streams[at].described;
        if offset == 0 {
            described.clear();
        }
        let (total, offset) = (usize::from(total), usize::from(offset));
        if offset != described.len() || offset >= total || total > MOST_DESCRIPTION {
            return Err("a description in parts that do not fit");
        }
        described.extend_from_slice(&part[..part.len().min(total - offset)]);
        if described.len() == total {
            let bytes = std::mem::take(described);
            let description = Description::decode(&bytes).ok_or("a description that is none")?;
            self.ofi_described(at, &description);
        }
        Ok(())
    }

    /// The peer of stream `at` has told of an endpoint.
    fn ofi_described(&mut self, at: usize, theirs: &Description) {
        let vc = self.links.streams[at].common.subchannel.vc;
        let is_theirs = |rail: &super::OfiRail| {
            let rail = lock(&rail.rail);
            (&rail.provider, &rail.fabric, rail.ordinal) == (&theirs.provider, &theirs.fabric, theirs.ordinal)
        };
        let Some(rail) = self.ofi.rails.iter().position(is_theirs) else {
            let Description { provider, fabric, .. } = theirs;
            log::info!("{} has a rail by {provider}, of {fabric}, and this side has none", self.describe_peer(vc));
            return;
        };
        let known = self.ofi_end(rail, vc);
        let Some(end) = known.or_else(|| self.offer_ofi_link(rail, vc, at)) else { return };
        match self.answer_ofi(rail, end, theirs) {
            // Whether the peer has what it was told of this end is not known.
            Some(Answer::Taken) if known.is_some() => self.tell_of_ofi_end(rail, end, at),
            Some(Answer::Outdated) => {
                self.ofi_ended(rail, end, "the peer has set it up anew");
                if let Some(end) = self.offer_ofi_link(rail, vc, at) {
                    self.answer_ofi(rail, end, theirs);
                }
            }
            _ => {}
        }
    }

    /// Takes what a peer has told for a link. `None`: that has failed.
    fn answer_ofi(&mut self, rail: usize, end: usize, theirs: &Description) -> Option<Answer> {
        let answered = lock(&self.ofi.rails[rail].rail).answer(end, theirs);
        answered.map_err(|error| self.ofi_ended(rail, end, &format!("the peer's address cannot be used: {error}"))).ok()
    }

    /// Tells the peer of stream `at` of a link to be. Its name, if that could be.
    fn offer_ofi_link(&mut self, rail: usize, vc: VcId, at: usize) -> Option<usize> {
        let own = &mut self.ofi.rails[rail];
        let mut open = lock(&own.rail);
        if !open.is_open() {
            return None;
        }
        let offered = open.offer();
        drop(open);
        let end = offered
            .inspect_err(|error| log::warn!("rail {}: there is no memory for a link: {error}", own.name))
            .ok()?;
        if own.ends.len() <= end {
            own.ends.resize_with(end + 1, || None);
        }
        own.ends[end] = Some(End { vc, link: None });
        self.tell_of_ofi_end(rail, end, at);
        Some(end)
    }

    /// Tells the peer of stream `at` of this side's end of a link.
    fn tell_of_ofi_end(&mut self, rail: usize, end: usize, at: usize) {
        let Some(description) = lock(&self.ofi.rails[rail].rail).description(end) else { return };
        let bytes = description.encode();
        for (number, chunk) in bytes.chunks(DESCRIPTION_PART).enumerate() {
            let mut part = [0; DESCRIPTION_PART];
            part[..chunk.len()].copy_from_slice(chunk);
            let (total, offset) = (bytes.len() as u16, (number * DESCRIPTION_PART) as u16);
            let header = Header::without_acknowledgement(Body::Description { total, offset, part });
            self.links.streams[at].transmit.push_header(&header);
        }
        self.mark_dirty(at);
    }

    /// A link is proven.
    pub(super) fn ofi_link_up(&mut self, rail: usize, end: usize) {
        let id = self.ofi_rail(rail);
        let Some(own) = &self.ofi.rails[rail].ends[end] else { return };
        let vc = own.vc;
        // The streams have said what the peer grants.
        let Ok(subchannel) = self.engine.subchannel_up(vc, id, self.ofi.rails[rail].speed, 0) else { return };
        let shared = self.ofi.rails[rail].rail.clone();
        let link = self.links.ofi.insert(OfiLink::new((shared, end), subchannel, id));
        if let Some(own) = &mut self.ofi.rails[rail].ends[end] {
            own.link = Some(link);
        }
        self.peers[vc].set_link(subchannel.index, LinkId::Ofi(link));
        self.stand_by(vc);
        self.counters.connected(id, 1, &TcpInfo::default());
        log::info!("rail {}: connected to {}", self.ofi.rails[rail].name, self.describe_peer(vc));
        self.engine.writable(subchannel, BUDGET);
    }

    /// A link, or what was to become one, has failed.
    pub(super) fn ofi_ended(&mut self, rail: usize, end: usize, why: &str) {
        let Some(own) = &self.ofi.rails[rail].ends[end] else { return };
        let vc = own.vc;
        match own.link {
            Some(link) if self.peers[vc].is_closing => self.link_shut(LinkId::Ofi(link)),
            Some(link) => self.link_failed(LinkId::Ofi(link), why),
            None => {
                log::warn!("rail {}: no link to {}: {why}", self.ofi.rails[rail].name, self.describe_peer(vc));
                self.remove_ofi_end(rail, end);
            }
        }
    }

    /// Takes a link out: what it has counted.
    pub(in crate::endpoint) fn remove_ofi(&mut self, at: usize) -> Counts {
        let link = self.links.ofi.remove(at);
        self.remove_ofi_end(usize::from(link.common.rail.0) - self.host.rails.len(), link.at);
        link.common.counts
    }

    /// Takes a link out, or what was to become one.
    pub(in crate::endpoint) fn remove_ofi_end(&mut self, rail: usize, end: usize) {
        let own = &mut self.ofi.rails[rail];
        lock(&own.rail).remove(end, &mut self.bounces);
        let Some(removed) = own.ends[end].take() else { return };
        own.pauses.entry(removed.vc).or_default().failed(self.clock.now());
        self.stand_by(removed.vc);
    }

    /// Takes out all of what a peer has.
    pub(in crate::endpoint) fn remove_ofi_ends(&mut self, vc: VcId) {
        for rail in 0..self.ofi.rails.len() {
            while let Some(end) = self.ofi_end(rail, vc) {
                self.remove_ofi_end(rail, end);
            }
            self.ofi.rails[rail].pauses.remove(&vc);
        }
    }

    /// Sets up anew what has failed, and notes which links are in use.
    pub(in crate::endpoint) fn service_ofi(&mut self, now: Instant) {
        for (_, link) in &self.links.ofi {
            self.counters.touch(link.common.rail, &link.common.counts, now);
        }
        for rail in 0..self.ofi.rails.len() {
            self.reopen_ofi(rail, now);
            let is_due = |(vc, pause): (&VcId, &Pause)| (pause.until <= now).then_some(*vc);
            let due: Vec<VcId> = self.ofi.rails[rail].pauses.iter().filter_map(is_due).collect();
            for vc in due {
                let peer = &self.peers[vc];
                let stream = peer.streams().next().filter(|_| !peer.is_closing);
                if let Some(at) = stream.filter(|_| self.ofi_end(rail, vc).is_none()) {
                    self.offer_ofi_link(rail, vc, at);
                }
            }
        }
    }

    /// Opens a rail anew that was closed, once its links are gone.
    fn reopen_ofi(&mut self, rail: usize, now: Instant) {
        let own = &mut self.ofi.rails[rail];
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
                let streams: Vec<usize> = self.peers.iter().filter_map(|peer| peer.streams().next()).collect();
                streams.into_iter().for_each(|at| self.offer_ofi_rail(rail, at));
            }
            Err(why) => log::warn!("rail {} cannot be opened again: {why}", own.name),
        }
    }

    /// What a rail has to a peer.
    fn ofi_end(&self, rail: usize, vc: VcId) -> Option<usize> {
        let is_to = |end: &Option<End>| end.as_ref().is_some_and(|end| end.vc == vc);
        self.ofi.rails[rail].ends.iter().position(is_to)
    }

    fn describe_peer(&self, vc: VcId) -> String {
        self.peers[vc].describe()
    }
}
