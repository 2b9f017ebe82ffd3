//! Engines, rails between them, and the virtual clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use fishplate_engine::{
    Config, Instant, MemoryAction, Operation, Path, Payload, Placement, RailId, Source, SubchannelId, Transmit,
};

use super::node::Node;
use super::oracle::Oracle;
use super::pipe::{Frame, Load, Pipe, Rail};
use super::rng::Rng;

/// More events than any test needs: engines that keep each other busy with nothing are found out.
const MAX_EVENTS: u64 = 3_000_000;

pub struct Setup {
    pub seed: u64,
    pub nodes: usize,
    pub rails: Vec<Rail>,
    pub config: Config,
    /// Bytes are not touched.
    pub phantom: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    Header(usize),
    Payload(usize),
    Drained(usize),
    Timer(usize),
    /// Some subchannels come up late.
    Join(usize, usize, usize),
    /// A node hears that it has lost a peer.
    Lost(usize, usize),
    /// The node at the start of a pipe hears that its connection has ended.
    Ended(usize),
    /// The same of one that was given back.
    Evicted(usize),
}

pub struct World {
    pub now: u64,
    pub rng: Rng,
    pub nodes: Vec<Node>,
    pub pipes: Vec<Pipe>,
    pub oracle: Oracle,
    /// Pairs of which either side has lost the other.
    pub parted: BTreeSet<(usize, usize)>,
    /// Connections that engines found to make no progress.
    pub cut_requests: u64,
    /// Hash of everything that has happened.
    pub trace: u64,
    pub setup: Setup,
    pipe_of: BTreeMap<(usize, SubchannelId), usize>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    serial: u64,
}

impl World {
    pub fn new(setup: Setup) -> World {
        let nodes = (0..setup.nodes).map(|me| Node::new(me, setup.nodes, &setup.config, setup.phantom)).collect();
        let mut world = World {
            now: 0,
            rng: Rng(setup.seed),
            nodes,
            pipes: Vec::new(),
            oracle: Oracle::default(),
            parted: BTreeSet::new(),
            cut_requests: 0,
            trace: 0xcbf2_9ce4_8422_2325,
            pipe_of: BTreeMap::new(),
            events: BinaryHeap::new(),
            serial: 0,
            setup,
        };
        for a in 0..world.nodes.len() {
            for b in a + 1..world.nodes.len() {
                world.connect(a, b);
            }
        }
        world
    }

    /// Each side may number the rails in its own order; moody rails may come up late.
    fn connect(&mut self, a: usize, b: usize) {
        let moody = self.setup.rails.iter().any(|rail| rail.moody);
        let mut rails: Vec<usize> = (0..self.setup.rails.len()).collect();
        if moody {
            self.rng.shuffle(&mut rails);
        }
        for rail in rails {
            if moody && self.rng.percent(30) {
                let at = self.rng.below(500_000);
                self.schedule(at, Event::Join(a, b, rail));
            } else {
                self.join(a, b, rail);
            }
        }
    }

    fn join(&mut self, a: usize, b: usize, rail: usize) {
        let ends = [(a, b), (b, a)].map(|(node, peer)| {
            let model = self.setup.rails[rail];
            let grant = self.nodes[peer].engine.first_grant(self.nodes[peer].vcs[node]);
            let node = &mut self.nodes[node];
            let speed = model.told.then_some(model.rate);
            node.engine.subchannel_up(node.vcs[peer], RailId(rail as u8), speed, grant)
        });
        let [Ok(at_a), Ok(at_b)] = ends else { return };
        for (node, subchannel) in [(a, at_a), (b, at_b)].into_iter().filter(|_| self.setup.rails[rail].told) {
            let rtt_ns = 2 * self.setup.rails[rail].delay_ns;
            let path = Path { rtt_ns, min_rtt_ns: rtt_ns, delivery_rate: None, window: u64::MAX };
            self.nodes[node].engine.path_measured(Instant(self.now), subchannel, path);
        }
        for (from, to) in [((a, at_a), (b, at_b)), ((b, at_b), (a, at_a))] {
            let pipe = self.pipes.len();
            self.pipes.push(Pipe::new(self.setup.rails[rail], rail, from, to));
            self.pipe_of.insert(from, pipe);
            self.drain_later(pipe);
        }
    }

    pub fn schedule(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.events.push(Reverse((at.max(self.now), self.serial, event)));
    }

    fn drain_later(&mut self, pipe: usize) {
        if !self.pipes[pipe].will_drain {
            self.pipes[pipe].will_drain = true;
            let at = self.pipes[pipe].drains_at(self.now, &mut self.rng);
            self.schedule(at, Event::Drained(pipe));
        }
    }

    pub fn note(&mut self, what: &[u64]) {
        for word in what {
            self.trace = (self.trace ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17);
        }
    }

