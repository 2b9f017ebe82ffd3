//! A rail over an endpoint of a provider, and its links to peers.
//!
//! `setup` sets links up, `progress` sends and receives.

mod progress;
mod setup;

pub use setup::Answer;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fishplate_engine::wire::Header;
use fishplate_engine::{Payload, Transmit};
use fishplate_link_core::{BounceBuffers, Places};
use slab::Slab;

use super::link::{Failure, Link};
use super::sender::Sender;
use super::transport::Transport;
use crate::sys::{Buffer, EndpointKind, Error, Event, Offer, Port, Posted, Provider};

/// How long to wait for the end of remote reads before the endpoint is closed instead.
const MAX_WAIT: Duration = Duration::from_millis(200);

/// An endpoint of one libfabric provider, with its links.
pub struct Rail<P: Provider> {
    /// Its provider, with `/msg` behind it if it needs a connection to each peer. Links are between rails of equal `provider`.
    pub provider: String,
    pub fabric: String,
    /// Name of the rail in the configuration and in reports.
    pub name: String,
    /// Name of its adapter, if it has one.
    pub device: String,
    /// Bits per second, where that is known.
    pub speed: Option<u64>,
    /// Its number among the rails of its provider and fabric.
    pub ordinal: u8,
    address: Vec<u8>,
    /// `None` once it is closed.
    transport: Option<Transport<P>>,
    links: Slab<Link<P>>,
    /// Number of links so far: distinguishes links that had one key.
    serial: u16,
    /// Number of receive buffers.
    receives: usize,
    /// Receive buffers that could not be posted yet.
    unposted: Vec<Buffer>,
    events: Vec<Event>,
    /// Links with news.
    news: VecDeque<usize>,
    /// An operation could not be begun yet.
    has_waiting: bool,
}

/// The names of a rail.
pub struct Names {
    /// See [`Rail::provider`].
    pub provider: String,
    pub fabric: String,
    /// See [`Rail::name`].
    pub name: String,
}

/// News of a link.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// It is up: both sides have authenticated each other.
    Up,
    /// A frame; if its payload is not empty, `Rail::place` has to follow.
    Header(Header),
    /// The payload of the oldest incomplete frame is in place: its length.
    Placed(u64),
    /// It takes frames again.
    Writable,
    /// It has failed, and has to be removed.
    Failed(Failure),
}

impl Rail<Port> {
    /// Opens an endpoint, and a rail over it.
    pub(crate) fn open(offer: Offer, name: String) -> Result<Rail<Port>, Error> {
        let (fabric, device, speed) = (offer.fabric.clone(), offer.device.clone(), offer.speed);
        let provider = match offer.kind {
            EndpointKind::Datagram => offer.provider.clone(),
            EndpointKind::Connected => format!("{}/msg", offer.provider),
        };
        let rail = Rail::over(Port::open(offer, setup::RECEIVES)?, Names { provider, fabric, name }, speed)?;
        Ok(Rail { device, ..rail })
    }
}

