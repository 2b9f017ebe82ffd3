//! All nodes, the network, the time, and what happens in it.

mod check;
mod operations;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fishplate_engine::Instant;

use super::agenda::{Agenda, Item};
use super::arena::Arena;
use super::node::{Announcement, Node, STREAM_BUDGET, place};
use super::setup::Setup;
use crate::simulated::{Network, SharedNetwork};
use operations::{AccessState, Held};

/// How long a description and a frame take over a stream, in nanoseconds: that is slow, so that it carries little.
const STREAM_NS: (u64, u64) = (200_000, 1_000_000);
/// Steps after which a run does not end any more.
const MAX_STEPS: u64 = 500_000;

/// A run.
pub struct World {
    pub setup: Setup,
    pub nodes: Vec<Node>,
    pub network: SharedNetwork,
    pub arena: Rc<RefCell<Arena>>,
    /// Operations that have not ended, by number.
    pub sends: BTreeMap<u64, Held>,
    pub receives: BTreeMap<u64, Held>,
    pub locals: BTreeMap<u64, Held>,
    pub accesses: BTreeMap<u64, AccessState>,
    /// Lengths of messages.
    pub lengths: BTreeMap<u64, u64>,
    pub injected: BTreeSet<u64>,
    parted: BTreeSet<(usize, usize)>,
    agenda: Agenda,
    /// Hash of everything that has happened.
    pub trace: u64,
}

impl World {
    pub fn new(setup: Setup) -> World {
        let arena: Rc<RefCell<Arena>> = Rc::default();
        let watched = arena.clone();
        let watch = move |access, address, len| watched.borrow().touched(access, address, len);
        let network = Rc::new(RefCell::new(Network::new(setup.seed, setup.mood, watch)));
        let new = |me| Node::new(me, setup.nodes, &setup.config, (&network, setup.rails));
        let nodes: Vec<Node> = (0..setup.nodes).map(new).collect();
        let mut agenda = Agenda::default();
        setup.commands.iter().for_each(|(at, command)| agenda.add(*at, Item::Command(*command)));
        let mut world = World {
            setup,
            nodes,
            network,
            arena,
            sends: BTreeMap::new(),
            receives: BTreeMap::new(),
            locals: BTreeMap::new(),
            accesses: BTreeMap::new(),
            lengths: BTreeMap::new(),
            injected: BTreeSet::new(),
            parted: BTreeSet::new(),
            agenda,
            trace: 0xcbf2_9ce4_8422_2325,
        };
        for (a, b) in world.pairs() {
            let grant = world.nodes[b].engine.first_grant(world.nodes[b].vcs[a]);
            world.nodes[a].stream_up(b, grant);
        }
        world
    }

    pub fn now(&self) -> Instant {
        Instant(self.network.borrow().now_ns)
    }

    pub fn note(&mut self, what: &[u64]) {
        for word in what {
            self.trace = (self.trace ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17);
        }
    }

    pub fn have_parted(&self, a: usize, b: usize) -> bool {
        self.parted.contains(&(a.min(b), a.max(b)))
    }

    /// Until everything has been done and has ended; and then until all rails carry, as nothing fails any more.
    pub fn run(&mut self) {
        self.run_until(World::is_done);
        self.network.borrow_mut().calm();
        self.run_until(|world| world.is_done() && world.nodes.iter().all(Node::are_rails_up));
    }

    fn run_until(&mut self, is_enough: impl Fn(&World) -> bool) {
        for step in 0.. {
            assert!(step < MAX_STEPS, "seed {}: it never ends: {}", self.setup.seed, self.state());
            self.settle();
            let happens = self.network.borrow().next_at().into_iter().chain(self.agenda.next_at()).min();
            if happens.is_none() && is_enough(self) {
                return;
            }
            let timers = self.nodes.iter().filter_map(Node::next_at);
            let Some(next) = timers.chain(happens).min() else { panic!("nothing happens any more: {}", self.state()) };
            let next = next.max(self.network.borrow().now_ns);
            self.network.borrow_mut().advance(next);
            while let Some(item) = self.agenda.pop(next) {
                self.happen(item);
            }
        }
    }