    /// Until nothing happens any more, or `until`.
    pub fn run(&mut self, until: u64) {
        while let Some(Reverse((at, ..))) = self.events.peek() {
            if *at > until {
                self.now = until;
                return;
            }
            self.step();
        }
    }

    /// The next event; false if there is none.
    fn step(&mut self) -> bool {
        let Some(Reverse((at, _, event))) = self.events.pop() else { return false };
        assert!(self.serial < MAX_EVENTS, "seed {}: it never ends", self.setup.seed);
        self.now = at;
        self.happen(event);
        true
    }

    pub fn run_out(&mut self) {
        self.run(u64::MAX);
    }

    /// Until `enough`; it must come to that.
    pub fn run_until(&mut self, enough: impl Fn(&World) -> bool) {
        while !enough(self) {
            assert!(self.step(), "seed {}: it stands still", self.setup.seed);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Header(pipe) => self.header(pipe),
            Event::Payload(pipe) => self.payload(pipe),
            Event::Drained(pipe) => {
                self.pipes[pipe].will_drain = false;
                if !self.pipes[pipe].dead && !self.pipes[pipe].cut && !self.pipes[pipe].stalled {
                    let budget = self.pipes[pipe].budget(self.now, &mut self.rng);
                    let (node, subchannel) = self.pipes[pipe].from;
                    self.nodes[node].engine.writable(subchannel, budget);
                    self.pump(node);
                }
            }
            Event::Timer(node) => {
                if self.nodes[node].timer == Some(self.now) {
                    self.nodes[node].timer = None;
                    self.nodes[node].engine.handle_timeout(Instant(self.now));
                    self.pump(node);
                }
            }
            Event::Join(a, b, rail) => {
                self.join(a, b, rail);
                self.pump(a);
                self.pump(b);
            }
            Event::Ended(pipe) => self.ended(pipe),
            Event::Evicted(pipe) => self.evicted(pipe),
            Event::Lost(node, peer) => {
                let vc = self.nodes[node].vcs[peer];
                self.nodes[node].engine.lose(vc, "the test says so");
                self.pump(node);
            }
        }
    }

    fn header(&mut self, pipe: usize) {
        if self.pipes[pipe].dead || self.pipes[pipe].stalled {
            return;
        }
        let (node, subchannel) = self.pipes[pipe].to;
        let peer = self.pipes[pipe].from.0;
        let Some(frame) = self.pipes[pipe].frames.front_mut() else { return };
        let (header, payload_at) = (frame.header, frame.payload_at);
        let to = &mut self.nodes[node];
        let answer = to.engine.handle_header(Instant(self.now), subchannel, &header);
        let placement = answer.unwrap_or_else(|bad| panic!("seed {}: {bad}: {header:?}", self.setup.seed));
        frame.placement = Some(placement.clone());
        // As a driver does, before it makes room for a payload.
        while let Some(action) = self.nodes[node].engine.poll_memory() {
            self.act(node, action);
        }
        let to = &mut self.nodes[node];
        if let Placement::Bounce(id) = placement {
            to.memory.make_bounce_for(id, peer, u64::from(header.body.payload_len()));
            let grant = to.engine.grant(to.vcs[peer]);
            let asked = to.engine.requested(to.vcs[peer]);
            assert!(to.memory.held_for(peer) <= grant + asked, "more held than was granted and asked for");
            assert!(asked <= self.setup.config.max_grant.max(grant) / 2, "{asked} bytes asked for");
        }
        if header.body.payload_len() > 0 {
            self.schedule(payload_at, Event::Payload(pipe));
        } else {
            self.pipes[pipe].frames.pop_front();
            self.next_header(pipe);
        }
        self.pump(node);
    }

    fn payload(&mut self, pipe: usize) {
        if self.pipes[pipe].dead || self.pipes[pipe].stalled {
            return;
        }
        let Some(Frame { load, placement, .. }) = self.pipes[pipe].frames.pop_front() else { return };
        let (from, (node, subchannel)) = (self.pipes[pipe].from.0, self.pipes[pipe].to);
        let bytes = match load {
            Load::Late(source) => self.nodes[from].memory.gather(&source),
            Load::Copied(bytes) => bytes,
        };
        let to = &mut self.nodes[node];
        match placement.expect("a payload before its header") {
            Placement::User(payload) => to.memory.scatter(&payload, &bytes),
            Placement::Bounce(id) => to.memory.fill_bounce(id, bytes),
            Placement::Discard => {}
        }
        to.engine.payload_placed(Instant(self.now), subchannel);
        self.next_header(pipe);
        self.pump(node);
    }

    fn next_header(&mut self, pipe: usize) {
        if let Some(frame) = self.pipes[pipe].frames.front() {
            self.schedule(frame.header_at, Event::Header(pipe));
        }
    }

