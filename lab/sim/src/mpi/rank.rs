//! One process: its protocol engine, its core, its requests.

use fishplate_engine::{Config, Engine, Instant, Path, RailId, SubchannelId, VcId};

use super::channels::{Channels, Flows, Recent};
use super::costs::Costs;
use super::os_noise::OsNoise;
use super::synchronous::Asked;
use crate::events::Random;
use crate::models::flow::FlowId;
use crate::models::time::Time;

/// Buffered frames of a burst are sent once they exceed this number of bytes, as in the driver.
const WORTH_A_CALL: u64 = 64 << 10;

/// The tag of a message.
pub type Tag = u64;

/// A request of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request(pub u32);

/// A message of a synchronous send that was received and is to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The request that received it.
    pub receive: Request,
    /// The rank to answer.
    pub asked: Asked,
}

/// Identifies a wait. A rank can have several, as parts of a program may run concurrently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Active,
    Awaited(Wait),
    Done,
}

/// An event of a process's socket.
#[derive(Clone, Copy, Debug)]
pub enum SocketEvent {
    /// A frame has arrived over this flow.
    Delivered(FlowId, u32),
    /// The header of a frame has arrived, its payload has not.
    HeaderArrived(FlowId, u32),
    /// The socket's buffer has room again.
    Writable(FlowId),
}

/// Frames that were held back, in order.
#[derive(Default)]
pub struct Held {
    /// With the flow of each.
    pub frames: Vec<(FlowId, u32)>,
    /// When the first of them was.
    pub since: Time,
}

/// A process.
pub struct Rank {
    /// Its protocol.
    pub engine: Engine,
    /// Costs of its MPI library.
    pub costs: Costs,
    /// When its core is free.
    pub core_free: Time,
    /// Its program can go on.
    pub is_ready: bool,
    /// Virtual channels by peer; made when first used.
    channels: Channels,
    /// Flows by virtual channel and subchannel.
    pub flows: Flows,
    recent: Recent,
    requests: Vec<State>,
    free: Vec<u32>,
    /// Number of incomplete requests of each wait.
    waits: Vec<u32>,
    free_waits: Vec<Wait>,
    /// When the engine's next timeout event comes, if one is in the calendar.
    pub timer: Option<Time>,
    /// Sends in a row.
    burst: u32,
    /// Batching: frames that are held back, with their flows, in order.
    held: Held,
    /// Their bytes.
    held_bytes: u64,
    /// A wait has ended, and its program has not been woken yet.
    is_woken: bool,
    /// When its driver samples its connections next.
    pub next_sample: Time,
    /// Its program computes, and does not call MPI, until then.
    pub computes_until: Time,
    /// Whether it computes, or has not called MPI since: the network is not polled.
    pub is_computing: bool,
    /// When it last polled the network before that.
    pub last_polled: Time,
    /// Socket events that wait until it polls.
    pub pending_events: Vec<SocketEvent>,
    /// Bytes that have arrived and were not read, as the program computes.
    pub unread: u64,
    /// Its progress thread has an event in the calendar.
    pub is_thread_scheduled: bool,
    /// The present work is the progress thread's, not the program's.
    pub runs_in_thread: bool,
    /// Its synchronous sends so far.
    synchronous: u32,
    /// Messages of synchronous sends that it has received and not answered.
    unanswered: Vec<Unanswered>,
    noise: OsNoise,
}

impl Rank {
    /// A process among `ranks`; `random` is for the interruptions of its core.
    pub fn new(config: Config, costs: Costs, ranks: usize, random: Random) -> Self {
        Rank {
            engine: Engine::new(config),
            costs,
            core_free: Time::default(),
            is_ready: true,
            channels: Channels::new(ranks),
            flows: Flows::default(),
            recent: Recent::default(),
            requests: Vec::new(),
            free: Vec::new(),
            waits: Vec::new(),
            free_waits: Vec::new(),
            timer: None,
            burst: 0,
            held: Held::default(),
            held_bytes: 0,
            is_woken: false,
            next_sample: Time::default(),
            computes_until: Time::default(),
            is_computing: false,
            last_polled: Time::default(),
            pending_events: Vec::new(),
            unread: 0,
            is_thread_scheduled: false,
            runs_in_thread: false,
            synchronous: 0,
            unanswered: Vec::new(),
            noise: OsNoise::new(random, costs.noise),
        }
    }

    /// The channel to a peer, if there is one yet.
    pub fn channel(&self, peer: u32) -> Option<VcId> {
        self.channels.get(peer)
    }

    /// The policies towards the first peer, as text.
    pub fn explain(&self) -> String {
        if self.flows.is_empty() { String::new() } else { self.engine.explain(VcId(0)) }
    }

    /// Opens a channel to `peer`.
    pub fn open(&mut self, peer: u32, itself: bool) -> VcId {
        let vc = if itself { self.engine.open_loopback() } else { self.engine.open() };
        self.channels.insert(peer, vc);
        self.flows.open();
        vc
    }

    /// Adds a subchannel over `flow`.
    pub fn add_subchannel(&mut self, vc: VcId, flow: FlowId, spec: SubchannelSpec) -> Option<SubchannelId> {
        let subchannel = self.subchannel_up(Instant(0), vc, spec)?;
        self.flows.push(vc, flow);
        Some(subchannel)
    }

