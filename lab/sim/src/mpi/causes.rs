//! Causes of the events of a run, as [`Chain`]s: the latest one of each program, core, frame and flow.
//!
//! A program's chain goes on as it computes and calls; where it waits, it is replaced by the chain of what it waited for: the
//! frame that has completed its request, which has that of the program that sent it. A frame that finds the receiver's core
//! at work, or its program away from MPI, waits for these, so it goes on with their chain.

use super::chain::{Chain, Part};
use crate::models::flow::FlowId;
use crate::models::time::Time;

/// Chains of a run.
#[derive(Default)]
pub struct Causes {
    ranks: Vec<OfRank>,
    frames: Vec<OfFrame>,
    flows: Vec<OfFlow>,
}

#[derive(Clone, Default)]
struct OfRank {
    /// Chain of the program's last activity.
    program: Chain,
    /// Chain of the program when it began to compute.
    before_computing: Chain,
    /// Chain of the core's last activity, which may not have ended.
    core: Chain,
    /// Why the driver runs.
    running: Chain,
}

#[derive(Clone, Default)]
struct OfFrame {
    /// Handed to the adapter or socket.
    sent: Chain,
    /// Its header has arrived, or was read.
    header: Chain,
    /// All of it has arrived, or was read.
    arrived: Chain,
}

#[derive(Clone, Default)]
struct OfFlow {
    /// The last frame that was handed to it.
    posted: Chain,
    /// The last one that has arrived.
    delivered: Chain,
    /// The socket has room again.
    room: Chain,
}

impl OfRank {
    /// The driver hears of something now. What happened before has waited until the program called MPI.
    fn hear(&mut self, chain: &Chain, now: Time) {
        self.running = if chain.at() < now { self.program.to(Part::Software, now) } else { chain.clone() };
    }
}

impl Causes {
    /// Causes at the start of a run of `ranks` ranks.
    pub fn new(ranks: u32) -> Causes {
        let one = |rank| {
            let chain = Chain::of_rank(rank);
            OfRank { program: chain.clone(), before_computing: chain.clone(), core: chain.clone(), running: chain }
        };
        Causes { ranks: (0..ranks).map(one).collect(), ..Causes::default() }
    }

    fn rank(&mut self, rank: u32) -> &mut OfRank {
        &mut self.ranks[rank as usize]
    }

    fn frame(&mut self, frame: u32) -> &mut OfFrame {
        let at = frame as usize;
        if self.frames.len() <= at {
            self.frames.resize(at + 1, OfFrame::default());
        }
        &mut self.frames[at]
    }

    fn flow(&mut self, flow: FlowId) -> &mut OfFlow {
        let at = flow.0 as usize;
        if self.flows.len() <= at {
            self.flows.resize(at + 1, OfFlow::default());
        }
        &mut self.flows[at]
    }

    /// Why the program of a rank does now what it does; `free`: when its core is.
    pub fn of_program(&self, rank: u32, now: Time, free: Time) -> Chain {
        let rank = &self.ranks[rank as usize];
        if free > now { rank.core.to(Part::Software, free) } else { rank.program.to(Part::Software, now) }
    }

    /// The program spends its core's time until `end`; `free`: when the core was free before.
    pub fn spend(&mut self, rank: u32, part: Part, (now, free, end): (Time, Time, Time)) {
        let mut chain = self.of_program(rank, now, free);
        chain.go_on(part, end);
        let rank = self.rank(rank);
        rank.core = chain.clone();
        rank.program = chain;
    }

    /// The program waited for something until now.
    pub fn waited(&mut self, rank: u32, part: Part, now: Time) {
        self.rank(rank).program.go_on(part, now);
    }

    /// The program calls its driver.
    pub fn call(&mut self, rank: u32, now: Time) {
        let rank = self.rank(rank);
        rank.program.go_on(Part::Software, now);
        rank.running = rank.program.clone();
    }

    /// The program will compute.
    pub fn begin_compute(&mut self, rank: u32, now: Time) {
        let rank = self.rank(rank);
        rank.before_computing = rank.program.to(Part::Software, now);
    }

    /// The progress thread runs, beside the program.
    pub fn run_thread(&mut self, rank: u32, now: Time) {
        let rank = self.rank(rank);
        rank.running = rank.before_computing.to(Part::Computation, now);
    }

    /// A timer of the driver has run out.
    pub fn timed_out(&mut self, rank: u32, now: Time) {
        self.rank(rank).running.go_on(Part::Latency, now);
    }