    /// What a driver does after every command and event.
    pub fn pump(&mut self, node: usize) {
        let now = Instant(self.now);
        while let Some(transmit) = self.nodes[node].engine.poll_transmit(now) {
            self.transmit(node, transmit);
        }
        while let Some(action) = self.nodes[node].engine.poll_memory() {
            self.act(node, action);
        }
        while let Some(completion) = self.nodes[node].engine.poll_completion() {
            self.note(&[node as u64, self.now, completion.context.0, completion.len, completion.data.unwrap_or(0)]);
            match completion.operation {
                Operation::Atomic | Operation::FetchAtomic => unreachable!("nobody asks for these"),
                Operation::RemoteWrite => self.oracle.told(node, &mut self.nodes[node], &completion),
                Operation::Read | Operation::Write => {
                    self.oracle.complete_access(&mut self.nodes, &self.parted, &completion);
                }
                _ => self.oracle.complete(node, &mut self.nodes[node], &self.parted, completion),
            }
        }
        while let Some(subchannel) = self.nodes[node].engine.poll_failed_subchannel() {
            let pipe = self.pipe_of[&(node, subchannel)];
            self.cut_requests += 1;
            self.cut(pipe);
            self.schedule(self.now, Event::Ended(pipe));
        }
        if let Some(Instant(at)) = self.nodes[node].engine.poll_timeout() {
            let at = at.max(self.now);
            if self.nodes[node].timer.is_none_or(|timer| timer > at) {
                self.nodes[node].timer = Some(at);
                self.schedule(at, Event::Timer(node));
            }
        }
    }

    /// The driver of `node` has nothing else to do.
    pub fn buffer_sends(&mut self, node: usize) {
        self.nodes[node].engine.buffer_sends(Instant(self.now), |_| false);
        self.pump(node);
    }

    fn act(&mut self, node: usize, action: MemoryAction) {
        match action {
            MemoryAction::Discard(subchannel) => {
                let pipe = self.pipes.iter_mut().rfind(|pipe| pipe.to == (node, subchannel));
                let pipe = pipe.expect("a subchannel without a pipe");
                let frame = pipe.frames.front_mut().filter(|frame| frame.placement.is_some());
                assert!(frame.is_some() || pipe.dead || pipe.cut, "a payload that is not under way");
                frame.into_iter().for_each(|frame| frame.placement = Some(Placement::Discard));
            }
            MemoryAction::Detach(memory) => self.detach(node, &memory),
            action => self.nodes[node].memory.act(action),
        }
    }

    /// Payload in `memory` that waits to be sent is copied.
    fn detach(&mut self, node: usize, memory: &Payload) {
        let ends = |payload: &Payload| {
            let regions = payload.extents().iter().map(|extent| extent.region);
            regions.clone().any(|region| memory.extents().iter().any(|ended| ended.region == region))
        };
        let pipes = self.pipes.iter_mut().filter(|pipe| pipe.from.0 == node);
        for frame in pipes.flat_map(|pipe| &mut pipe.frames) {
            if let Load::Late(source @ Source::User(payload)) = &frame.load
                && ends(payload)
            {
                frame.load = Load::Copied(self.nodes[node].memory.gather(source));
            }
        }
    }

    fn transmit(&mut self, node: usize, transmit: Transmit) {
        let Transmit { subchannel, header, source, copy } = transmit;
        assert_eq!(source.len(), u64::from(header.body.payload_len()));
        let pipe = self.pipe_of[&(node, subchannel)];
        if self.pipes[pipe].dead || self.pipes[pipe].cut {
            return;
        }
        let early = copy || matches!(source, Source::Bounce { .. });
        let load = if early { Load::Copied(self.nodes[node].memory.gather(&source)) } else { Load::Late(source) };
        self.pipes[pipe].push(self.now, &header, load, &mut self.rng);
        let Frame { header_at, payload_at, .. } = self.pipes[pipe].frames[self.pipes[pipe].frames.len() - 1];
        self.note(&[pipe as u64, self.now, header_at, payload_at, u64::from(header.ack), u64::from(header.credit)]);
        if self.pipes[pipe].frames.len() == 1 {
            self.schedule(header_at, Event::Header(pipe));
        }
        self.drain_later(pipe);
    }

    /// The connection between two nodes breaks; each hears of it in its own time.
    pub fn part(&mut self, a: usize, b: usize) {
        self.parted.extend([(a, b), (b, a)]);
        for pipe in &mut self.pipes {
            let ends = (pipe.from.0, pipe.to.0);
            if ends == (a, b) || ends == (b, a) {
                pipe.dead = true;
                pipe.frames.clear();
            }
        }
        for (node, peer) in [(a, b), (b, a)] {
            let at = self.now + self.rng.below(200_000);
            self.schedule(at, Event::Lost(node, peer));
        }
    }
}
