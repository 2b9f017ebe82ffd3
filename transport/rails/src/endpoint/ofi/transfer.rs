//! Frames over links of providers.

use fishplate_engine::{Instant, Transmit};
use fishplate_link_core::{Link, Places};
use fishplate_rails_ofi::{Failure, News, OfiLink, lock};

use super::{EndId, OfiLinks};
use crate::endpoint::Endpoint;
use crate::endpoint::link_id::LinkId;
use crate::endpoint::send::BUDGET;
use crate::link::CHANGED;

impl Endpoint {
    /// Sends and receives over all links. True if there was anything.
    #[inline]
    pub(in crate::endpoint) fn poll_ofi(&mut self, now: Instant) -> bool {
        self.links.ofi.rail_count() > 0 && self.poll_ofi_rails(now)
    }

    fn poll_ofi_rails(&mut self, now: Instant) -> bool {
        let mut moved = false;
        for rail in 0..self.links.ofi.rails.len() {
            let Endpoint { links, memory, bounces, .. } = self;
            if !lock(&links.ofi.rails[rail].rail).poll(Places { memory, bounces }) {
                continue;
            }
            moved = true;
            loop {
                let news = lock(&self.links.ofi.rails[rail].rail).next(&self.memory, &mut self.bounces);
                let Some((at, news)) = news else { break };
                self.ofi_news(EndId { rail, at }, news, now);
            }
        }
        if moved {
            self.received_without_socket();
        }
        moved
    }

    fn ofi_news(&mut self, end: EndId, news: News, now: Instant) {
        let link = self.links.ofi.end(end).and_then(|end| end.link);
        match (news, link) {
            (News::Up, _) => self.ofi_link_up(end),
            (News::Failed(Failure::Broken(why)), _) => self.ofi_ended(end, &why),
            (News::Failed(Failure::Changed), Some(link)) => self.frame_was_changed(LinkId::Ofi(link)),
            (News::Failed(Failure::Changed), None) => self.ofi_ended(end, CHANGED),
            (News::Failed(Failure::Protocol(how)), Some(link)) => self.protocol_violation(LinkId::Ofi(link), &how),
            (News::Failed(Failure::Protocol(how)), None) => self.ofi_ended(end, &how),
            (News::Header(mut header), Some(link)) => {
                let subchannel = self.links.ofi[link].header_received(&mut header, now);
                let taken = self.handle_header(LinkId::Ofi(link), subchannel, &header, now);
                let Some(placement) = taken else { return };
                if header.body.payload_len() > 0 {
                    lock(&self.links.ofi.rails[end.rail].rail).place(
                        end.at,
                        placement,
                        &self.memory,
                        &mut self.bounces,
                    );
                }
                self.end_ofi_if_over(link);
            }
            (News::Placed(len), Some(link)) => {
                let subchannel = self.links.ofi[link].payload_received(len);
                self.payload_placed(subchannel, now);
                self.end_ofi_if_over(link);
            }
            (News::Writable, Some(link)) => {
                if let Some(link) = self.links.ofi.get(link) {
                    self.engine.writable(link.common.subchannel, BUDGET);
                }
            }
            (News::Header(_) | News::Placed(_) | News::Writable, None) => {}
        }
    }

    /// Shuts a link over which a goodbye has come, once all payloads are in place.
    fn end_ofi_if_over(&mut self, link: usize) {
        if self.links.ofi.get(link).is_some_and(OfiLink::has_ended) {
            self.link_shut(LinkId::Ofi(link));
        }
    }

    /// Puts a frame from the engine into a link.
    pub(in crate::endpoint) fn enqueue_ofi(&mut self, at: usize, transmit: &Transmit) -> bool {
        let Endpoint { links, memory, bounces, engine, .. } = self;
        let Some(link) = links.ofi.get_mut(at) else { return false };
        if transmit.header.body.is_counted() {
            link.count_sent(&transmit.header.body, transmit.source.len());
        }
        let mut shared = lock(&link.rail);
        shared.push(link.at, transmit, Places { memory, bounces });
        let budget = if shared.is_blocked(link.at) { 0 } else { BUDGET };
        engine.writable(link.common.subchannel, budget);
        true
    }
}

impl OfiLinks {
    /// Sends queued frames as far as possible. True once all are sent.
    pub fn flush(&mut self, places: Places<'_>) -> bool {
        for rail in &self.rails {
            lock(&rail.rail).poll(places);
        }
        let waits = |link: &OfiLink| link.has_waiting() || lock(&link.rail).has_sends();
        !self.links.iter().any(|(_, link)| waits(link))
    }
}
