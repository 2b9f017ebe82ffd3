//! The way of pieces, hop by hop: through stations, links and shapers.

use fishplate_link::{Offered, Rate, Settings};

use super::{Chunk, Events, Network, NetworkEvent, Notice};
use crate::models::flow::FlowId;
use crate::models::path::{Acknowledged, Hop, Place};
use crate::models::station::Job;
use crate::models::time::Time;

/// Retransmission timeout beyond a round trip: a usual minimum of reliable transports.
const RESEND_AFTER_NS: f64 = 1_000_000.0;

impl Network {
    /// A piece arrives at its next hop, or at the receiver.
    pub(super) fn submit(&mut self, events: &mut impl Events, name: u32) {
        let Some(chunk) = self.chunks.get(name as usize).copied() else { return };
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
            Place::Link(number) => {
                let path = &self.flows[flow.0 as usize].path;
                let (mtu, overhead) = (path.terms.mtu, path.terms.packet_overhead);
                let frames = path.terms.frame_bytes.is_some();
                let again = path.terms.back + path.latency() + Time::ns(RESEND_AFTER_NS);
                let link = &mut self.links[number as usize].link;
                let now = events.now();
                let packets = match self.traffic.existing(&self.flows[flow.0 as usize]) {
                    Some(traffic) if frames => traffic.new_packets(now, bytes, mtu),
                    _ => chunk.packets.into(),
                };
                let wire = bytes + packets * overhead;
                if !matches!(link.offer(now.link_instant(), name, wire as u32), Offered::Taken) {
                    events.enter(now + again, NetworkEvent::Arrives(name));
                }
                self.announce_link(events, number);
            }
            Place::Shaper(number) => {
                self.shapers[number as usize].shaper.offer(events.now(), name, bytes);
                self.announce_shaper(events, number);
            }
        }
    }

    /// Whether a piece begins a new frame: no piece of its flow arrived at this station at this time.
    fn begins_frame(&mut self, now: Time, flow: FlowId) -> bool {
        let traffic = self.traffic.existing(&self.flows[flow.0 as usize]);
        traffic.is_none_or(|traffic| traffic.framed.replace(now) != Some(now))
    }

    /// A shaper may let something through now.
    pub(super) fn released(&mut self, events: &mut impl Events, number: u32) {
        self.shapers[number as usize].due = None;
        self.release(events, number);
    }

    /// Forwards the pieces that a shaper releases.
    fn release(&mut self, events: &mut impl Events, number: u32) {
        let passed = self.shapers[number as usize].shaper.release(events.now());
        passed.into_iter().for_each(|name| self.served(events, name));
        self.announce_shaper(events, number);
    }

    /// Never immediate: forwarded pieces lead to further events here, which must not overtake them.
    fn announce_shaper(&mut self, events: &mut impl Events, number: u32) {
        let state = &mut self.shapers[number as usize];
        if let Some(at) = state.shaper.due()
            && state.due.is_none_or(|due| at < due)
        {
            state.due = Some(at);
            events.enter(at, NetworkEvent::Released(number));
        }
    }

    /// A link or shaper has another rate.
    pub(super) fn change(&mut self, events: &mut impl Events, place: Place, mbit: u32) {
        let now = events.now();
        match place {
            Place::Station(_) => {}
            Place::Shaper(number) => {
                self.shapers[number as usize].shaper.set_rate(now, f64::from(mbit));
                self.release(events, number);
            }
            Place::Link(number) => {
                let link = &mut self.links[number as usize].link;
                let settings = Settings { rate: Some(Rate::mbit(mbit.into())), ..link.settings().clone() };
                link.set(now.link_instant(), settings);
                self.announce_link(events, number);
            }
        }
    }

    /// A station has served a piece, and turns to the next.
    pub(super) fn done(&mut self, events: &mut impl Events, station: u32) {
        let (done, next) = self.stations[station as usize].done();
        if let Some(job) = next {
            self.begin(events, station, job);
        }
        if let Some(chunk) = done {
            self.served(events, chunk);
        }
    }

    /// A station begins to serve a piece.
    fn begin(&mut self, events: &mut impl Events, station: u32, job: Job) {
        let now = events.now();
        events.enter(now + job.service, NetworkEvent::Served(station));
        let Some(chunk) = self.chunks.get(job.chunk as usize).copied() else { return };
        if let Some(hop) = self.hop(&chunk)
            && hop.cut_through
        {
            self.stations[station as usize].forward();
            self.left(events, job.chunk, &hop);
            self.go_on(events, job.chunk, now + hop.latency);
        }
    }

    fn served(&mut self, events: &mut impl Events, name: u32) {
        let Some(chunk) = self.chunks.get(name as usize).copied() else { return };
        if let Some(hop) = self.hop(&chunk) {
            self.left(events, name, &hop);
            self.go_on(events, name, events.now() + hop.latency);
        }
    }

    fn go_on(&mut self, events: &mut impl Events, name: u32, at: Time) {
        if let Some(chunk) = self.chunks.get_mut(name as usize) {
            chunk.hop += 1;
        }
        if at == events.now() {
            self.submit(events, name);
        } else {
            events.enter(at, NetworkEvent::Arrives(name));
        }
    }

    /// The hop that a piece is at.
    fn hop(&self, chunk: &Chunk) -> Option<Hop> {
        self.path(chunk.flow).hop(usize::from(chunk.hop)).copied()
    }

    /// A piece has passed a hop. Where it leaves the adapter, the adapter has room for another one.
    fn left(&mut self, events: &mut impl Events, name: u32, hop: &Hop) {
        if !hop.leaves {
            return;
        }
        let Some(chunk) = self.chunks.get(name as usize).copied() else { return };
        let Some(message) = self.messages.get_mut(chunk.message as usize) else { return };
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
            events.enter(events.now(), acknowledgement(flow, chunk.bytes, all.then_some(token)));
        }
        let sender = &mut self.adapters[adapter as usize];
        sender.fetched -= piece;
        sender.sent += piece;
        self.pump(events, adapter);
    }

    fn announce_link(&mut self, events: &mut impl Events, number: u32) {
        let state = &mut self.links[number as usize];
        let next = state.link.next_delivery().map(Time::of_link);
        if let Some(at) = next
            && state.due.is_none_or(|due| at < due)
        {
            state.due = Some(at);
            events.enter(at, NetworkEvent::Due(number));
        }
    }

    /// A link may have delivered something.
    pub(super) fn due(&mut self, events: &mut impl Events, number: u32) {
        let now = events.now();
        self.links[number as usize].due = None;
        while let Some(delivery) = self.links[number as usize].link.deliver(now.link_instant()) {
            let Some(chunk) = self.chunks.get(delivery.token as usize).copied() else { continue };
            let Some(hop) = self.hop(&chunk) else { continue };
            self.left(events, delivery.token, &hop);
            self.go_on(events, delivery.token, now + hop.latency);
        }
        self.announce_link(events, number);
    }

    /// A piece has arrived at the receiver.
    fn arrived(&mut self, events: &mut impl Events, name: u32) {
        let Some(chunk) = self.chunks.try_remove(name as usize) else { return };
        let Some(message) = self.messages.get_mut(chunk.message as usize) else { return };
        let begins = message.arrived == 0;
        message.arrived += u64::from(chunk.bytes);
        let whole = message.arrived == message.bytes;
        if self.flows[message.flow.0 as usize].path.terms.socket.is_some() {
            self.notices.push(Notice::Arrived(message.flow, chunk.bytes));
        }
        let (flow, token) = (message.flow, message.token);
        if whole {
            self.messages.try_remove(chunk.message as usize);
            self.notices.push(Notice::Delivered(flow, token));
        } else if begins && self.has_socket(flow) {
            self.notices.push(Notice::Begun(flow, token));
        }
        let terms = &self.path(flow).terms;
        if terms.acknowledged == Acknowledged::ByReceiver {
            let at = events.now() + terms.back + self.queue_back(events.now(), flow);
            events.enter(at, acknowledgement(flow, chunk.bytes, whole.then_some(token)));
        }
    }
}

/// Schedules an acknowledgement of this number of bytes, and whether they end a message.
fn acknowledgement(flow: FlowId, bytes: u32, last: Option<u32>) -> NetworkEvent {
    match last {
        Some(token) => NetworkEvent::AcknowledgedLast(flow, bytes, token),
        None => NetworkEvent::Acknowledged(flow, bytes),
    }
}
