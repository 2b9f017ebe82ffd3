//! One process: its protocol engine, its core, its requests.

use fishplate_engine::{Config, Engine, Instant, Path, RailId, SubchannelId, VcId};

use super::costs::Costs;
use super::os_noise::OsNoise;
use crate::events::Random;
use crate::models::flow::FlowId;
use crate::models::time::Time;

/// What is held back of a burst is worth a system call when it has so many bytes, as in the driver.
const WORTH_A_CALL: u64 = 64 << 10;

/// A request of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request(pub u32);

/// Names a wait: several can be under way, as parts of a program may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Active,
    Awaited(Wait),
    Done,
}

/// What a process's sockets have for it.
#[derive(Clone, Copy, Debug)]
pub enum News {
    /// A frame, over this flow.
    Delivered(FlowId, u32),
    /// The beginning of one.
    Begun(FlowId, u32),
    /// Room for what is to be sent.
    Writable(FlowId),
}

/// A process.
pub struct Rank {
    /// Its protocol.
    pub engine: Engine,
    /// What its MPI library costs it.
    pub costs: Costs,
    /// When its core is free.
    pub core_free: Time,
    /// Its program can go on.
    pub is_ready: bool,
    /// Virtual channels by peer; made when first used.
    channels: Vec<Option<VcId>>,
    /// Ranks by virtual channel.
    peers: Vec<u32>,
    /// Flows by virtual channel and subchannel.
    flows: Vec<Vec<Out>>,
    requests: Vec<State>,
    free: Vec<u32>,
    /// Requests that each wait still waits for.
    waits: Vec<u32>,
    free_waits: Vec<Wait>,
    /// When the engine is to be asked again, if that is entered.
    pub timer: Option<Time>,
    /// Sends in a row.
    burst: u32,
    /// Frames that are held back, with their flows, in order.
    held: Vec<(FlowId, u32)>,
    /// Their bytes.
    held_bytes: u64,
    /// A wait has ended, and its program has not been told.
    is_woken: bool,
    /// When its driver looks at its connections.
    pub next_look: Time,
    /// Its program computes, and calls nothing until then.
    pub computes_until: Time,
    /// It computes, or has since it looked at the network last: nobody looks.
    pub is_away: bool,
    /// What it has not seen for that.
    pub news: Vec<News>,
    /// The thread that watches over it is to look.
    pub is_guarded: bool,
    /// What is done now that thread does, beside the program.
    pub is_by_thread: bool,
    noise: OsNoise,
}

/// What a subchannel sends over.
#[derive(Clone, Copy, Debug)]
pub struct Out {
    /// The flow.
    pub flow: FlowId,
    /// Bytes handed to it that have not left the adapter.
    pub queued: u64,
}

impl Rank {
    /// A process among `ranks`; `random`: when its core is taken from it.
    pub fn new(config: Config, costs: Costs, ranks: usize, random: Random) -> Self {
        Rank {
            engine: Engine::new(config),
            costs,
            core_free: Time::default(),
            is_ready: true,
            channels: vec![None; ranks],
            peers: Vec::new(),
            flows: Vec::new(),
            requests: Vec::new(),
            free: Vec::new(),
            waits: Vec::new(),
            free_waits: Vec::new(),
            timer: None,
            burst: 0,
            held: Vec::new(),
            held_bytes: 0,
            is_woken: false,
            next_look: Time::default(),
            computes_until: Time::default(),
            is_away: false,
            news: Vec::new(),
            is_guarded: false,
            is_by_thread: false,
            noise: OsNoise::new(random, costs.noise),
        }
    }

    /// The channel to a peer, if there is one yet.
    pub fn channel(&self, peer: u32) -> Option<VcId> {
        self.channels[peer as usize]
    }

    /// The policies towards the first peer, for people.
    pub fn explain(&self) -> String {
        if self.peers.is_empty() { String::new() } else { self.engine.explain(VcId(0)) }
    }

