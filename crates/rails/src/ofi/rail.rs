//! A rail by an endpoint of a provider, and its links to peers.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fishplate_engine::wire::Header;
use fishplate_engine::{Payload, Placement, Source};
use slab::Slab;

use super::description::Description;
use super::link::{Failure, Greeting, Link};
use super::record::{Kind, Preamble};
use super::sender::{CREDITS, Sender};
use super::transport::{RECORD, Transport};
use crate::bounce_buffers::BounceBuffers;
use crate::link_kind::Places;
use crate::random::random;
use crate::sys::memory::UserMemory;
use crate::sys::ofi::{Buffer, Error, Event, Offer, Port, Posted, Provider};

/// Buffers of a link beside those for numbered records: for greetings, and for what tells of records that were taken, of which
/// each needs one that was sent.
const BARE: usize = 24;
/// How long to wait for reads that have to end, before the endpoint is closed instead.
const MOST_WAIT: Duration = Duration::from_millis(200);

/// A rail.
pub struct Rail<P: Provider> {
    /// Its provider.
    pub provider: String,
    /// Its fabric.
    pub fabric: String,
    /// How users call it.
    pub name: String,
    /// Bits per second, where that is known.
    pub speed: Option<u64>,
    /// Which of the rails of its provider and fabric it is.
    pub ordinal: u8,
    address: Vec<u8>,
    /// `None` once it is closed.
    transport: Option<Transport<P>>,
    links: Slab<Link<P>>,
    /// How many links there were, which tells those of one key apart.
    serial: u16,
    /// Buffers that records come into.
    receives: usize,
    /// Those that could not be posted yet.
    unposted: Vec<Buffer>,
    events: Vec<Event>,
    /// Links with news.
    news: VecDeque<usize>,
    /// Something could not be sent or read yet.
    has_waiting: bool,
}

/// News of a link.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// It is up: both sides have proven who they are.
    Up,
    /// A frame; if its payload is not empty, [`Rail::place`] has to follow.
    Header(Header),
    /// The payload of the oldest frame that had one is in place: its length.
    Placed(u64),
    /// It takes frames again.
    Writable,
    /// It has failed, and has to be removed.
    Failed(Failure),
}

impl Rail<Port> {
    /// Opens an endpoint for it.
    pub fn open(offer: Offer) -> Result<Rail<Port>, Error> {
        let (provider, fabric, speed) = (offer.provider.clone(), offer.fabric.clone(), offer.speed);
        let name = format!("{provider}:{}", offer.domain);
        Rail::over(Port::open(offer)?, (provider, fabric, name), speed)
    }
}

impl<P: Provider> Rail<P> {
    /// By an endpoint of a provider and a fabric.
    pub fn over(
        port: P,
        (provider, fabric, name): (String, String, String),
        speed: Option<u64>,
    ) -> Result<Rail<P>, Error> {
        let address = port.address()?;
        let transport = Transport::new(port, name.clone())?;
        Ok(Rail {
            provider,
            fabric,
            name,
            speed,
            ordinal: 0,
            address,
            transport: Some(transport),
            links: Slab::new(),
            serial: 0,
            receives: 0,
            unposted: Vec::new(),
            events: Vec::new(),
            news: VecDeque::new(),
            has_waiting: false,
        })
    }

    /// Whether it has an endpoint.
    pub fn is_open(&self) -> bool {
        self.transport.is_some()
    }

    /// A link to a peer, which has to be told the description.
    pub fn offer(&mut self) -> Result<(usize, Description), Error> {
        let secret = random().map_or(0, u64::from_le_bytes);
        self.serial = self.serial.wrapping_add(1);
        let entry = self.links.vacant_entry();
        let at = entry.key();
        let link = u32::from(self.serial) << 16 | at as u32 & 0xffff;
        entry.insert(Link::new(link, secret));
        if let Err(error) = self.add_receives() {
            self.links.remove(at);
            return Err(error);
        }
        let (provider, fabric, address) = (self.provider.clone(), self.fabric.clone(), self.address.clone());
        Ok((at, Description { provider, fabric, ordinal: self.ordinal, address, link, secret }))
    }

    /// The peer has told its description.
    pub fn answer(&mut self, at: usize, theirs: &Description) -> Result<(), Error> {
        let (Some(transport), Some(link)) = (&mut self.transport, self.links.get_mut(at)) else { return Ok(()) };
        let peer = transport.port.insert(&theirs.address)?;
        link.sender = Some(Sender::new(peer, Link::<P>::name_of(theirs), u64::from(link.id) << 32));
        if link.greeting == Greeting::Nothing {
            link.greeting = Greeting::Hello;
        }
        self.list(at);
        Ok(())
    }

