//! A run of one MPI program: processes over a network in virtual time.

mod bytes;
mod cuts;
mod driver;
mod observe;
mod receive;

use fishplate_engine::wire::Header;
use fishplate_engine::{Config, Extent, Payload, Region, Registration, SendKey};

use super::causes::Causes;
use super::chain::{Chain, Part};
use super::costs::Costs;
use super::flow_ends::FlowEnds;
use super::knowledge::Knowledge;
use super::log::{Entry, Log, Strand};
use super::port_shares::PortShares;
use super::rail_bytes::RailBytes;
use super::rank::{Rank, Request, SubchannelSpec};
use super::tcp_info::Kernels;
use crate::events::Random;
use crate::models::flow::{Flow, FlowId};
use crate::models::network::{Network, NetworkEvent, Notice};
use crate::models::path::Place;
use crate::models::time::{Calendar, Time};

/// Lowest bit of a frame's token: the frame is counted in acknowledgements.
const COUNTED: u32 = 1;
/// Size of the memory of a rank that others may access: addresses are virtual.
const WINDOW_BYTES: u64 = 1 << 40;
/// The name of that memory.
pub const WINDOW_KEY: u64 = 1;

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// In the network.
    Network(NetworkEvent),
    /// A process hands a frame to its adapter, over a flow.
    Post(FlowId, u32),
    /// A process has written a flow's queue to the socket.
    Flush(FlowId),
    /// The kernel has a buffer more of a flow, which the process has written to the socket.
    Written(FlowId),
    /// A rail of the testbed fails: connections over it break.
    Cut(u32),
    /// A rail of the testbed recovers: its connections are re-established.
    Restored(u32),
    /// A process has read the header of a frame that came over a flow, and whose payload is incomplete.
    HeaderRead(FlowId, u32),
    /// A process has read a frame that came over a flow.
    Handle(FlowId, u32),
    /// An acknowledgement frame of the engine has arrived over a flow, past the network.
    Acknowledgement(FlowId, u32),
    /// A program continues.
    Wake(u32),
    /// The engine's timeout of a process.
    Timeout(u32),
    /// The progress thread of a process that computes runs.
    ProgressThread(u32),
    /// What ranks know of rails is looked at.
    Look,
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
    /// The receiver has read its header.
    header_read: bool,
    /// It arrived while the receiver computed, which had polled last at this time.
    arrived_after: Option<Time>,
}

/// The network between ranks, as a testbed builds it.
pub trait Topology {
    /// The flows from one rank to another, one a rail, in the order of rails.
    fn subchannels_between(&mut self, from: u32, to: u32) -> Vec<(Flow, SubchannelSpec)>;

    /// Two ranks use one rail only: that at this position.
    fn bind(&mut self, a: u32, b: u32, rail: u8);

    /// Rail of the testbed used by a subchannel from one rank to another; `None` within a host.
    fn rail(&self, from: u32, to: u32, subchannel: u8) -> Option<usize>;

    /// Capacity of a subchannel's send queue in bytes, where that is limited.
    fn budget(&self) -> Option<u64>;
}

/// How an MPI library uses its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Frames have headers on the wire; those of plain verbs or sockets have none.
    pub headers: bool,
    /// The engines acknowledge by frames of their own, as over real sockets, when they think it is time; otherwise the
    /// adapters do, which costs the processes nothing.
    pub acknowledges: bool,
    /// Longest message that its sender does not wait for.
    pub unawaited_bytes: u64,
}

/// Everything.
pub struct World {
    calendar: Calendar<Event>,
    network: Network,
    ranks: Vec<Rank>,
    ends: Vec<FlowEnds>,
    kernels: Kernels,
    frames: Vec<Frame>,
    free_frames: Vec<u32>,
    topology: Box<dyn Topology>,
    notices: Vec<Notice>,
    ready: Vec<u32>,
    kind: Kind,
    /// Log of the programs, if enabled.
    log: Option<Log>,
    /// Causes of events, if enabled.
    causes: Option<Box<Causes>>,
    /// Bytes over time, if they are counted.
    rail_bytes: Option<RailBytes>,
    /// What ranks know of rails, if it is observed.
    knowledge: Option<Box<Knowledge>>,
    /// What ranks get of ports, as their drivers measure it, if they do.
    ports: Option<PortShares>,
}

