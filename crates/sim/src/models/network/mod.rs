//! The network: messages of flows, cut into pieces that pass stations and links.

mod sending;
mod traffic;

use fishplate_link::{Link, Offered, Rate, Settings};

use super::adapter::Adapter;
use super::calendar::Calendar;
use super::flow::{Flow, FlowId, Message};
use super::path::{Acknowledged, Hop, Path, Place};
use super::shaper::Shaper;
use super::slab::Slab;
use super::station::{Job, Station};
use super::time::Time;
use traffic::TrafficTable;

/// Longest piece, in bytes. Messages are cut finely enough for stations to work on different pieces of one at the same
/// time, and no finer: each piece costs an event a station.
const MOST_PIECE: u64 = 32 << 10;
/// Pieces that a long message is cut into, until they are as long as [`MOST_PIECE`].
const PIECES: u64 = 64;
/// A window is cut into so many pieces at least.
const PIECES_OF_WINDOW: u64 = 16;
/// What is lost is sent again so much later, beyond a round trip: a usual least timeout of reliable transports.
const RESEND_AFTER_NS: f64 = 1_000_000.0;

/// Something that happens in the network.
#[derive(Clone, Copy, Debug)]
pub enum NetworkEvent {
    /// A piece comes to its next station.
    Arrives(u32),
    /// A station has served a piece.
    Served(u32),
    /// A link may have delivered something.
    Due(u32),
    /// A shaper may let something through.
    Released(u32),
    /// A link or shaper has another rate, in Mbit/s.
    Changed(Place, u32),
    /// The sender hears of so many bytes.
    Heard(FlowId, u32),
    /// The same, and they are the last of the message with this name.
    HeardLast(FlowId, u32, u32),
}

/// What the network tells the owners of flows.
#[derive(Clone, Copy, Debug)]
pub enum Notice {
    /// So many bytes of a message have left the sender's adapter: all of it, or on paths with frames each piece; the
    /// time is that at which the transport has sent them.
    Left(FlowId, u64, Time),
    /// The first piece of a message that has several has arrived, where a process sees a stream.
    Begun(FlowId, u32),
    /// All of a message has arrived.
    Delivered(FlowId, u32),
    /// The sender has heard so.
    Acknowledged(FlowId, u32),
    /// The kernel takes more of what a flow's driver has.
    Writable(FlowId),
}

/// A piece of a message.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    message: u32,
    flow: FlowId,
    bytes: u32,
    /// That begin with it.
    packets: u32,
    hop: u16,
    first: bool,
    /// When it was cut.
    cut: Time,
}

/// A link with the time for which it has announced itself.
struct Cable {
    link: Link<u32>,
    due: Option<Time>,
}

/// A shaper with the time for which it has announced itself.
struct Gate {
    shaper: Shaper,
    due: Option<Time>,
}

