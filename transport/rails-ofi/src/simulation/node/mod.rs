//! A node: an engine, and what drives it as an endpoint does.

mod rails;

pub use rails::{Announcement, place};

use std::collections::BTreeMap;

use fishplate_engine::wire::Header;
use fishplate_engine::{
    Completion, Config, Engine, Instant, MemoryAction, Payload, Placement, RailId, Source, SubchannelId, Transmit, VcId,
};
use fishplate_link_core::{BounceBuffers, Destination, Places, UserMemory};

use crate::simulated::SharedNetwork;
use rails::SimulatedRail;

/// Bytes that a link takes at a time.
pub const BUDGET: u64 = 256 << 10;
/// Bytes that the stream takes at a time, which is slow.
pub const STREAM_BUDGET: u64 = 8 << 10;

/// Which link a subchannel is.
#[derive(Clone, Copy)]
pub enum Over {
    /// The stream to a peer, over which links are set up. It never fails.
    Stream,
    /// A link of a rail, by the rail's name for it.
    Rail { rail: usize, end: usize },
}

pub struct Node {
    pub engine: Engine,
    /// The channel to each node; to itself, one that is not used.
    pub vcs: Vec<VcId>,
    pub rails: Vec<SimulatedRail>,
    pub(super) links: BTreeMap<(u32, u8), Over>,
    /// The stream to each node.
    pub streams: Vec<Option<SubchannelId>>,
    /// Peers that are lost.
    pub lost: Vec<VcId>,
    /// Bytes to send over streams, with their receivers.
    pub frames: Vec<(VcId, Header, Vec<u8>)>,
    pub announcements: Vec<Announcement>,
    pub completions: Vec<Completion>,
    pub(super) memory: UserMemory,
    pub bounces: BounceBuffers,
}

impl Node {
    /// Node `me` of several, with a rail to each of `rails` places.
    pub fn new(me: usize, nodes: usize, config: &Config, (network, rails): (&SharedNetwork, usize)) -> Node {
        let mut engine = Engine::new(config.clone());
        let vcs = (0..nodes).map(|peer| if peer == me { engine.open_loopback() } else { engine.open() }).collect();
        Node {
            engine,
            vcs,
            rails: (0..rails).map(|rail| SimulatedRail::new(network, me, rail)).collect(),
            links: BTreeMap::new(),
            streams: vec![None; nodes],
            lost: Vec::new(),
            frames: Vec::new(),
            announcements: Vec::new(),
            completions: Vec::new(),
            memory: UserMemory::of_test(),
            bounces: BounceBuffers::default(),
        }
    }

    /// The stream to a peer is up, with the peer's grant.
    pub fn stream_up(&mut self, peer: usize, grant: u64) {
        let subchannel = self.engine.subchannel_up(self.vcs[peer], RailId(0), None, grant).unwrap();
        self.streams[peer] = Some(subchannel);
        self.links.insert((subchannel.vc.0, subchannel.index), Over::Stream);
        self.engine.writable(subchannel, STREAM_BUDGET);
        for rail in 0..self.rails.len() {
            self.offer(rail, self.vcs[peer]);
        }
    }

    /// When it wants to be called at the latest.
    pub fn next_at(&self) -> Option<u64> {
        let timeout = self.engine.poll_timeout().map(|due| due.0);
        self.rails.iter().filter_map(SimulatedRail::next_at).chain(timeout).min()
    }

    /// Progress in a call of an endpoint. True if there was any.
    pub fn turn(&mut self, now: Instant) -> bool {
        self.engine.handle_timeout(now);
        self.apply_memory_actions(now);
        let moved = self.poll_rails(now);
        self.service_rails(now);
        self.pump(now) || moved
    }

    /// A frame has come over the stream of a peer.
    pub fn frame_received(&mut self, now: Instant, peer: usize, header: &Header, payload: &[u8]) {
        let Some(subchannel) = self.streams[peer] else { return };
        let Some(placement) = self.header_received(now, subchannel, header) else { return };
        if !payload.is_empty() {
            let Node { memory, bounces, .. } = self;
            Destination::open(placement, bounces).put(0, payload, memory, bounces);
            self.engine.payload_placed(now, subchannel);
            self.apply_memory_actions(now);
        }
        self.engine.writable(subchannel, STREAM_BUDGET);
    }