impl World {
    /// Creates processes with equal configurations; random numbers are derived from a seed.
    pub fn new(
        network: Network,
        topology: Box<dyn Topology>,
        (ranks, seed): (u32, u64),
        config: &Config,
        (costs, kind): (Costs, Kind),
    ) -> Self {
        let rank = |number| {
            let random = Random::stream(seed, &format!("interruptions of rank {number}"));
            let mut rank = Rank::new(config.clone(), costs, ranks as usize, random);
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
            kernels: Kernels::new(Random::stream(seed, "least round trips")),
            frames: Vec::new(),
            free_frames: Vec::new(),
            topology,
            notices: Vec::new(),
            ready: Vec::new(),
            kind,
            log: None,
            causes: None,
            rail_bytes: None,
            knowledge: None,
            ports: None,
        }
    }

    /// Enables the log of the programs.
    pub fn begin_log(&mut self) {
        self.log = Some(vec![Vec::new(); self.ranks.len()]);
    }

    /// Log of the programs; `None` if disabled.
    pub fn take_log(&mut self) -> Log {
        self.log.take().unwrap_or_default()
    }

    /// Enables the tracking of causes, and counts the bytes of rails.
    pub fn begin_analysis(&mut self) {
        self.causes = Some(Box::new(Causes::new(self.ranks.len() as u32)));
        self.rail_bytes = Some(RailBytes::default());
    }

    /// Bytes carried by rails; `None` if not counted.
    pub fn take_rail_bytes(&mut self) -> RailBytes {
        self.rail_bytes.take().unwrap_or_default()
    }

    /// The cause of the current activity of `rank`'s program, if causes are tracked.
    pub fn cause(&self, rank: u32) -> Option<Chain> {
        let free = self.ranks[rank as usize].core_free;
        self.causes.as_ref().map(|causes| causes.of_program(rank, self.now(), free))
    }

    /// Something has a cause.
    pub(super) fn follow(&mut self, what: impl FnOnce(&mut Causes, Time)) {
        if let Some(causes) = &mut self.causes {
            what(causes, self.calendar.now());
        }
    }

    /// The program of `rank` occupies its core for this time. Returns the end of it.
    pub fn spend(&mut self, rank: u32, time: Time, part: Part) -> Time {
        let (now, process) = (self.calendar.now(), &mut self.ranks[rank as usize]);
        let free = process.core_free;
        let end = process.work(now, time);
        self.follow(|causes, _| causes.spend(rank, part, (now, free, end)));
        end
    }

    /// The program of `rank` calls its library, which will complete a request.
    pub fn begin_request(&mut self, rank: u32) -> Request {
        self.follow(|causes, now| causes.call(rank, now));
        self.ranks[rank as usize].new_request()
    }

    /// The driver of `rank` takes time of its core, or of the progress thread's. Returns when that ends.
    fn work(&mut self, rank: u32, now: Time, cost: Time) -> Time {
        let process = &mut self.ranks[rank as usize];
        let (free, on_core) = (process.core_free, !process.runs_in_thread);
        let end = process.work(now, cost);
        self.follow(|causes, _| causes.work(rank, (now, free, end), on_core));
        end
    }

    /// Wakes the program of `rank` if the requests that it waits for are complete.
    fn wake_if_complete(&mut self, rank: u32) {
        let process = &mut self.ranks[rank as usize];
        if process.take_woken() {
            let free = process.core_free;
            self.follow(|causes, now| causes.complete(rank, now, free));
            self.make_ready(rank);
        }
    }

