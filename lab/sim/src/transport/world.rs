//! Hosts, the connections between them, and what happens to them in virtual time.

use std::collections::BTreeSet;

use fishplate_engine::limits::MAX_ANNOUNCED;
use fishplate_engine::{Engine, Path, RailId, SubchannelId};

use super::connection::{Connection, ConnectionEnd};
use super::faults::Outage;
use super::flow::Flow;
use super::ids::{ConnectionId, HostId, LinkId};
use super::ledger::{Ledger, peer, vc};
use super::link_kind::LinkKind;
use super::memory::Memory;
use super::mix::Counting;
use super::mutation::Mutation;
use super::oracle::{self, Observation, Oracle, Scene, Violation};
use super::setup::Setup;
use super::stage::Stage;
use super::trace::{Note, Trace};
use crate::events::{Calendar, Duration, Random, Time};

/// Limit of the number of events: detects engines that keep each other busy without progress.
const MAX_EVENTS: u64 = 20_000_000;
/// A planted bug strikes at one in this number of opportunities.
const MUTATION_EVERY: u64 = 10;

/// A future event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A flow has data, or is writable.
    Flow(LinkId),
    /// The sender of a flow receives a kernel acknowledgement.
    Acknowledged(LinkId, u64),
    /// The timeout of an engine.
    Timer(HostId),
    /// A driver services retiring links.
    Tick(HostId),
    /// A user has computed, and calls the driver again.
    Back(HostId),
    /// A user gives a command.
    Command(HostId),
    /// An end of a connection learns that it is broken.
    Broken(LinkId),
    /// A fault begins: position in the setup.
    Fault(usize),
    /// A host sets up a stream, or retires one: position in the setup.
    Change(usize),
    /// A connection stalls again.
    Stall(ConnectionId, Duration),
    /// A connection is as it was.
    Heal(ConnectionId),
    /// One that has failed is set up again.
    Reconnect(ConnectionId),
    /// An endpoint is closed, or being closed is called again.
    Close(HostId),
    /// Two hosts begin to share memory: the one that has connected, and the other.
    Share(HostId, HostId),
    /// The former has proven that it does.
    Shared(ConnectionId),
}

pub(super) struct Host {
    pub engine: Engine,
    /// By peer, then by number of the subchannel.
    pub links: Vec<Vec<LinkId>>,
    /// Connections that are readable or writable.
    pub ready: BTreeSet<LinkId>,
    /// When the next timer event comes.
    pub timer: Option<Time>,
    /// A tick is to come.
    pub ticks: bool,
    /// A planted bug is about to forget a message.
    pub forgets: bool,
    /// The user computes until then.
    pub computes_until: Time,
    /// When it polled last: what it reads now may have arrived since.
    pub polled_at: Time,
    pub is_dead: bool,
    /// How far its user has closed it.
    pub closing: Stage,
    /// Time of the last reception.
    pub heard_at: Time,
    /// Peers that have shut their sides after a goodbye.
    pub parted: BTreeSet<HostId>,
    /// Peers that it has given up.
    pub lost: BTreeSet<HostId>,
    /// Most that each peer was ever granted, in bytes.
    pub granted: Vec<u64>,
    /// Commands that its user will still give.
    pub commands_left: u64,
}

pub(super) struct World {
    pub setup: Setup,
    pub queue: Calendar<Time, Event>,
    /// The users' commands.
    pub random: Random,
    /// Draws faults and delays.
    pub chance: Random,
    /// Likewise for shared memory.
    pub sharing: Random,
    pub counting: Counting,
    pub hosts: Vec<Host>,
    pub memories: Vec<Memory>,
    pub connections: Vec<Connection>,
    /// Paths that are down, and until when.
    pub outages: Vec<(Outage, Time)>,
    pub ledger: Ledger,
    pub trace: Trace,
    /// Commands so far.
    pub operations: u64,
    /// Ends of connections that were retired and shut down in order.
    pub retired: u64,
    /// Ends of connections that were given back.
    pub evicted: u64,
    /// Connections that engines gave up, as they made no progress.
    pub given_up: u64,
    /// Number of messages on the short path through shared memory.
    pub short: u64,
    /// Receives so far, where completions are only counted.
    pub observed: Option<u64>,
    pub violation: Option<Violation>,
    oracles: Vec<Oracle>,
}