    /// The driver takes time until `end`, of the core if `on_core`, which was free at `free`.
    pub fn work(&mut self, rank: u32, (now, free, end): (Time, Time, Time), on_core: bool) {
        let rank = self.rank(rank);
        if on_core && free > now {
            rank.running = rank.core.clone();
        }
        rank.running.go_on(Part::Software, end);
        if on_core {
            rank.core = rank.running.clone();
        }
    }

    /// Requests that the program waits for are complete.
    pub fn complete(&mut self, rank: u32, now: Time, free: Time) {
        let rank = self.rank(rank);
        rank.program =
            if free > now { rank.core.to(Part::Software, free) } else { rank.running.to(Part::Software, now) };
        if rank.core.at() < rank.program.at() {
            rank.core = rank.program.clone();
        }
    }

    /// The driver makes a frame that leaves it at `at`.
    pub fn make(&mut self, rank: u32, frame: u32, at: Time) {
        let chain = self.ranks[rank as usize].running.to(Part::Software, at);
        self.frame(frame).sent = chain;
    }

    /// A buffered frame leaves the driver later, at `at`.
    pub fn send(&mut self, rank: u32, frame: u32, at: Time) {
        if self.frame(frame).sent.at() < at {
            self.make(rank, frame, at);
        }
    }

    /// A frame is handed to the adapter or socket.
    pub fn post(&mut self, flow: FlowId, frame: u32, now: Time) {
        let sent = &mut self.frame(frame).sent;
        sent.go_on(Part::Software, now);
        self.flow(flow).posted = sent.clone();
    }

    /// A frame, or its header, has arrived at a rank.
    pub fn arrived(&mut self, (flow, frame, is_header): (FlowId, u32, bool), to: u32, (latency, now): (Time, Time)) {
        let frame = self.frame(frame);
        let chain = frame.sent.over_network(to, latency, now);
        if is_header {
            frame.header = chain;
        } else {
            frame.arrived = chain.clone();
            self.flow(flow).delivered = chain;
        }
    }

    /// The driver hears of a frame, or of its header.
    pub fn hear(&mut self, rank: u32, frame: u32, is_header: bool, now: Time) {
        let frame = self.frame(frame);
        let chain = if is_header { frame.header.clone() } else { frame.arrived.clone() };
        self.rank(rank).hear(&chain, now);
    }

    /// It will have read that at `at`.
    pub fn read(&mut self, rank: u32, frame: u32, is_header: bool, at: Time) {
        let chain = self.ranks[rank as usize].running.to(Part::Software, at);
        let frame = self.frame(frame);
        let place = if is_header { &mut frame.header } else { &mut frame.arrived };
        *place = chain;
    }

    /// The driver handles a frame, or its header.
    pub fn handle(&mut self, rank: u32, frame: u32, is_header: bool, now: Time) {
        let frame = self.frame(frame);
        let chain = if is_header { &frame.header } else { &frame.arrived }.to(Part::Software, now);
        self.rank(rank).running = chain;
    }

    /// A rank hears by an acknowledgement that went past the network.
    pub fn handle_acknowledgement(&mut self, rank: u32, frame: u32, now: Time) {
        let chain = self.frame(frame).sent.to(Part::Latency, now);
        self.rank(rank).running = chain;
    }

    /// The receiver's adapter has acknowledged what it has got.
    pub fn acknowledged(&mut self, rank: u32, flow: FlowId, now: Time) {
        let chain = self.flow(flow).delivered.to(Part::Latency, now);
        self.rank(rank).running = chain;
    }

    /// A socket has room again: the link has carried what was before.
    pub fn has_room(&mut self, flow: FlowId, now: Time) {
        let flow = self.flow(flow);
        flow.room = flow.posted.to(Part::Bandwidth, now);
    }

    /// The driver hears of that.
    pub fn hear_room(&mut self, rank: u32, flow: FlowId, now: Time) {
        let chain = self.flow(flow).room.clone();
        self.rank(rank).hear(&chain, now);
    }

    /// It will write to the socket at `at`.
    pub fn write(&mut self, rank: u32, flow: FlowId, at: Time) {
        let chain = self.ranks[rank as usize].running.to(Part::Software, at);
        self.flow(flow).posted = chain;
    }

    /// The kernel has all that the driver had for it; or, as `part` says, the adapter has sent what it had.
    pub fn taken(&mut self, rank: u32, flow: FlowId, part: Part, now: Time) {
        let chain = self.flow(flow).posted.to(part, now);
        self.rank(rank).running = chain;
    }
}