    /// Whether all operations have ended, at both sides.
    fn is_done(&self) -> bool {
        let are_quiet = self.nodes.iter().all(|node| node.engine.is_quiet());
        are_quiet && self.sends.is_empty() && self.receives.is_empty() && self.locals.is_empty()
    }

    pub fn state(&self) -> String {
        let ids = |held: &BTreeMap<u64, Held>| held.keys().copied().collect::<Vec<_>>();
        let (sends, receives, locals) = (ids(&self.sends), ids(&self.receives), ids(&self.locals));
        let at = self.network.borrow().now_ns;
        format!("after {at} ns there are sends {sends:?}, receives {receives:?}, accesses {locals:?}")
    }

    /// Every node does what it can now.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            for at in 0..self.nodes.len() {
                self.network.borrow_mut().looks = 0;
                let now = self.now();
                moved |= self.nodes[at].turn(now);
                self.collect(at);
            }
            if !moved {
                return;
            }
        }
    }

    /// Takes what a node has to say.
    fn collect(&mut self, at: usize) {
        let completions = std::mem::take(&mut self.nodes[at].completions);
        completions.iter().for_each(|completion| self.completed(at, completion));
        let node = &mut self.nodes[at];
        let (announcements, frames) = (std::mem::take(&mut node.announcements), std::mem::take(&mut node.frames));
        for Announcement { to, own } in announcements {
            let to = self.peer(at, to);
            self.carry((at, to), Item::Description { from: at, to, theirs: own });
        }
        for (vc, header, payload) in frames {
            let to = self.peer(at, vc);
            self.carry((at, to), Item::Frame { from: at, to, header, payload });
        }
    }

    fn carry(&mut self, way: (usize, usize), item: Item) {
        let now = self.network.borrow().now_ns;
        let takes = if matches!(item, Item::Frame { .. }) { STREAM_NS.1 } else { STREAM_NS.0 };
        self.agenda.carry(way, now + takes, item);
    }

    fn happen(&mut self, item: Item) {
        let now = self.now();
        match item {
            Item::Command(command) => self.command(command),
            Item::Description { from, to, theirs } => self.nodes[to].described(now, from, &theirs),
            Item::Frame { from, to, header, payload } => {
                if !self.have_parted(from, to) {
                    self.nodes[to].frame_received(now, from, &header, &payload);
                    // It has gone, and there is room for more.
                    if let Some(stream) = self.nodes[from].streams[to] {
                        self.nodes[from].engine.writable(stream, STREAM_BUDGET);
                    }
                }
            }
        }
    }

    pub fn cut(&mut self, rail: usize, a: usize, b: usize, is_cut: bool) {
        self.network.borrow_mut().set_blocked(place(a, rail), place(b, rail), is_cut);
    }

    pub fn vanish(&mut self, rail: usize, node: usize, is_gone: bool) {
        self.nodes[node].rails[rail].is_gone = is_gone;
        if is_gone {
            self.network.borrow_mut().vanish(place(node, rail));
        }
    }

    pub fn part(&mut self, a: usize, b: usize) {
        self.parted.insert((a.min(b), a.max(b)));
        let now = self.now();
        for (node, peer) in [(a, b), (b, a)] {
            self.nodes[node].lose(now, peer);
            self.nodes[node].pump(now);
            self.collect(node);
        }
    }

    /// All pairs of different nodes, in both orders.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let all = 0..self.nodes.len();
        all.clone().flat_map(|a| all.clone().map(move |b| (a, b))).filter(|(a, b)| a != b).collect()
    }

    fn peer(&self, at: usize, vc: fishplate_engine::VcId) -> usize {
        self.nodes[at].vcs.iter().position(|known| *known == vc).expect("a channel of this node")
    }
}