impl World {
    /// All hosts, connected, with everything that will go wrong planned.
    pub fn new(setup: Setup, logged: bool) -> World {
        let mut queue = Calendar::default();
        let each = setup.mix.commands / setup.hosts as u64;
        let hosts: Vec<Host> = (0..setup.hosts).map(|me| Host::new(HostId(me), &setup, each)).collect();
        for (at, (time, _)) in setup.faults.iter().enumerate() {
            queue.enter(*time, Event::Fault(at));
        }
        for (at, (time, _)) in setup.changes.iter().enumerate() {
            queue.enter(*time, Event::Change(at));
        }
        (0..setup.hosts).for_each(|host| queue.enter(Time::START, Event::Command(HostId(host))));
        let mut ledger = Ledger::new(setup.config.max_announced >= MAX_ANNOUNCED);
        if let Some(hostile) = setup.hostile {
            ledger.hostile_hosts.insert(hostile);
            ledger.hostile = Some(hostile);
            (0..setup.hosts).for_each(|host| ledger.allow_peer_loss(hostile, HostId(host)));
        }
        let mut world = World {
            queue,
            random: Random::stream(setup.seed, "users"),
            chance: Random::stream(setup.seed, "chance"),
            sharing: Random::stream(setup.seed, "sharing"),
            counting: Counting::new(setup.seed, setup.mix.accesses > 0),
            memories: hosts.iter().map(|_| Memory::new(setup.contents)).collect(),
            hosts,
            connections: Vec::new(),
            outages: Vec::new(),
            ledger,
            trace: Trace::new(logged),
            operations: 0,
            retired: 0,
            evicted: 0,
            given_up: 0,
            short: 0,
            observed: None,
            violation: None,
            oracles: oracle::all(),
            setup,
        };
        world.make_counters();
        world.connect_all();
        world
    }

    /// Connects all pairs of hosts, over the rails in random order.
    fn connect_all(&mut self) {
        for a in 0..self.hosts.len() {
            for b in a + 1..self.hosts.len() {
                let mut rails: Vec<usize> = (0..self.setup.rails.len()).collect();
                self.chance.shuffle(&mut rails);
                for rail in rails {
                    (0..self.setup.streams).for_each(|_| self.connect(HostId(a), HostId(b), rail, false));
                }
            }
        }
    }

    /// A connection between two hosts comes up, which `a` has set up.
    pub fn connect(&mut self, a: HostId, b: HostId, rail: usize, is_additional: bool) {
        let id = ConnectionId(self.connections.len());
        let Some(at_a) = self.subchannel_up(a, b, rail) else { return };
        let Some(at_b) = self.subchannel_up(b, a, rail) else { return };
        let seed = self.chance.any();
        let (link, socket) = (&self.setup.rails[rail].link, self.setup.socket);
        let flow = |seed| Box::new(Flow::new(link.clone(), socket, seed)) as Box<dyn LinkKind>;
        let flows = [flow(seed), flow(!seed)];
        self.connections.push(Connection::new([(a, at_a), (b, at_b)], (rail, is_additional), flows));
        self.trace.note(self.queue.now(), &Note::Up(id, a, b, rail));
        id.ends().into_iter().for_each(|link| self.link_up(link));
        if !is_additional {
            self.offer_memory(a, b);
        }
    }

    /// An end of a connection comes up.
    pub fn link_up(&mut self, link: LinkId) {
        let (host, subchannel) = self.at(link);
        let links = &mut self.hosts[host.0].links[peer(subchannel.vc).0];
        // Numbers of subchannels that are down are used again.
        match links.get_mut(usize::from(subchannel.index)) {
            Some(other) => *other = link,
            None => links.push(link),
        }
        self.hosts[host.0].ready.insert(link);
    }

