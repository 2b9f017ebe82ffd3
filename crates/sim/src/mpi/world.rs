//! A run of one MPI program: processes over a network in virtual time.

use fishplate_engine::wire::{Body, Header, MAX_HEADER_LEN};
use fishplate_engine::{Completion, Config, Extent, Payload, Region, Registration, SendKey, SubchannelId};

use super::costs::Costs;
use super::ends::Ends;
use super::kernel::{Kernels, LOOK_AFTER};
use super::rank::{Rank, Request, Way};
use crate::models::calendar::Calendar;
use crate::models::flow::{Flow, FlowId};
use crate::models::network::{Network, NetworkEvent, Notice};
use crate::models::path::Place;
use crate::models::time::Time;

/// Frames that are under way count in acknowledgements or not; the lowest bit of a frame's token says so.
const COUNTED: u64 = 1;
/// Memory that a rank lets others access, in bytes: no address is real.
const WINDOW_BYTES: u64 = 1 << 40;
/// The name of that memory.
pub const WINDOW_KEY: u64 = 1;

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// In the network.
    Network(NetworkEvent),
    /// A process hands a frame to its adapter.
    Post {
        /// Over which flow.
        flow: FlowId,
        /// Which frame.
        frame: u32,
    },
    /// A process has taken in a frame.
    Handle {
        /// Over which flow it came.
        flow: FlowId,
        /// Which frame.
        frame: u32,
    },
    /// An acknowledgement of the engine's own has arrived.
    Aside {
        /// Over which flow.
        flow: FlowId,
        /// Which frame.
        frame: u32,
    },
    /// A program goes on.
    Wake(u32),
    /// The engine of a process asked for this time.
    Timeout(u32),
}

impl From<NetworkEvent> for Event {
    fn from(event: NetworkEvent) -> Self {
        Event::Network(event)
    }
}

/// A frame under way.
#[derive(Clone, Copy, Debug)]
struct Frame {
    header: Header,
    bytes: u64,
    /// When it was handed to its adapter.
    posted: Time,
}

/// Ways between ranks: what a testbed builds.
pub trait Ways {
    /// The flows from one rank to another, one a rail, in the order of rails.
    fn ways(&mut self, network: &mut Network, from: u32, to: u32) -> Vec<(Flow, Way)>;

    /// Two ranks use one rail only: that at this position.
    fn bind(&mut self, a: u32, b: u32, rail: u8);

    /// Bytes that may be handed to a subchannel before they have left its adapter, where that is limited.
    fn budget(&self) -> Option<u64>;
}

/// What an MPI library is to its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Frames have headers on the wire: what stands for verbs or sockets has none of its own.
    pub headers: bool,
    /// The engines acknowledge by frames of their own, as over real sockets, when they think it is time; otherwise the
    /// adapters do, which costs the processes nothing.
    pub acknowledges: bool,
}

/// Everything.
pub struct World {
    calendar: Calendar<Event>,
    network: Network,
    ranks: Vec<Rank>,
    ends: Vec<Ends>,
    kernels: Kernels,
    frames: Vec<Frame>,
    free_frames: Vec<u32>,
    ways: Box<dyn Ways>,
    notices: Vec<Notice>,
    ready: Vec<u32>,
    kind: Kind,
    /// Messages, stripes and control frames that processes handed over.
    pub frames_sent: u64,
}

impl World {
    /// Processes that all are configured alike.
    pub fn new(
        network: Network,
        ways: Box<dyn Ways>,
        ranks: u32,
        config: &Config,
        (costs, kind): (Costs, Kind),
    ) -> Self {
        let rank = |_| {
            let mut rank = Rank::new(config.clone(), costs, ranks as usize);
            let memory = Payload::One(Extent { region: Region(WINDOW_KEY), offset: 0, len: WINDOW_BYTES });
            let window = Registration { key: WINDOW_KEY, memory, base: 0, readable: true, writable: true };
            // A new engine has no memory registered, so the key is free.
            let _ = rank.engine.register(window);
            rank
        };
        World {
            calendar: Calendar::default(),
            network,
            ranks: (0..ranks).map(rank).collect(),
            ends: Vec::new(),
            kernels: Kernels::default(),
            frames: Vec::new(),
            free_frames: Vec::new(),
            ways,
            notices: Vec::new(),
            ready: Vec::new(),
            kind,
            frames_sent: 0,
        }
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.calendar.now()
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.calendar.entered()
    }

