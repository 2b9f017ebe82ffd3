//! Completions of a rail, the news of links that follow from them, and queued sends and reads.

use fishplate_engine::Placement;
use fishplate_link_core::{BounceBuffers, Places, UserMemory};

use super::{News, Rail};
use crate::link::{Failure, Greeting};
use crate::record::{Kind, Preamble};
use crate::sys::{Buffer, Error, Event, Provider};

impl<P: Provider> Rail<P> {
    /// The next news of a link. To be called until there is none.
    pub fn next(&mut self, memory: &UserMemory, bounces: &mut BounceBuffers) -> Option<(usize, News)> {
        while let Some(&at) = self.news.front() {
            if let Some(news) = self.news_of(at, bounces) {
                return Some((at, news));
            }
            self.news.pop_front();
            if let Some(link) = self.links.get_mut(at) {
                link.is_listed = false;
                self.service_link(at, Places { memory, bounces });
            }
        }
        None
    }

    /// The payload of the last [`News::Header`] goes to `placement`.
    pub fn place(&mut self, at: usize, placement: Placement, memory: &UserMemory, bounces: &mut BounceBuffers) {
        let Some(link) = self.links.get_mut(at) else { return };
        let Some((frame, record)) = link.current.take() else { return };
        let bytes = record.as_ref().map_or(&[][..], |(buffer, len)| &buffer.bytes()[..*len]);
        link.receiver.place(frame, bytes, placement, memory, bounces);
        if let (Some(transport), Some(sender)) = (&mut self.transport, &link.sender) {
            link.receiver.read(link.id, sender.peer, transport, memory);
        }
        if let Some((buffer, _)) = record {
            self.unposted.push(buffer);
            self.post();
        }
    }

    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::Received(buffer, len) => self.record_received(buffer, len),
            // Its connection has ended, which an event of its own reports.
            Event::NotReceived(buffer, error) => {
                log::debug!("rail {}: {error}", self.name);
                self.unposted.push(buffer);
            }
            Event::Sent(buffer, tag, result) => {
                if let Some(transport) = &mut self.transport {
                    transport.give_back(buffer);
                }
                self.note(tag, result);
                return;
            }
            Event::Read(tag, own, result) => {
                let at = self.find((tag >> 32) as u32);
                if let Some(at) = at {
                    self.links[at].receiver.has_read(tag, own);
                    self.list(at);
                }
                self.note(tag, result);
                return;
            }
        }
        self.post();
    }

    /// A record has come.
    fn record_received(&mut self, buffer: Buffer, len: usize) {
        let record = &buffer.bytes()[..len];
        let whole = self.transport.as_ref().and_then(|transport| transport.open(record));
        let found = Preamble::key(record).and_then(|key| {
            let at = self.find(key.link)?;
            (self.links[at].secret == key.secret).then_some(at)
        });
        match (found, whole, Preamble::decode(record)) {
            (Some(at), Some(len), Some(preamble)) => {
                self.links[at].record_received(preamble, buffer, len);
                self.list(at);
            }
            (Some(at), None, _) => {
                self.unposted.push(buffer);
                self.fail(at, Failure::Changed);
            }
            _ => {
                log::debug!("rail {}: a record that belongs to no link is dropped", self.name);
                self.unposted.push(buffer);
            }
        }
    }

    /// Records the result of an operation of a link.
    fn note(&mut self, tag: u64, result: Result<(), Error>) {
        if let (Some(at), Err(error)) = (self.find((tag >> 32) as u32), result) {
            self.fail(at, Failure::Broken(error.to_string()));
        }
    }

    fn news_of(&mut self, at: usize, bounces: &mut BounceBuffers) -> Option<News> {
        loop {
            let link = self.links.get_mut(at)?;
            if let Some(failure) = link.failure.clone() {
                return Some(News::Failed(failure));
            }
            if !link.is_up && link.is_proven() {
                link.is_up = true;
                return Some(News::Up);
            }
            if let Some(len) = link.receiver.placed(bounces) {
                return Some(News::Placed(len));
            }
            if link.was_blocked && link.sender.as_ref().is_some_and(|sender| !sender.is_blocked()) {
                link.was_blocked = false;
                return Some(News::Writable);
            }
            let Some((preamble, buffer, len)) = link.next_record() else {
                let end = link.end.take()?;
                link.fail(end);
                continue;
            };
            let taken = link.take(&preamble, &buffer.bytes()[..len]);
            if let Ok(Some(frame)) = &taken
                && frame.is_in_record()
                && frame.header.body.payload_len() > 0
            {
                let header = frame.header;
                link.current = taken.ok().flatten().map(|frame| (frame, Some((buffer, len))));
                return Some(News::Header(header));
            }
            self.unposted.push(buffer);
            self.post();
            let link = self.links.get_mut(at)?;
            match taken {
                Err(how) => link.fail(Failure::Protocol(how)),
                Ok(Some(frame)) => {
                    let header = frame.header;
                    link.current = (header.body.payload_len() > 0).then_some((frame, None));
                    return Some(News::Header(header));
                }
                Ok(None) => {}
            }
        }
    }

    /// Begins queued sends and reads of all links.
    pub(super) fn service(&mut self, places: Places<'_>) {
        self.has_waiting = !self.unposted.is_empty();
        for at in 0..self.links.capacity() {
            self.service_link(at, places);
        }
    }

    fn service_link(&mut self, at: usize, places: Places<'_>) {
        let (Some(transport), Some(link)) = (&mut self.transport, self.links.get_mut(at)) else { return };
        let acks = link.acks();
        let Some(sender) = &mut link.sender else { return };
        let mut is_greeted = false;
        let kind = match link.greeting {
            Greeting::Nothing => None,
            Greeting::Hello => Some(Kind::Hello),
            Greeting::Welcome => Some(Kind::Welcome),
        };
        if let Some(kind) = kind
            && sender.greet(kind, link.id, transport)
        {
            link.greeting = Greeting::Nothing;
            is_greeted = true;
        }
        link.receiver.read(link.id, sender.peer, transport, places.memory);
        sender.flush(transport, acks, places);
        let is_acked = sender.send_acks(transport, acks);
        self.has_waiting |=
            !is_acked || !sender.is_empty() || link.greeting != Greeting::Nothing || link.receiver.has_unread();
        if is_greeted || link.was_blocked && !sender.is_blocked() {
            self.list(at);
        }
    }
}