    /// A subchannel comes up.
    pub fn subchannel_up(&mut self, now: Instant, vc: VcId, spec: SubchannelSpec) -> Option<SubchannelId> {
        let subchannel = self.engine.subchannel_up(vc, RailId(spec.rail), Some(spec.speed), spec.grant).ok()?;
        let rtt_ns = spec.round_trip_ns;
        let path = Path { rtt_ns, min_rtt_ns: rtt_ns, delivery_rate: None, window: u64::MAX };
        self.engine.path_measured(now, subchannel, path);
        self.engine.writable(subchannel, spec.budget);
        Some(subchannel)
    }

    /// The flow of a subchannel.
    pub fn flow(&self, subchannel: SubchannelId) -> FlowId {
        self.flows.of(subchannel)
    }

    /// All subchannels with their flows.
    pub fn subchannels(&self) -> impl Iterator<Item = (SubchannelId, FlowId)> {
        self.flows.iter()
    }

    /// The program uses a channel: one that it has not used for longest gives memory back.
    pub fn uses(&mut self, vc: VcId) {
        if let Some(left) = self.recent.add(vc) {
            self.engine.release_unused_memory(left);
        }
    }

    /// Occupies the core for `cost` from `now` on, or once it is free. Returns when that ends.
    pub fn work(&mut self, now: Time, cost: Time) -> Time {
        if self.runs_in_thread {
            return now + cost;
        }
        self.core_free = self.noise.pass(self.core_free.later(now)) + cost;
        self.core_free
    }

    /// The program has posted a send.
    pub fn count_send(&mut self) {
        self.burst += 1;
    }

    /// Queues frames of a burst. Returns those that are to be sent now, if any.
    pub fn queue_frames(&mut self, now: Time, frames: Vec<(FlowId, u32)>, bytes: u64) -> Held {
        if self.held.frames.is_empty() {
            self.held.since = now;
        }
        self.held.frames.extend(frames);
        self.held_bytes += bytes;
        let goes_on = self.costs.burst.is_some_and(|at_once| self.burst > at_once);
        if goes_on && self.held_bytes < WORTH_A_CALL { Held::default() } else { self.take_held() }
    }

    /// Whether frames are held back.
    pub fn has_held_frames(&self) -> bool {
        !self.held.frames.is_empty()
    }

    /// All frames that were held back.
    fn take_held(&mut self) -> Held {
        self.held_bytes = 0;
        std::mem::take(&mut self.held)
    }

    /// The program makes progress, so the burst is over. Returns the frames that were held back.
    pub fn end_burst(&mut self) -> Held {
        self.burst = 0;
        self.take_held()
    }

    /// The number of the next synchronous send.
    pub fn next_synchronous(&mut self) -> u32 {
        self.synchronous = self.synchronous.wrapping_add(1);
        self.synchronous
    }

    /// A message was received that asks for an answer.
    pub fn is_asked(&mut self, message: Unanswered) {
        self.unanswered.push(message);
    }

    /// Messages that are to be answered now.
    pub fn take_unanswered(&mut self) -> Vec<Unanswered> {
        std::mem::take(&mut self.unanswered)
    }

    /// A new request.
    pub fn new_request(&mut self) -> Request {
        if let Some(name) = self.free.pop() {
            self.requests[name as usize] = State::Active;
            return Request(name);
        }
        self.requests.push(State::Active);
        Request(self.requests.len() as u32 - 1)
    }

    /// A request is complete.
    pub fn complete(&mut self, request: Request) {
        let state = &mut self.requests[request.0 as usize];
        let State::Awaited(wait) = *state else {
            *state = State::Done;
            return;
        };
        *state = State::Free;
        self.free.push(request.0);
        let left = &mut self.waits[wait.0 as usize];
        *left -= 1;
        self.is_woken |= *left == 0;
    }

    /// The program waits for requests; those that are complete already are freed.
    pub fn begin_wait(&mut self, requests: &[Request]) -> Wait {
        let wait = self.free_waits.pop().unwrap_or_else(|| {
            self.waits.push(0);
            Wait(self.waits.len() as u32 - 1)
        });
        for request in requests {
            let state = &mut self.requests[request.0 as usize];
            if *state == State::Done {
                *state = State::Free;
                self.free.push(request.0);
            } else if *state == State::Active {
                *state = State::Awaited(wait);
                self.waits[wait.0 as usize] += 1;
            }
        }
        wait
    }

    /// Whether all requests of a wait are complete; if so, the wait is over.
    pub fn end_wait(&mut self, wait: Wait) -> bool {
        let over = self.waits[wait.0 as usize] == 0;
        if over {
            self.free_waits.push(wait);
        }
        over
    }

    /// Whether a wait has ended since the last call.
    pub fn take_woken(&mut self) -> bool {
        std::mem::take(&mut self.is_woken)
    }
}

/// Parameters of a new subchannel.
#[derive(Clone, Copy, Debug)]
pub struct SubchannelSpec {
    /// Which rail.
    pub rail: u8,
    /// Bytes per second.
    pub speed: f64,
    /// Round trip without load.
    pub round_trip_ns: u64,
    /// Capacity of its send queue, in bytes.
    pub budget: u64,
    /// The peer's grant: bytes of unexpected messages that it takes.
    pub grant: u64,
}