    /// A program does something.
    pub fn note(&mut self, rank: u32, strand: Strand, entry: impl FnOnce() -> Entry) {
        if let Some(log) = &mut self.log {
            log[rank as usize].push((strand, entry()));
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
        self.topology.bind(a, b, rail);
    }

    /// A process.
    pub fn rank(&mut self, rank: u32) -> &mut Rank {
        &mut self.ranks[rank as usize]
    }

    /// How many processes there are.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// How their library uses the network.
    pub fn kind(&self) -> Kind {
        self.kind
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

    /// A program continues at `at`.
    pub fn wake_at(&mut self, rank: u32, at: Time) {
        self.calendar.enter(at, Event::Wake(rank));
    }

    /// Lets the next event happen. False: there is none.
    pub fn step(&mut self) -> bool {
        let Some(event) = self.calendar.advance() else { return false };
        match event {
            Event::Network(event) => {
                self.network.handle(&mut self.calendar, event);
                self.process_notices();
            }
            Event::Post(_, frame) | Event::Handle(_, frame) if self.is_cut(event) => self.drop_frame(frame),
            Event::HeaderRead(..) if self.is_cut(event) => {}
            Event::Post(flow, frame) => {
                self.frame_posted(flow, frame);
                let Frame { header, bytes, .. } = self.frames[frame as usize];
                let token = frame << 1 | if header.body.is_counted() { COUNTED } else { 0 };
                let group = self.ends[flow.0 as usize].group(&header.body);
                self.network.post(&mut self.calendar, flow, (token, group), bytes);
                self.process_notices();
            }
            Event::Handle(flow, frame) => {
                let rank = self.ends[flow.0 as usize].to;
                self.follow(|causes, now| causes.handle(rank, frame, false, now));
                self.handle_frame(flow, frame)
            }
            Event::Acknowledgement(flow, frame) => {
                let rank = self.ends[flow.0 as usize].to;
                self.follow(|causes, now| causes.handle_acknowledgement(rank, frame, now));
                self.handle_frame(flow, frame)
            }
            Event::Flush(flow) => self.flush(flow),
            Event::Written(flow) => self.written(flow),
            Event::Cut(rail) => self.cut_rail(rail as usize),
            Event::Restored(rail) => self.restore_rail(rail as usize),
            Event::HeaderRead(flow, frame) => self.handle_early_header(flow, frame),
            Event::Wake(rank) => self.make_ready(rank),
            Event::Timeout(rank) => self.handle_timeout_event(rank),
            Event::ProgressThread(rank) => self.run_progress_thread(rank),
            Event::Look => self.look(),
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
        self.ranks[from as usize].engine.lead(vc);
        let back = self.ranks[to as usize].open(from, false);
        let there = self.topology.subchannels_between(from, to);
        let here = self.topology.subchannels_between(to, from);
        for ((flow, spec), (back_flow, back_spec)) in there.into_iter().zip(here) {
            let rtt_ns = spec.round_trip_ns;
            let flow = self.network.add_flow(flow);
            let back_flow = self.network.add_flow(back_flow);
            let (Some(near), Some(far)) = (
                self.ranks[from as usize].add_subchannel(vc, flow, spec),
                self.ranks[to as usize].add_subchannel(back, back_flow, back_spec),
            ) else {
                return;
            };
            self.ends.push(FlowEnds::new((from, near), (to, far)));
            self.ends.push(FlowEnds::new((to, far), (from, near)));
            let call = self.ranks[from as usize].costs.transmit;
            self.kernels.add_pair(self.kind.acknowledges.then_some((call, rtt_ns)));
        }
    }

    /// A driver over sockets need not wait until a send is acknowledged.
    pub fn may_buffer(&mut self, rank: u32, key: SendKey) {
        if self.kind.acknowledges {
            self.ranks[rank as usize].engine.offer_for_buffering(key);
        }
    }

    /// A rail has another rate from `at` on, in Mbit/s.
    pub fn change(&mut self, at: Time, place: Place, mbit: u32) {
        self.calendar.enter(at, Event::Network(NetworkEvent::Changed(place, mbit)));
    }
}
