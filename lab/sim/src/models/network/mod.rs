//! The network: messages of flows, cut into pieces that pass stations and links.

mod hops;
mod sending;
mod traffic;

use fishplate_link::Link;
use slab::Slab;

use super::adapter::Adapter;
use super::flow::{Flow, FlowId, Message};
use super::path::{Path, Place};
use super::shaper::Shaper;
use super::station::Station;
use super::time::{Calendar, Time};
use traffic::TrafficTable;

/// Something that happens in the network.
#[derive(Clone, Copy, Debug)]
pub enum NetworkEvent {
    /// A piece arrives at its next station.
    Arrives(u32),
    /// A station has served a piece.
    Served(u32),
    /// A link may have delivered something.
    Due(u32),
    /// A shaper may let something through.
    Released(u32),
    /// A link or shaper has another rate, in Mbit/s.
    Changed(Place, u32),
    /// The sender receives an acknowledgement of this number of bytes.
    Acknowledged(FlowId, u32),
    /// Like [`NetworkEvent::Acknowledged`], up to the end of the message with this name.
    AcknowledgedLast(FlowId, u32, u32),
}

/// Notifications of the network for the owners of flows.
#[derive(Clone, Copy, Debug)]
pub enum Notice {
    /// This number of bytes left the sender's adapter: the whole message, or one piece on paths with frames. The time
    /// is when the transport sent them.
    Left(FlowId, u64, Time),
    /// The first piece of a message that has several has arrived, where a process sees a stream.
    Begun(FlowId, u32),
    /// This number of bytes arrived, if the process sees a stream.
    Arrived(FlowId, u32),
    /// All of a message has arrived.
    Delivered(FlowId, u32),
    /// The sender received the acknowledgement of a message.
    Acknowledged(FlowId, u32),
    /// The kernel accepts more data from the driver of a flow.
    Writable(FlowId),
}

/// A piece of a message.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    message: u32,
    flow: FlowId,
    bytes: u32,
    /// Packets that begin within it.
    packets: u32,
    hop: u16,
    first: bool,
    /// When it was cut.
    cut: Time,
}

/// A link with the time for which it has announced itself.
struct TimedLink {
    link: Link<u32>,
    due: Option<Time>,
}

/// A shaper with the time for which it has announced itself.
struct TimedShaper {
    shaper: Shaper,
    due: Option<Time>,
}

/// All stations, links, adapters and flows.
#[derive(Default)]
pub struct Network {
    stations: Vec<Station>,
    links: Vec<TimedLink>,
    shapers: Vec<TimedShaper>,
    adapters: Vec<Adapter>,
    flows: Vec<Flow>,
    traffic: TrafficTable,
    messages: Slab<Message>,
    chunks: Slab<Chunk>,
    notices: Vec<Notice>,
}

/// The calendar that network events go into.
pub trait Events {
    /// Enters an event.
    fn enter(&mut self, at: Time, event: NetworkEvent);
    /// The time.
    fn now(&self) -> Time;
}

impl<E: Copy + From<NetworkEvent>> Events for Calendar<E> {
    fn enter(&mut self, at: Time, event: NetworkEvent) {
        Calendar::enter(self, at, event.into());
    }

    fn now(&self) -> Time {
        Calendar::now(self)
    }
}

impl Network {
    /// A new station.
    pub fn add_station(&mut self) -> Place {
        self.stations.push(Station::default());
        Place::Station(self.stations.len() as u32 - 1)
    }

    /// A new link.
    pub fn add_link(&mut self, link: Link<u32>) -> Place {
        self.links.push(TimedLink { link, due: None });
        Place::Link(self.links.len() as u32 - 1)
    }

    /// A new shaper.
    pub fn add_shaper(&mut self, shaper: Shaper) -> Place {
        self.shapers.push(TimedShaper { shaper, due: None });
        Place::Shaper(self.shapers.len() as u32 - 1)
    }

    /// A new adapter.
    pub fn add_adapter(&mut self, adapter: Adapter) -> u32 {
        self.adapters.push(adapter);
        self.adapters.len() as u32 - 1
    }

    /// A new flow.
    pub fn add_flow(&mut self, flow: Flow) -> FlowId {
        self.flows.push(flow);
        FlowId(self.flows.len() as u32 - 1)
    }

    /// The path of a flow.
    pub fn path(&self, flow: FlowId) -> &Path {
        &self.flows[flow.0 as usize].path
    }

    /// Whether a driver's socket is in front of a flow.
    pub fn has_socket(&self, flow: FlowId) -> bool {
        self.path(flow).terms.socket.is_some()
    }

    /// Whether the socket is full, and will notify the driver when it is writable.
    pub fn is_blocked(&self, flow: FlowId) -> bool {
        self.traffic
            .of(&self.flows[flow.0 as usize])
            .and_then(|traffic| traffic.socket)
            .is_some_and(|it| it.is_blocked())
    }

    /// Queueing delay of an acknowledgement sent now: the queue of the other direction.
    pub fn queue_back(&self, now: Time, flow: FlowId) -> Time {
        match self.path(flow).into.back_through {
            Some(Place::Shaper(number)) => self.shapers[number as usize].shaper.wait(now),
            _ => Time::default(),
        }
    }

    /// Bytes that an adapter has sent so far.
    pub fn sent_by(&self, adapter: u32) -> u64 {
        self.adapters[adapter as usize].sent
    }

    /// Bytes of a flow that are acknowledged; stops at 4 GiB.
    pub fn acknowledged_of(&self, flow: FlowId) -> u64 {
        self.flows[flow.0 as usize].acknowledged.into()
    }

    /// Lets an event happen.
    pub fn handle(&mut self, events: &mut impl Events, event: NetworkEvent) {
        match event {
            NetworkEvent::Arrives(chunk) => self.submit(events, chunk),
            NetworkEvent::Served(station) => self.done(events, station),
            NetworkEvent::Due(link) => self.due(events, link),
            NetworkEvent::Released(shaper) => self.released(events, shaper),
            NetworkEvent::Changed(place, mbit) => self.change(events, place, mbit),
            NetworkEvent::Acknowledged(flow, bytes) => self.acknowledged(events, flow, bytes, None),
            NetworkEvent::AcknowledgedLast(flow, bytes, token) => self.acknowledged(events, flow, bytes, Some(token)),
        }
    }

    /// Pending notifications, the oldest first.
    pub fn take_notices(&mut self, into: &mut Vec<Notice>) {
        into.append(&mut self.notices);
    }
}