    /// Two ranks, not connected yet, use one rail only: that at this position of their stack.
    pub fn bind(&mut self, a: u32, b: u32, rail: u8) {
        self.ways.bind(a, b, rail);
    }

    /// A process.
    pub fn rank(&mut self, rank: u32) -> &mut Rank {
        &mut self.ranks[rank as usize]
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Programs that can go on.
    pub fn take_ready(&mut self) -> Option<u32> {
        let rank = self.ready.pop()?;
        self.ranks[rank as usize].is_ready = false;
        Some(rank)
    }

    /// A program can go on.
    pub fn make_ready(&mut self, rank: u32) {
        if !self.ranks[rank as usize].is_ready {
            self.ranks[rank as usize].is_ready = true;
            self.ready.push(rank);
        }
    }

    /// A program goes on at `at`.
    pub fn wake_at(&mut self, rank: u32, at: Time) {
        self.calendar.enter(at, Event::Wake(rank));
    }

    /// Lets the next event happen. False: there is none.
    pub fn step(&mut self) -> bool {
        let Some(event) = self.calendar.advance() else { return false };
        match event {
            Event::Network(event) => {
                self.network.handle(&mut self.calendar, event);
                self.hear();
            }
            Event::Post { flow, frame } => {
                self.posted(flow, frame);
                let Frame { header, bytes, .. } = self.frames[frame as usize];
                let token = u64::from(frame) << 1 | if header.body.is_counted() { COUNTED } else { 0 };
                let group = self.ends[flow.0 as usize].group(&header.body);
                self.network.post(&mut self.calendar, flow, (token, group), bytes);
                self.hear();
            }
            Event::Handle { flow, frame } | Event::Aside { flow, frame } => self.handle_frame(flow, frame),
            Event::Wake(rank) => self.make_ready(rank),
            Event::Timeout(rank) => self.time_out(rank),
        }
        true
    }

    /// Connects two ranks, if they are not.
    pub fn connect(&mut self, from: u32, to: u32) {
        if self.ranks[from as usize].channel(to).is_some() {
            return;
        }
        let vc = self.ranks[from as usize].open(to, from == to);
        if from == to {
            return;
        }
        let back = self.ranks[to as usize].open(from, false);
        let there = self.ways.ways(&mut self.network, from, to);
        let here = self.ways.ways(&mut self.network, to, from);
        for ((flow, way), (back_flow, back_way)) in there.into_iter().zip(here) {
            let way_ns = way.round_trip_ns;
            let flow = self.network.add_flow(flow);
            let back_flow = self.network.add_flow(back_flow);
            let (Some(near), Some(far)) = (
                self.ranks[from as usize].add_subchannel(vc, flow, way),
                self.ranks[to as usize].add_subchannel(back, back_flow, back_way),
            ) else {
                return;
            };
            self.ends.push(Ends::new((from, near), (to, far)));
            self.ends.push(Ends::new((to, far), (from, near)));
            let call = self.ranks[from as usize].costs.transmit;
            self.kernels.add_pair(self.kind.acknowledges.then_some((call, way_ns)));
        }
    }

    /// A driver over sockets need not wait until a send is acknowledged.
    pub fn may_buffer(&mut self, rank: u32, key: SendKey) {
        if self.kind.acknowledges {
            self.ranks[rank as usize].engine.may_buffer(key);
        }
    }

    /// A rail has another rate from `at` on, in Mbit/s.
    pub fn change(&mut self, at: Time, place: Place, mbit: u32) {
        self.calendar.enter(at, Event::Network(NetworkEvent::Changed(place, mbit)));
    }

    /// What a process's engine wants, after every command and event.
    pub fn attend(&mut self, rank: u32) {
        let now = self.calendar.now();
        self.look_at_paths(rank);
        let mut handed = (Vec::new(), 0);
        loop {
            let process = &mut self.ranks[rank as usize];
            let Some(transmit) = process.engine.poll_transmit(now.instant()) else { break };
            let (body, payload) = (transmit.header.body, u64::from(transmit.header.body.payload_len()));
            let cost = process.costs.out(&body);
            let at = if cost == Time::default() { now } else { process.work(now, cost) };
            let bytes = payload + if self.kind.headers { encoded_len(&transmit.header) } else { 0 };
            let out = process.out(transmit.subchannel);
            let flow = out.flow;
            let frame = Frame { header: transmit.header, bytes, posted: now };
            if body.is_counted() || self.kind.acknowledges {
                out.queued += bytes;
                let is_batched = process.costs.is_batched();
                self.frames_sent += u64::from(body.is_counted());
                let frame = self.new_frame(frame);
                if is_batched {
                    handed.0.push((flow, frame));
                    handed.1 += bytes;
                } else {
                    self.calendar.enter(at, Event::Post { flow, frame });
                }
            } else {
                // The adapters acknowledge; what the engine would add takes no bandwidth.
                let frame = self.new_frame(frame);
                let at = at + self.network.path(flow).latency();
                self.calendar.enter(at, Event::Aside { flow, frame });
            }
        }
        if !handed.0.is_empty() {
            let frames = self.ranks[rank as usize].hand_over(handed.0, handed.1);
            self.send_together(rank, frames);
        }
        let process = &mut self.ranks[rank as usize];
        complete_all(process);
        if self.kind.acknowledges {
            end_sends_early(process, now);
        }
        if process.take_woken() {
            self.make_ready(rank);
        }
        if self.kind.acknowledges {
            self.set_timer(rank);
        }
    }

    /// A driver tells its engine what the kernel has measured, now and then.
    fn look_at_paths(&mut self, rank: u32) {
        let now = self.calendar.now();
        let process = &mut self.ranks[rank as usize];
        if !self.kind.acknowledges || now < process.next_look {
            return;
        }
        process.next_look = now + LOOK_AFTER;
        for (subchannel, flow) in process.subchannels() {
            if let Some(path) = self.kernels.look(now, flow) {
                process.engine.measured(now.instant(), subchannel, path);
            }
        }
    }

    /// A frame is handed to its adapter; what the kernel has to acknowledge goes with it.
    fn posted(&mut self, flow: FlowId, frame: u32) {
        let now = self.calendar.now();
        let frame = &mut self.frames[frame as usize];
        frame.posted = now;
        let body = &frame.header.body;
        let payload = if body.is_counted() { u64::from(body.payload_len()) } else { 0 };
        self.kernels.sends(now, flow, payload);
    }

    /// Enters the time that an engine asks for, unless an earlier one is entered.
    fn set_timer(&mut self, rank: u32) {
        let process = &mut self.ranks[rank as usize];
        let Some(at) = process.engine.poll_timeout().map(Time::of_instant) else { return };
        if process.timer.is_none_or(|timer| at < timer) {
            process.timer = Some(at);
            self.calendar.enter(at, Event::Timeout(rank));
        }
    }

    fn time_out(&mut self, rank: u32) {
        let now = self.calendar.now();
        let process = &mut self.ranks[rank as usize];
        // A busy core comes back to it later.
        if process.core_free > now {
            let free = process.core_free;
            return self.calendar.enter(free, Event::Timeout(rank));
        }
        process.timer = None;
        process.engine.handle_timeout(now.instant());
        self.attend(rank);
    }

    /// The program of `rank` looks at the network.
    pub fn look(&mut self, rank: u32) {
        let frames = self.ranks[rank as usize].looks();
        self.send_together(rank, frames);
    }

    /// Frames leave, those of one flow with one system call.
    fn send_together(&mut self, rank: u32, mut frames: Vec<(FlowId, u32)>) {
        let now = self.calendar.now();
        while let Some(&(first, _)) = frames.first() {
            let process = &mut self.ranks[rank as usize];
            let at = process.work(now, process.costs.transmit);
            let (together, rest) = frames.into_iter().partition(|(flow, _)| *flow == first);
            frames = rest;
            let together: Vec<(FlowId, u32)> = together;
            together.into_iter().for_each(|(flow, frame)| self.calendar.enter(at, Event::Post { flow, frame }));
        }
    }

    fn new_frame(&mut self, frame: Frame) -> u32 {
        if let Some(name) = self.free_frames.pop() {
            self.frames[name as usize] = frame;
            return name;
        }
        self.frames.push(frame);
        self.frames.len() as u32 - 1
    }

    fn hear(&mut self) {
        let mut notices = std::mem::take(&mut self.notices);
        self.network.take_notices(&mut notices);
        for notice in notices.drain(..) {
            match notice {
                Notice::Left(flow, token, bytes) => {
                    let sent = self.frames[(token >> 1) as usize].posted;
                    self.kernels.came(self.calendar.now(), flow, sent, bytes);
                    self.left(flow, bytes);
                }
                Notice::Delivered(flow, token) => self.delivered(flow, (token >> 1) as u32),
                Notice::Acknowledged(flow, token) => self.acknowledged(flow, token & COUNTED != 0),
            }
        }
        self.notices = notices;
    }

    /// The process takes the frame in once its core is free.
    fn delivered(&mut self, flow: FlowId, frame: u32) {
        let now = self.calendar.now();
        let ends = &mut self.ends[flow.0 as usize];
        let process = &mut self.ranks[ends.to as usize];
        // A call takes in all that has come until it begins.
        let is_fetched = ends.fetches_at.is_some_and(|begins| now <= begins);
        let fetch = if is_fetched { Time::default() } else { process.costs.fetch };
        if !is_fetched {
            ends.fetches_at = Some(process.core_free.later(now));
        }
        let cost = process.costs.inward(&self.frames[frame as usize].header.body) + fetch;
        // Frames are handled in the order in which they came: what costs nothing waits for what came before.
        let is_free = cost == Time::default() && !self.kind.acknowledges;
        let at = if is_free { now } else { process.work(now, cost) };
        self.calendar.enter(at, Event::Handle { flow, frame });
    }

    fn left(&mut self, flow: FlowId, bytes: u64) {
        let Ends { from, from_subchannel, .. } = self.ends[flow.0 as usize];
        let Some(budget) = self.ways.budget() else { return };
        let process = &mut self.ranks[from as usize];
        let out = process.out(from_subchannel);
        out.queued = out.queued.saturating_sub(bytes);
        let free = budget.saturating_sub(out.queued);
        process.engine.writable(from_subchannel, free);
        self.attend(from);
    }

    fn handle_frame(&mut self, flow: FlowId, frame: u32) {
        let mut header = self.frames[frame as usize].header;
        self.free_frames.push(frame);
        let Ends { to, to_subchannel, .. } = self.ends[flow.0 as usize];
        if self.kind.acknowledges {
            return self.take_in(to, to_subchannel, &header);
        }
        // The other direction's flow is its neighbour: they are made in pairs.
        let heard = &mut self.ends[(flow.0 ^ 1) as usize];
        heard.told(header.ack, header.credit);
        header.ack = heard.acknowledged;
        self.take_in(to, to_subchannel, &header);
    }

    /// The adapter or kernel of the receiver has acknowledged a frame.
    fn acknowledged(&mut self, flow: FlowId, counted: bool) {
        if !counted || self.kind.acknowledges {
            return;
        }
        let ends = &mut self.ends[flow.0 as usize];
        ends.acknowledged = ends.acknowledged.wrapping_add(1);
        let Ends { from, from_subchannel, acknowledged: ack, credit, .. } = *ends;
        let said_at_us = self.calendar.now().instant().wrapping_us();
        self.take_in(
            from,
            from_subchannel,
            &Header { ack, ack_delay_us: 0, said_at_us, credit, repetition: 0, body: Body::Ack },
        );
    }

    fn take_in(&mut self, rank: u32, subchannel: SubchannelId, header: &Header) {
        let now = self.calendar.now().instant();
        let process = &mut self.ranks[rank as usize];
        if self.kind.acknowledges {
            process.engine.looked(subchannel, now);
            process.engine.moved(now, subchannel);
        }
        let taken = process.engine.handle_header(now, subchannel, header);
        debug_assert!(taken.is_ok(), "engines of one build understand each other: {taken:?}");
        if header.body.payload_len() > 0 && header.body.is_counted() {
            process.engine.payload_placed(now, subchannel);
        }
        self.attend(rank);
    }
}

fn encoded_len(header: &Header) -> u64 {
    header.encode(&mut [0; MAX_HEADER_LEN]) as u64
}

/// Nothing is left to hand over: sends end once they are copied.
fn end_sends_early(process: &mut Rank, now: Time) {
    while !process.holds_back() && process.engine.buffer(now.instant()) {
        let copied = complete_all(process);
        process.work(now, process.costs.copy(copied));
    }
}

/// The program learns what has ended. Its bytes.
fn complete_all(process: &mut Rank) -> u64 {
    while process.engine.poll_memory().is_some() {}
    let mut bytes = 0;
    while let Some(completion) = process.engine.poll_completion() {
        bytes += completion.len;
        complete(process, &completion);
    }
    bytes
}

fn complete(process: &mut Rank, completion: &Completion) {
    debug_assert!(completion.result.is_ok(), "nothing fails in a model: {completion:?}");
    // One-sided data that arrives belongs to no request.
    if completion.operation != fishplate_engine::Operation::RemoteWrite {
        process.complete(Request(completion.context.0 as u32));
    }
}