    fn subchannel_up(&mut self, host: HostId, peer: HostId, rail: usize) -> Option<SubchannelId> {
        let Setup { rails, mutation, .. } = &self.setup;
        let speed = rails[rail].link.rate.filter(|_| rails[rail].rate_known).map(|rate| rate.bits_per_s() as f64 / 8.0);
        let grant = self.hosts[peer.0].engine.first_grant(vc(host));
        let grant = if *mutation == Some(Mutation::GrantDoubled) { 2 * grant } else { grant };
        let rtt_ns = 2 * rails[rail].link.delay_ns;
        let engine = &mut self.hosts[host.0].engine;
        let subchannel = engine.subchannel_up(vc(peer), RailId(rail as u8), speed, grant).ok()?;
        // As a driver learns it from setting up the connection.
        let path = Path { rtt_ns, min_rtt_ns: rtt_ns, delivery_rate: None, window: u64::MAX };
        engine.path_measured(self.queue.now().into(), subchannel, path);
        Some(subchannel)
    }

    /// The next event that is not later than `until`; false if there is none, or something was wrong.
    pub fn step(&mut self, until: Time) -> bool {
        if self.violation.is_some() {
            return false;
        }
        if self.queue.entered() > MAX_EVENTS {
            self.observe(Observation::Endless);
            return false;
        }
        let Some(event) = self.queue.advance_until(until) else { return false };
        match event {
            Event::Flow(flow) => self.flow_event(flow),
            Event::Acknowledged(flow, bytes) => {
                self.flow_mut(flow).acknowledged(bytes);
                self.unblock(flow);
            }
            Event::Timer(host) => {
                if self.hosts[host.0].timer == Some(self.queue.now()) {
                    self.hosts[host.0].timer = None;
                    self.progress(host);
                }
            }
            Event::Tick(host) => self.tick(host),
            Event::Back(host) => self.progress(host),
            Event::Command(host) => self.command_event(host),
            Event::Broken(link) => self.connection_broken(link),
            Event::Fault(at) => self.fault(self.setup.faults[at].1),
            Event::Change(at) => self.change_streams(at),
            Event::Stall(connection, lasts) => connection.ends().into_iter().for_each(|link| self.stall(link, lasts)),
            Event::Heal(connection) => self.heal(connection),
            Event::Reconnect(connection) => self.reconnect(connection),
            Event::Close(host) => self.close_event(host),
            Event::Share(a, b) => self.share_memory(a, b),
            Event::Shared(connection) => self.memory_shared(connection),
        }
        true
    }

    fn command_event(&mut self, host: HostId) {
        let Host { is_dead, commands_left, .. } = self.hosts[host.0];
        if is_dead || commands_left == 0 || self.is_put_off(host, Event::Command(host)) {
            return;
        }
        self.hosts[host.0].commands_left -= 1;
        self.command(host);
        let pause = self.random.up_to(self.setup.mix.pause);
        let pause = if self.random.percent(40) { Duration::ZERO } else { pause };
        self.queue.after(pause, Event::Command(host));
    }

    fn flow_event(&mut self, id: LinkId) {
        let now = self.queue.now();
        let connection = &mut self.connections[id.connection.0];
        if connection.scheduled[id.end.0].is_some_and(|at| at <= now) {
            connection.scheduled[id.end.0] = None;
        }
        let flow = self.flow_mut(id);
        flow.arrive(now);
        let is_paced = flow.is_paced();
        if let Some((bytes, after)) = flow.take_acknowledgement() {
            self.acknowledged_by_kernel(id);
            if is_paced {
                self.queue.after(after, Event::Acknowledged(id, bytes));
            }
        }
        if self.flow(id).has_unread() {
            self.mark_ready(id.other());
        }
        self.unblock(id);
        self.schedule(id);
    }

    /// The kernel of a sender receives an acknowledgement.
    fn acknowledged_by_kernel(&mut self, flow: LinkId) {
        let now = self.queue.now();
        let (host, subchannel) = self.at(flow);
        if !self.end(flow).is_closed {
            self.hosts[host.0].engine.made_progress(now.into(), subchannel);
        }
    }

    /// The sender of a flow tries again, if it waits for room.
    pub fn unblock(&mut self, id: LinkId) {
        if self.flow(id).wants_sender() {
            self.mark_ready(id);
        }
    }

    /// An end of a connection is readable or writable.
    fn mark_ready(&mut self, link: LinkId) {
        let host = self.end(link).host;
        if !self.end(link).is_closed {
            self.hosts[host.0].ready.insert(link);
            self.progress(host);
        }
    }