    pub(super) fn header_received(&mut self, now: Instant, over: SubchannelId, header: &Header) -> Option<Placement> {
        let placement = self.engine.handle_header(now, over, header);
        let placement = placement.unwrap_or_else(|how| panic!("a peer broke the protocol: {how}: {header:?}"));
        self.apply_memory_actions(now);
        Some(placement)
    }

    /// Sends what there is to be sent. True if that was anything.
    pub fn pump(&mut self, now: Instant) -> bool {
        let mut moved = false;
        while let Some(transmit) = self.engine.poll_transmit(now) {
            moved = true;
            self.send(&transmit);
        }
        self.apply_memory_actions(now);
        while let Some(subchannel) = self.engine.poll_failed_subchannel() {
            if let Some(Over::Rail { rail, end }) = self.over(subchannel) {
                self.rail_ended(now, (rail, end), "it carried nothing while others did");
            }
        }
        self.completions.extend(std::iter::from_fn(|| self.engine.poll_completion()));
        moved
    }

    fn send(&mut self, transmit: &Transmit) {
        let Transmit { subchannel, header, source, .. } = transmit;
        let Node { memory, bounces, .. } = self;
        let places = Places { memory, bounces };
        match self.links.get(&(subchannel.vc.0, subchannel.index)) {
            None => {}
            Some(Over::Stream) => {
                let mut bytes = Vec::new();
                match source {
                    Source::User(payload) => memory.read(payload, &mut bytes),
                    Source::Bounce { id, offset, len } => {
                        bytes.extend_from_slice(&bounces.get(*id)[*offset as usize..][..*len as usize]);
                    }
                    Source::Padding { len } => bytes.resize(*len as usize, 0),
                    Source::Sent { .. } => panic!("nothing is sent in memory here"),
                }
                self.frames.push((subchannel.vc, *header, bytes));
            }
            Some(Over::Rail { rail, end }) => {
                let rail = &mut self.rails[*rail].rail;
                rail.push(*end, transmit, places);
                let budget = if rail.is_blocked(*end) { 0 } else { BUDGET };
                self.engine.writable(*subchannel, budget);
            }
        }
    }

    pub fn apply_memory_actions(&mut self, now: Instant) {
        while let Some(action) = self.engine.poll_memory() {
            self.act(action, now);
        }
    }

    /// Does one thing with memory.
    pub fn act(&mut self, action: MemoryAction, now: Instant) {
        match action {
            MemoryAction::Fill { into, from } => self.memory.read(&from, self.bounces.open(into)),
            MemoryAction::Copy { from, to } => self.memory.write(&to, 0, self.bounces.get(from)),
            MemoryAction::Apply { id, what, to, operands, result } => {
                let outcome = self
                    .bounces
                    .with_result(operands, result, |operands, result| self.memory.apply(&what, &to, operands, result));
                self.engine.applied(id, outcome);
            }
            MemoryAction::Release(id) => self.bounces.release(id),
            MemoryAction::Discard(subchannel) => {
                if let Some(Over::Rail { rail, end }) = self.over(subchannel) {
                    self.rails[rail].rail.end_reads(end, &mut self.bounces);
                }
            }
            MemoryAction::Detach(ended) => self.detach(now, &ended),
        }
    }

    /// The memory `ended` is not there any more once this returns.
    fn detach(&mut self, now: Instant, ended: &Payload) {
        for (vc, index) in self.links.keys().copied().collect::<Vec<_>>() {
            let subchannel = SubchannelId { vc: VcId(vc), index };
            let Some(Over::Rail { rail, end }) = self.over(subchannel) else { continue };
            let Node { rails, memory, bounces, .. } = self;
            if rails[rail].rail.detach(end, ended, Places { memory, bounces }) {
                continue;
            }
            self.poll_rails(now);
            if self.rails[rail].rail.has_lent(end, ended) && self.engine.has_ended_sources(VcId(vc)) {
                self.rail_ended(now, (rail, end), "memory that the peer was to read has ended");
            }
        }
    }

    /// The peer is lost.
    pub fn lose(&mut self, now: Instant, peer: usize) {
        let vc = self.vcs[peer];
        self.lost.push(vc);
        self.streams[peer] = None;
        self.remove_ends(vc);
        self.links.retain(|(of, _), _| *of != vc.0);
        self.engine.lose(vc, "the test says so");
        self.apply_memory_actions(now);
    }

    pub(super) fn over(&self, subchannel: SubchannelId) -> Option<Over> {
        self.links.get(&(subchannel.vc.0, subchannel.index)).copied()
    }
}
