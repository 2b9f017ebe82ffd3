//! Frames over links of providers.

use fishplate_engine::{Instant, Transmit};

use crate::endpoint::Endpoint;
use crate::endpoint::send::BUDGET;
use crate::link::Unreadable;
use crate::link_kind::{LinkId, LinkKind, Places};
use crate::ofi::{Failure, News, OfiLink, lock};

impl Endpoint {
    /// Moves data of all links. True if there was anything.
    #[inline]
    pub(in crate::endpoint) fn poll_ofi(&mut self, now: Instant) -> bool {
        self.ofi.len() > 0 && self.poll_ofi_rails(now)
    }

    fn poll_ofi_rails(&mut self, now: Instant) -> bool {
        let mut moved = false;
        for rail in 0..self.ofi.rails.len() {
            let Endpoint { ofi, memory, bounces, .. } = self;
            if !lock(&ofi.rails[rail].rail).poll(Places { memory, bounces }) {
                continue;
            }
            moved = true;
            loop {
                let news = lock(&self.ofi.rails[rail].rail).next(&self.memory, &mut self.bounces);
                let Some((end, news)) = news else { break };
                self.ofi_news((rail, end), news, now);
            }
        }
        if moved {
            self.progress.poll_interval.active_link_had_data();
            self.release_active_link();
        }
        moved
    }

    fn ofi_news(&mut self, (rail, end): (usize, usize), news: News, now: Instant) {
        let link = self.ofi.rails[rail].ends[end].as_ref().and_then(|end| end.link);
        match (news, link) {
            (News::Up, _) => self.ofi_link_up(rail, end),
            (News::Failed(Failure::Broken(why)), _) => self.ofi_ended(rail, end, &why),
            (News::Failed(Failure::Changed), Some(link)) => self.frame_was_changed(LinkId::Ofi(link)),
            (News::Failed(Failure::Changed), None) => self.ofi_ended(rail, end, &Unreadable::Changed.to_string()),
            (News::Failed(Failure::Protocol(how)), Some(link)) => self.protocol_violation(LinkId::Ofi(link), &how),
            (News::Failed(Failure::Protocol(how)), None) => self.ofi_ended(rail, end, &how),
            (News::Header(header), Some(link)) => {
                let Some(placement) = self.handle_header(LinkId::Ofi(link), header, now) else { return };
                if header.body.payload_len() > 0 {
                    lock(&self.ofi.rails[rail].rail).place(end, placement, &self.memory, &mut self.bounces);
                }
                self.end_ofi_if_over(link);
            }
            (News::Placed(len), Some(link)) => {
                self.payload_placed(LinkId::Ofi(link), len, now);
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

    /// A link over which the peer has said goodbye is shut once everything is in place.
    fn end_ofi_if_over(&mut self, link: usize) {
        if self.links.ofi.get(link).is_some_and(OfiLink::has_ended) {
            self.link_shut(LinkId::Ofi(link));
        }
    }

    /// Takes a frame from the engine to a link.
    pub(in crate::endpoint) fn enqueue_ofi(&mut self, at: usize, transmit: &Transmit) -> bool {
        let Endpoint { links, memory, bounces, engine, .. } = self;
        let Some(link) = links.ofi.get_mut(at) else { return false };
        let Transmit { header, source, copy, .. } = transmit;
        if header.body.is_counted() {
            link.count_sent(&header.body, source.len());
        }
        let mut shared = lock(&link.rail);
        shared.push(link.at, (header, source, *copy), Places { memory, bounces });
        let budget = if shared.is_blocked(link.at) { 0 } else { BUDGET };
        engine.writable(link.common.subchannel, budget);
        true
    }

    /// Sends what waits, as far as it can go. True once everything has gone.
    pub(in crate::endpoint) fn flush_ofi(&mut self) -> bool {
        let Endpoint { ofi, memory, bounces, links, .. } = self;
        for rail in &ofi.rails {
            lock(&rail.rail).poll(Places { memory, bounces });
        }
        let waits = |link: &OfiLink| link.has_waiting() || lock(&link.rail).has_sends();
        !links.ofi.iter().any(|(_, link)| waits(link))
    }
}