    /// Opens a channel to `peer`.
    pub fn open(&mut self, peer: u32, itself: bool) -> VcId {
        let vc = if itself { self.engine.open_loopback() } else { self.engine.open() };
        self.channels[peer as usize] = Some(vc);
        self.peers.push(peer);
        self.flows.push(Vec::new());
        vc
    }

    /// Adds a subchannel over `flow`.
    pub fn add_subchannel(&mut self, vc: VcId, flow: FlowId, way: Way) -> Option<SubchannelId> {
        let subchannel = self.engine.subchannel_up(vc, RailId(way.rail), Some(way.speed), way.grant).ok()?;
        let rtt_ns = way.round_trip_ns;
        let path = Path { rtt_ns, min_rtt_ns: rtt_ns, delivery_rate: None, window: u64::MAX, is_host_limited: false };
        self.engine.path_measured(Instant(0), subchannel, path);
        self.engine.writable(subchannel, way.budget);
        self.flows[vc.0 as usize].push(Out { flow, queued: 0 });
        Some(subchannel)
    }

    /// What a subchannel sends over.
    pub fn out(&mut self, subchannel: SubchannelId) -> &mut Out {
        &mut self.flows[subchannel.vc.0 as usize][usize::from(subchannel.index)]
    }

    /// All subchannels with their flows.
    pub fn subchannels(&self) -> Vec<(SubchannelId, FlowId)> {
        let channels = self.flows.iter().enumerate();
        let of = |(vc, outs): (usize, &Vec<Out>)| {
            let name = move |index: usize| SubchannelId { vc: VcId(vc as u32), index: index as u8 };
            outs.iter().enumerate().map(|(index, out)| (name(index), out.flow)).collect::<Vec<_>>()
        };
        channels.flat_map(of).collect()
    }

    /// Takes the core for `cost` from `now` on, or once it is free. Returns when that ends.
    pub fn work(&mut self, now: Time, cost: Time) -> Time {
        if self.is_by_thread {
            return now + cost;
        }
        self.core_free = self.noise.pass(self.core_free.later(now)) + cost;
        self.core_free
    }

    /// The program sends.
    pub fn posts(&mut self) {
        self.burst += 1;
    }

    /// Frames are handed over for sending. What goes out now, if anything.
    pub fn hand_over(&mut self, frames: Vec<(FlowId, u32)>, bytes: u64) -> Vec<(FlowId, u32)> {
        self.held.extend(frames);
        self.held_bytes += bytes;
        let goes_on = self.costs.burst.is_some_and(|at_once| self.burst > at_once);
        if goes_on && self.held_bytes < WORTH_A_CALL { Vec::new() } else { self.let_go() }
    }

    /// Whether anything is held back.
    pub fn holds_back(&self) -> bool {
        !self.held.is_empty()
    }

    /// All that was held back.
    fn let_go(&mut self) -> Vec<(FlowId, u32)> {
        self.held_bytes = 0;
        std::mem::take(&mut self.held)
    }

    /// The program looks at the network: a burst is over. What was held back goes out.
    pub fn looks(&mut self) -> Vec<(FlowId, u32)> {
        self.burst = 0;
        self.let_go()
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

    /// A request has ended.
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

    /// The program waits for requests; what has ended already is forgotten.
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

    /// Whether all that a wait waits for has ended; if so, the wait is over.
    pub fn end_wait(&mut self, wait: Wait) -> bool {
        let over = self.waits[wait.0 as usize] == 0;
        if over {
            self.free_waits.push(wait);
        }
        over
    }

    /// Whether a wait has ended since this was asked last.
    pub fn take_woken(&mut self) -> bool {
        std::mem::take(&mut self.is_woken)
    }
}

/// What the engine is told of a subchannel.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Which rail.
    pub rail: u8,
    /// Bytes per second.
    pub speed: f64,
    /// Without any load.
    pub round_trip_ns: u64,
    /// Bytes that may be handed to it before they have left.
    pub budget: u64,
    /// Bytes of unexpected messages that the peer takes.
    pub grant: u64,
}