/// All stations, links, adapters and flows.
#[derive(Default)]
pub struct Network {
    stations: Vec<Station>,
    cables: Vec<Cable>,
    gates: Vec<Gate>,
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
        self.cables.push(Cable { link, due: None });
        Place::Link(self.cables.len() as u32 - 1)
    }

    /// A new shaper.
    pub fn add_shaper(&mut self, shaper: Shaper) -> Place {
        self.gates.push(Gate { shaper, due: None });
        Place::Shaper(self.gates.len() as u32 - 1)
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

    /// Whether that has said that it will tell when it takes more.
    pub fn is_blocked(&self, flow: FlowId) -> bool {
        self.traffic
            .of(&self.flows[flow.0 as usize])
            .and_then(|traffic| traffic.socket)
            .is_some_and(|it| it.is_blocked())
    }

    /// What an acknowledgement that sets out now waits for: what the other direction has queued.
    pub fn queue_back(&self, now: Time, flow: FlowId) -> Time {
        match self.path(flow).into.back_through {
            Some(Place::Shaper(gate)) => self.gates[gate as usize].shaper.wait(now),
            _ => Time::default(),
        }
    }

    /// Flows that there are.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// A station, to see how busy it was.
    pub fn station(&self, place: Place) -> Option<&Station> {
        match place {
            Place::Station(number) => self.stations.get(number as usize),
            Place::Link(_) | Place::Shaper(_) => None,
        }
    }

    /// Lets an event happen.
    pub fn handle(&mut self, events: &mut impl Events, event: NetworkEvent) {
        match event {
            NetworkEvent::Arrives(chunk) => self.submit(events, chunk),
            NetworkEvent::Served(station) => {
                let (done, next) = self.stations[station as usize].done();
                if let Some(job) = next {
                    self.begin(events, station, job);
                }
                if let Some(chunk) = done {
                    self.served(events, chunk);
                }
            }
            NetworkEvent::Due(cable) => self.due(events, cable),
            NetworkEvent::Released(gate) => {
                self.gates[gate as usize].due = None;
                self.release(events, gate);
            }
            NetworkEvent::Changed(place, mbit) => self.change(events, place, mbit),
            NetworkEvent::Heard(flow, bytes) => self.heard(events, flow, bytes, None),
            NetworkEvent::HeardLast(flow, bytes, token) => self.heard(events, flow, bytes, Some(token)),
        }
    }

    /// What owners have to be told, the oldest first.
    pub fn take_notices(&mut self, into: &mut Vec<Notice>) {
        into.append(&mut self.notices);
    }

    /// The hop that a piece is at.
    fn hop(&self, chunk: &Chunk) -> Option<Hop> {
        self.path(chunk.flow).hop(usize::from(chunk.hop)).copied()
    }

    fn submit(&mut self, events: &mut impl Events, name: u32) {
        let Some(chunk) = self.chunks.get(name).copied() else { return };
        let Some(hop) = self.hop(&chunk) else { return self.arrived(events, name) };
        let (flow, bytes) = (chunk.flow, u64::from(chunk.bytes));
        match hop.place {
            Place::Station(station) => {
                let begins = hop.cost.frame > Time::default() && self.begins_frame(events.now(), flow);
                let frame = if begins { hop.cost.frame } else { Time::default() };
                let service = hop.cost.service(chunk.first, chunk.packets.into(), bytes) + frame;
                let job = Job { chunk: name, service };
                if let Some(job) = self.stations[station as usize].submit(hop.turn, job) {
                    self.begin(events, station, job);
                }
            }
            Place::Link(cable) => {
                let path = &self.flows[flow.0 as usize].path;
                let (mtu, overhead) = (path.terms.mtu, path.terms.packet_overhead);
                let frames = path.terms.frame_bytes.is_some();
                let again = path.terms.back + path.latency() + Time::ns(RESEND_AFTER_NS);
                let link = &mut self.cables[cable as usize].link;
                let now = events.now();
                let packets = match self.traffic.existing(&self.flows[flow.0 as usize]) {
                    Some(traffic) if frames => traffic.new_packets(now, bytes, mtu),
                    _ => chunk.packets.into(),
                };
                let wire = bytes + packets * overhead;
                if !matches!(link.offer(now.link_instant(), name, wire as u32), Offered::Taken) {
                    events.enter(now + again, NetworkEvent::Arrives(name));
                }
                self.announce(events, cable);
            }
            Place::Shaper(gate) => {
                self.gates[gate as usize].shaper.offer(events.now(), name, bytes);
                self.open_gate_later(events, gate);
            }
        }
    }

    /// Whether a piece of a flow is not part of a frame that has come to the same place at the same time.
    fn begins_frame(&mut self, now: Time, flow: FlowId) -> bool {
        let traffic = self.traffic.existing(&self.flows[flow.0 as usize]);
        traffic.is_none_or(|traffic| traffic.framed.replace(now) != Some(now))
    }

    /// Lets through what a shaper has room for.
    fn release(&mut self, events: &mut impl Events, gate: u32) {
        let passed = self.gates[gate as usize].shaper.release(events.now());
        passed.into_iter().for_each(|name| self.served(events, name));
        self.open_gate_later(events, gate);
    }

    /// Never at once: pieces that pass bring others here, which must not overtake them.
    fn open_gate_later(&mut self, events: &mut impl Events, gate: u32) {
        let state = &mut self.gates[gate as usize];
        if let Some(at) = state.shaper.due()
            && state.due.is_none_or(|due| at < due)
        {
            state.due = Some(at);
            events.enter(at, NetworkEvent::Released(gate));
        }
    }

    fn change(&mut self, events: &mut impl Events, place: Place, mbit: u32) {
        let now = events.now();
        match place {
            Place::Station(_) => {}
            Place::Shaper(gate) => {
                self.gates[gate as usize].shaper.set_rate(now, f64::from(mbit));
                self.release(events, gate);
            }
            Place::Link(cable) => {
                let link = &mut self.cables[cable as usize].link;
                let settings = Settings { rate: Some(Rate::mbit(mbit.into())), ..link.settings().clone() };
                link.set(now.link_instant(), settings);
                self.announce(events, cable);
            }
        }
    }

    /// A station begins to serve a piece.
    fn begin(&mut self, events: &mut impl Events, station: u32, job: Job) {
        let now = events.now();
        events.enter(now + job.service, NetworkEvent::Served(station));
        let Some(chunk) = self.chunks.get(job.chunk).copied() else { return };
        if let Some(hop) = self.hop(&chunk)
            && hop.cut_through
        {
            self.stations[station as usize].forward();
            self.left(events, job.chunk, &hop);
            self.go_on(events, job.chunk, now + hop.latency);
        }
    }

    fn served(&mut self, events: &mut impl Events, name: u32) {
        let Some(chunk) = self.chunks.get(name).copied() else { return };
        if let Some(hop) = self.hop(&chunk) {
            self.left(events, name, &hop);
            self.go_on(events, name, events.now() + hop.latency);
        }
    }

    fn go_on(&mut self, events: &mut impl Events, name: u32, at: Time) {
        if let Some(chunk) = self.chunks.get_mut(name) {
            chunk.hop += 1;
        }
        if at == events.now() {
            self.submit(events, name);
        } else {
            events.enter(at, NetworkEvent::Arrives(name));
        }
    }

    /// A piece has passed a hop; after some, the adapter has room for another.
    fn left(&mut self, events: &mut impl Events, name: u32, hop: &Hop) {
        if !hop.leaves {
            return;
        }
        let Some(chunk) = self.chunks.get(name).copied() else { return };
        let Some(message) = self.messages.get_mut(chunk.message) else { return };
        let piece = u64::from(chunk.bytes);
        message.left += piece;
        let (flow, bytes, token) = (message.flow, message.bytes, message.token);
        let all = message.left == bytes;
        let state = &self.flows[flow.0 as usize];
        let (adapter, terms) = (state.path.out.adapter, &*state.path.terms);
        let socket = terms.socket.and_then(|_| self.traffic.existing(state)?.socket.as_mut());
        if socket.is_some_and(|socket| socket.left(piece)) {
            self.notices.push(Notice::Writable(flow));
        }
        if terms.frame_bytes.is_some() {
            self.notices.push(Notice::Left(flow, piece, chunk.cut));
        } else if all {
            self.notices.push(Notice::Left(flow, bytes, chunk.cut));
        }
        if terms.acknowledged == Acknowledged::WhenLeft {
            events.enter(events.now(), heard(flow, chunk.bytes, all.then_some(token)));
        }
        self.adapters[adapter as usize].fetched -= piece;
        self.pump(events, adapter);
    }

    fn announce(&mut self, events: &mut impl Events, cable: u32) {
        let state = &mut self.cables[cable as usize];
        let next = state.link.next_delivery().map(Time::of_link);
        if let Some(at) = next
            && state.due.is_none_or(|due| at < due)
        {
            state.due = Some(at);
            events.enter(at, NetworkEvent::Due(cable));
        }
    }

    fn due(&mut self, events: &mut impl Events, cable: u32) {
        let now = events.now();
        self.cables[cable as usize].due = None;
        while let Some(delivery) = self.cables[cable as usize].link.deliver(now.link_instant()) {
            let Some(chunk) = self.chunks.get(delivery.token).copied() else { continue };
            let Some(hop) = self.hop(&chunk) else { continue };
            self.left(events, delivery.token, &hop);
            self.go_on(events, delivery.token, now + hop.latency);
        }
        self.announce(events, cable);
    }

    /// A piece is where it was to go.
    fn arrived(&mut self, events: &mut impl Events, name: u32) {
        let Some(chunk) = self.chunks.remove(name) else { return };
        let Some(message) = self.messages.get_mut(chunk.message) else { return };
        let begins = message.arrived == 0;
        message.arrived += u64::from(chunk.bytes);
        let whole = message.arrived == message.bytes;
        let (flow, token) = (message.flow, message.token);
        if whole {
            self.messages.remove(chunk.message);
            self.notices.push(Notice::Delivered(flow, token));
        } else if begins && self.has_socket(flow) {
            self.notices.push(Notice::Begun(flow, token));
        }
        let terms = &self.path(flow).terms;
        if terms.acknowledged == Acknowledged::ByReceiver {
            let at = events.now() + terms.back + self.queue_back(events.now(), flow);
            events.enter(at, heard(flow, chunk.bytes, whole.then_some(token)));
        }
    }
}

/// The sender will hear of so many bytes, and whether they are the last of a message.
fn heard(flow: FlowId, bytes: u32, last: Option<u32>) -> NetworkEvent {
    match last {
        Some(token) => NetworkEvent::HeardLast(flow, bytes, token),
        None => NetworkEvent::Heard(flow, bytes),
    }
}