    /// Takes a frame for a link.
    pub fn push(&mut self, at: usize, frame: (&Header, &Source, bool), places: Places<'_>) {
        let (Some(transport), Some(link)) = (&mut self.transport, self.links.get_mut(at)) else { return };
        let told = link.told();
        if let Some(sender) = &mut link.sender {
            sender.push(frame, transport, told, places);
            link.was_blocked = sender.is_blocked();
            self.has_waiting |= !sender.is_empty();
        }
    }

    /// Whether a link takes no frames now.
    pub fn is_blocked(&self, at: usize) -> bool {
        self.sender(at).is_some_and(Sender::is_blocked)
    }

    /// Whether frames of a link wait in this process.
    pub fn has_waiting(&self, at: usize) -> bool {
        self.sender(at).is_some_and(|sender| !sender.is_empty())
    }

    /// Whether the peer of a link may read of `payload`.
    pub fn has_lent(&self, at: usize, payload: &Payload) -> bool {
        self.sender(at).is_some_and(|sender| sender.has_lent(payload))
    }

    /// Whether payloads of a link are not in place that the engine knows of.
    pub fn has_pending(&self, at: usize) -> bool {
        self.links.get(at).is_some_and(|link| link.receiver.has_pending())
    }

    /// `ended` is not there any more once this returns. False if the peer of the link may still read of it.
    pub fn detach(&mut self, at: usize, ended: &Payload, places: Places<'_>) -> bool {
        let sender = self.links.get_mut(at).and_then(|link| link.sender.as_mut());
        sender.is_none_or(|sender| sender.detach(ended, places))
    }

    /// Moves data: takes what has come and what has ended, sends and reads what waits. True if anything has ended.
    pub fn poll(&mut self, places: Places<'_>) -> bool {
        if !self.is_open() {
            return false;
        }
        let moved = self.take_ended();
        if moved || self.has_waiting {
            self.post();
            self.service(places);
        }
        moved || !self.news.is_empty()
    }

    /// The next news of a link, all of which have to be asked for.
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

    /// The payload of the frame that was told last goes to `placement`.
    pub fn place(&mut self, at: usize, placement: Placement, memory: &UserMemory, bounces: &mut BounceBuffers) {
        let Some(link) = self.links.get_mut(at) else { return };
        let Some((frame, record)) = link.current.take() else { return };
        let bytes = record.as_ref().map_or(&[][..], |(buffer, len)| &buffer.bytes()[..*len]);
        link.receiver.place((frame, bytes), placement, (memory, bounces));
        if let (Some(transport), Some(sender)) = (&mut self.transport, &link.sender) {
            link.receiver.read((link.id, sender.peer), transport, memory);
        }
        if let Some((buffer, _)) = record {
            self.unposted.push(buffer);
            self.post();
        }
    }

    /// Nothing that comes over a link is written to copies any more, nor to other memory once this returns, but frames
    /// that were told are in place. If reads do not end, the rail is closed.
    pub fn end_reads(&mut self, at: usize, bounces: &mut BounceBuffers) {
        if let Some(link) = self.links.get_mut(at)
            && link.failure.is_some()
        {
            link.receiver.stop();
        }
        let start = self.now();
        while self.links.get(at).is_some_and(|link| link.receiver.is_reading()) {
            if self.now().duration_since(start) > MOST_WAIT {
                self.close("reads of a peer's memory do not end");
                break;
            }
            if !self.is_open() {
                break;
            }
            self.take_ended();
        }
        self.links.get_mut(at).into_iter().for_each(|link| link.receiver.settle(bounces));
    }

    /// Takes a link out. Nothing of it writes to memory any more, and peers cannot read what it had lent.
    pub fn remove(&mut self, at: usize, bounces: &mut BounceBuffers) {
        if let Some(link) = self.links.get_mut(at) {
            link.fail(Failure::Broken("it is closed".into()));
        }
        self.end_reads(at, bounces);
        let Some(link) = self.links.try_remove(at) else { return };
        self.news.retain(|other| *other != at);
        link.records.into_iter().for_each(|(_, buffer, _)| self.unposted.push(buffer));
        self.post();
    }

    /// Whether records that were sent are under way.
    pub fn has_sends(&self) -> bool {
        self.transport.as_ref().is_some_and(Transport::has_sends)
    }