impl<P: Provider> Rail<P> {
    /// A rail over an open endpoint.
    pub(crate) fn over(port: P, names: Names, speed: Option<u64>) -> Result<Rail<P>, Error> {
        let Names { provider, fabric, name } = names;
        let address = port.address()?;
        let transport = Transport::new(port, name.clone())?;
        Ok(Rail {
            provider,
            fabric,
            name,
            device: String::new(),
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

    /// Adds a checksum to each record from now on, and demands one of received records.
    pub(crate) fn add_checksums(&mut self) {
        self.transport.iter_mut().for_each(|transport| transport.is_checked = true);
    }

    /// Whether it has an endpoint.
    pub fn is_open(&self) -> bool {
        self.transport.is_some()
    }

    /// Puts a frame into a link.
    pub fn push(&mut self, at: usize, frame: &Transmit, places: Places<'_>) {
        let (Some(transport), Some(link)) = (&mut self.transport, self.links.get_mut(at)) else { return };
        let acks = link.acks();
        if let Some(sender) = &mut link.sender {
            sender.push(frame, transport, acks, places);
            link.was_blocked = sender.is_blocked();
            self.has_waiting |= !sender.is_empty();
        }
    }

    /// Whether a link cannot take frames at present.
    pub fn is_blocked(&self, at: usize) -> bool {
        self.sender(at).is_some_and(Sender::is_blocked)
    }

    /// Whether a link has queued frames.
    pub(crate) fn has_waiting(&self, at: usize) -> bool {
        self.sender(at).is_some_and(|sender| !sender.is_empty())
    }

    /// Whether the peer of a link may still read `payload`.
    pub(crate) fn has_lent(&self, at: usize, payload: &Payload) -> bool {
        self.sender(at).is_some_and(|sender| sender.has_lent(payload))
    }

    /// Whether payloads of a link that the engine knows of are not in place yet.
    pub(crate) fn has_pending(&self, at: usize) -> bool {
        self.links.get(at).is_some_and(|link| link.receiver.has_pending())
    }

    /// Ends the use of the memory `ended`, which becomes invalid. False if the peer of the link may still read there.
    pub(crate) fn detach(&mut self, at: usize, ended: &Payload, places: Places<'_>) -> bool {
        let sender = self.links.get_mut(at).and_then(|link| link.sender.as_mut());
        sender.is_none_or(|sender| sender.detach(ended, places))
    }

    /// Handles completions, and starts queued sends and reads. True if there were completions.
    pub fn poll(&mut self, places: Places<'_>) -> bool {
        if !self.is_open() {
            // A closed rail: links may still have to report their failure.
            return !self.news.is_empty();
        }
        let moved = self.take_ended();
        if self.has_waiting {
            self.post();
            self.service(places);
        }
        moved || !self.news.is_empty()
    }

    /// Stops all reads of a link: once this returns, nothing is written into bounce buffers or user memory any more, and the frames
    /// that the engine knows of count as in place. If reads do not end, closes the link's connection, or else the rail.
    pub(crate) fn end_reads(&mut self, at: usize, bounces: &mut BounceBuffers) {
        if let Some(link) = self.links.get_mut(at)
            && link.failure.is_some()
        {
            link.receiver.stop();
        }
        let start = self.now();
        while self.links.get(at).is_some_and(|link| link.receiver.is_reading()) {
            if self.now().duration_since(start) > MAX_WAIT {
                let why = "reads of a peer's memory do not end";
                match self.disconnect(at) {
                    true => self.fail(at, Failure::Broken(why.into())),
                    false => self.close(why),
                }
            }
            if !self.is_open() {
                break;
            }
            self.take_ended();
        }
        self.links.get_mut(at).into_iter().for_each(|link| link.receiver.settle(bounces));
    }

    /// Removes a link. It writes no memory any more, and its peer cannot read payloads that it had lent.
    pub fn remove(&mut self, at: usize, bounces: &mut BounceBuffers) {
        if let Some(link) = self.links.get_mut(at) {
            link.fail(Failure::Broken("it is closed".into()));
        }
        self.disconnect(at);
        self.end_reads(at, bounces);
        let Some(link) = self.links.try_remove(at) else { return };
        self.news.retain(|other| *other != at);
        link.records.into_iter().for_each(|(_, buffer, _)| self.unposted.push(buffer));
        self.post();
    }

    /// Whether sends have not completed.
    pub fn has_sends(&self) -> bool {
        self.transport.as_ref().is_some_and(Transport::has_sends)
    }

    /// Closes the endpoint: all links fail.
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

    /// The transport's time; a closed rail needs none.
    fn now(&self) -> Instant {
        self.transport.as_ref().map_or_else(Instant::now, |transport| transport.port.now())
    }

    fn sender(&self, at: usize) -> Option<&Sender<P>> {
        self.links.get(at)?.sender.as_ref()
    }

    fn fail(&mut self, at: usize, failure: Failure) {
        if let Some(link) = self.links.get_mut(at) {
            link.fail(failure);
            self.list(at);
        }
    }

    fn list(&mut self, at: usize) {
        if let Some(link) = self.links.get_mut(at)
            && !std::mem::replace(&mut link.is_listed, true)
        {
            self.news.push_back(at);
        }
    }

    /// The link with this number.
    fn find(&self, id: u32) -> Option<usize> {
        let at = (id & 0xffff) as usize;
        self.links.get(at).filter(|link| link.id == id).map(|_| at)
    }

    /// Posts all receive buffers that are not posted.
    fn post(&mut self) {
        let Some(transport) = &mut self.transport else { return };
        while let Some(buffer) = self.unposted.pop() {
            if let Posted::Again(buffer) = transport.port.receive(buffer) {
                self.unposted.push(buffer);
                self.has_waiting = true;
                return;
            }
        }
    }

    /// Handles completions and events of connections. True if there were any.
    fn take_ended(&mut self) -> bool {
        let any = self.take_operations();
        let Some(transport) = &mut self.transport else { return any };
        let Some(connected) = transport.port.connected() else { return any };
        let mut events = Vec::new();
        if let Err(error) = connected.poll_connections(&mut events) {
            self.close(&error.to_string());
        }
        if events.is_empty() {
            return any;
        }
        // Records that came before the end of a connection count.
        while self.take_operations() {}
        events.into_iter().for_each(|event| self.handle_connection(event));
        true
    }

    /// Handles a batch of completions. True if there were any.
    fn take_operations(&mut self) -> bool {
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
}