    /// Schedules the next event of a flow.
    pub fn schedule(&mut self, id: LinkId) {
        let now = self.queue.now();
        let Some(at) = self.flow(id).next_event(now) else { return };
        let scheduled = &mut self.connections[id.connection.0].scheduled[id.end.0];
        if scheduled.is_none_or(|before| before > at) {
            *scheduled = Some(at);
            self.queue.enter(at, Event::Flow(id));
        }
    }

    /// Whether the user of a host computes. Then the event happens when it has.
    pub fn is_put_off(&mut self, host: HostId, event: Event) -> bool {
        let computes_until = self.hosts[host.0].computes_until;
        let is_put_off = computes_until > self.queue.now();
        if is_put_off {
            self.queue.enter(computes_until, event);
        }
        is_put_off
    }

    /// All links of a host.
    pub fn links_of(&self, host: HostId) -> Vec<LinkId> {
        self.hosts[host.0].links.iter().flatten().copied().collect()
    }

    pub fn end(&self, link: LinkId) -> &ConnectionEnd {
        &self.connections[link.connection.0].ends[link.end.0]
    }

    pub fn end_mut(&mut self, link: LinkId) -> &mut ConnectionEnd {
        &mut self.connections[link.connection.0].ends[link.end.0]
    }

    /// The host that an end is of, and its subchannel.
    pub fn at(&self, link: LinkId) -> (HostId, SubchannelId) {
        let ConnectionEnd { host, subchannel, .. } = *self.end(link);
        (host, subchannel)
    }

    /// Whether a link is a stream that its host has not closed.
    pub fn is_open_stream(&self, link: LinkId) -> bool {
        !self.flow(link).is_in_memory() && !self.end(link).is_closed
    }

    /// What a link sends.
    pub fn flow(&self, id: LinkId) -> &dyn LinkKind {
        &*self.connections[id.connection.0].flows[id.end.0]
    }

    pub fn flow_mut(&mut self, id: LinkId) -> &mut dyn LinkKind {
        &mut *self.connections[id.connection.0].flows[id.end.0]
    }

    /// Whether the planted bug is to show now.
    pub fn applies_mutation(&mut self, mutation: Mutation) -> bool {
        self.setup.mutation == Some(mutation) && self.chance.below(MUTATION_EVERY) == 0
    }

    /// Passes an observation to all oracles.
    pub fn observe(&mut self, observation: Observation<'_>) {
        if self.violation.is_some() {
            return;
        }
        let quiet: Vec<bool> = match observation {
            Observation::Finished => self.hosts.iter().map(|host| host.engine.is_quiet()).collect(),
            _ => Vec::new(),
        };
        let scene = Scene { ledger: &self.ledger, memories: &self.memories, quiet: &quiet };
        for oracle in &mut self.oracles {
            if let Err(what) = (oracle.observe)(observation, scene) {
                self.violation = Some(Violation { oracle: oracle.name, what });
                return;
            }
        }
    }

    /// Reports a violation that the simulation itself has found.
    pub fn report(&mut self, oracle: &'static str, what: String) {
        self.violation.get_or_insert(Violation { oracle, what });
    }

    /// The host at the other side of an end.
    pub fn across(&self, link: LinkId) -> HostId {
        peer(self.end(link).subchannel.vc)
    }
}

impl Host {
    fn new(me: HostId, setup: &Setup, commands: u64) -> Host {
        let mut engine = Engine::new(setup.config.clone());
        for peer in 0..setup.hosts {
            let vc = if peer == me.0 { engine.open_loopback() } else { engine.open() };
            if me.0 < peer {
                engine.lead(vc);
            }
        }
        Host {
            engine,
            links: vec![Vec::new(); setup.hosts],
            ready: BTreeSet::new(),
            timer: None,
            ticks: false,
            forgets: false,
            computes_until: Time::START,
            polled_at: Time::START,
            is_dead: false,
            closing: Stage::Open,
            heard_at: Time::START,
            parted: BTreeSet::new(),
            lost: BTreeSet::new(),
            granted: vec![0; setup.hosts],
            commands_left: commands,
        }
    }
}