    /// Closes the endpoint: all links have failed.
    pub fn close(&mut self, why: &str) {
        if self.transport.take().is_none() {
            return;
        }
        log::warn!("rail {}: closed: {why}", self.name);
        self.unposted.clear();
        for at in self.links.iter().map(|(at, _)| at).collect::<Vec<_>>() {
            self.fail(at, Failure::Broken(why.to_string()));
        }
    }

    /// (What is closed waits for nothing.)
    fn now(&self) -> Instant {
        self.transport.as_ref().map_or_else(Instant::now, |transport| transport.port.now())
    }

    fn sender(&self, at: usize) -> Option<&Sender<P>> {
        self.links.get(at)?.sender.as_ref()
    }

    fn list(&mut self, at: usize) {
        if let Some(link) = self.links.get_mut(at)
            && !std::mem::replace(&mut link.is_listed, true)
        {
            self.news.push_back(at);
        }
    }

    fn fail(&mut self, at: usize, failure: Failure) {
        if let Some(link) = self.links.get_mut(at) {
            link.fail(failure);
            self.list(at);
        }
    }

    /// The link that is called so.
    fn find(&self, id: u32) -> Option<usize> {
        let at = (id & 0xffff) as usize;
        self.links.get(at).filter(|link| link.id == id).map(|_| at)
    }

    /// Takes operations that have ended. True if there were any.
    fn take_ended(&mut self) -> bool {
        let Some(transport) = &mut self.transport else { return false };
        let any = transport.port.poll(&mut self.events).unwrap_or_else(|error| {
            self.close(&error.to_string());
            false
        });
        let mut events = std::mem::take(&mut self.events);
        events.drain(..).for_each(|event| self.handle(event));
        self.events = events;
        any
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Received(buffer, len) => {
                let preamble = Preamble::decode(&buffer.bytes()[..len]);
                let found = preamble.and_then(|preamble| {
                    let at = self.find(preamble.link)?;
                    (self.links[at].secret == preamble.secret).then_some((at, preamble))
                });
                match found {
                    Some((at, preamble)) => {
                        self.links[at].record_came(preamble, buffer, len);
                        self.list(at);
                    }
                    None => {
                        log::debug!("rail {}: a record that belongs to no link is dropped", self.name);
                        self.unposted.push(buffer);
                    }
                }
            }
            // Of a connection that has ended; the link hears of it otherwise.
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

    /// How an operation of a link has ended.
    fn note(&mut self, tag: u64, result: Result<(), Error>) {
        if let (Some(at), Err(error)) = (self.find((tag >> 32) as u32), result) {
            self.fail(at, Failure::Broken(error.to_string()));
        }
    }

    /// Lets records come into all buffers that are there.
    fn post(&mut self) {
        let Some(transport) = &mut self.transport else { return };
        while let Some(buffer) = self.unposted.pop() {
            if let Posted::Again(buffer) = transport.port.receive(buffer) {
                self.unposted.push(buffer);
                return;
            }
        }
    }

    /// Has buffers for all links.
    fn add_receives(&mut self) -> Result<(), Error> {
        let Some(transport) = &mut self.transport else { return Ok(()) };
        let wanted = self.links.len() * (CREDITS as usize + BARE);
        if wanted > self.receives {
            self.unposted.extend(transport.port.buffers(wanted - self.receives, RECORD)?);
            self.receives = wanted;
        }
        self.post();
        Ok(())
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
            let (preamble, buffer, len) = link.next_record()?;
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

    /// Sends and reads what waits, of all links.
    fn service(&mut self, places: Places<'_>) {
        self.has_waiting = false;
        for at in 0..self.links.capacity() {
            self.service_link(at, places);
        }
    }

    fn service_link(&mut self, at: usize, places: Places<'_>) {
        let (Some(transport), Some(link)) = (&mut self.transport, self.links.get_mut(at)) else { return };
        let told = link.told();
        let Some(sender) = &mut link.sender else { return };
        let mut is_proven = false;
        let kind = match link.greeting {
            Greeting::Nothing => None,
            Greeting::Hello => Some(Kind::Hello),
            Greeting::Welcome => Some(Kind::Welcome),
        };
        if let Some(kind) = kind
            && sender.send_bare(kind, transport, told)
        {
            link.greeting = Greeting::Nothing;
            is_proven = link.is_welcomed;
        }
        link.receiver.read((link.id, sender.peer), transport, places.memory);
        sender.flush(transport, told, places);
        let is_told = sender.tell(transport, told);
        self.has_waiting |=
            !is_told || !sender.is_empty() || link.greeting != Greeting::Nothing || link.receiver.has_unread();
        if is_proven || link.was_blocked && !sender.is_blocked() {
            self.list(at);
        }
    }
}
