//! A testbed's network, and the flows between its ranks. `legs.rs` says what paths consist of.

mod inner;
mod legs;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use fishplate_link::{Rate, Settings};

use super::nodes::{Slot, UNLIMITED, node};
use super::placement::Placement;
use super::schema::{Parts, Stack, Testbed, Transport};
use crate::models::adapter::Adapter;
use crate::models::flow::Flow;
use crate::models::network::Network;
use crate::models::path::{Leg, Path, Place, Terms};
use crate::mpi::rank::SubchannelSpec;
use crate::mpi::world::Topology;
use inner::{Blocks, InnerLinks};

/// Adapter memory of a shared-memory "adapter".
const SHM_MEMORY: u64 = 1 << 20;

/// The network of one stack over one testbed.
pub struct Fabric {
    testbed: Rc<Testbed>,
    stack: Stack,
    transport: Transport,
    placement: Placement,
    /// By node, then by rail.
    slots: Vec<Vec<Slot>>,
    /// By node.
    shm: Vec<(u32, Place)>,
    /// The process that emulates links: one for all.
    emulator: Place,
    /// By cluster that data leaves.
    wan: Vec<Place>,
    inner: InnerLinks,
    /// Pairs of ranks that use one rail only.
    bound: Vec<(u32, u32, u8)>,
    /// How paths begin, by rail and node.
    out: Shared<(usize, usize, Distance), Leg>,
    /// How they end.
    into: Shared<(usize, usize), Leg>,
    /// Their terms, by rail.
    terms: Shared<(usize, Distance), Terms>,
    /// The path within each node.
    within: Vec<Option<Path>>,
}

/// Properties in which paths between nodes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    crosses_wan: bool,
    blocks: Blocks,
}

impl Fabric {
    /// Makes the stations of all nodes.
    pub fn new(network: &mut Network, testbed: Rc<Testbed>, stack: Stack, placement: Placement, seed: u64) -> Fabric {
        let transport = testbed.transport[&stack.transport].clone();
        let slots = (0..placement.nodes())
            .map(|_| node(network, &testbed, legs::packet(&transport, f64::INFINITY), seed))
            .collect();
        let shm = (0..placement.nodes())
            .map(|_| (network.add_adapter(Adapter::new(SHM_MEMORY)), network.add_station()))
            .collect();
        let wan = match &testbed.wan {
            None => Vec::new(),
            Some(wan) => {
                let settings = Settings {
                    rate: Rate::try_from((wan.mbit.value * 1e6) as u64).ok(),
                    delay_ns: (wan.delay_us.value * 1e3 + wan.routers_ns.value) as u64,
                    // The routers' buffers are made for their distance, and InfiniBand loses nothing.
                    queue_bytes: Some(u64::MAX),
                    ..Settings::default()
                };
                (0..2)
                    .map(|direction| network.add_link(fishplate_link::Link::new(settings.clone(), seed + direction)))
                    .collect()
            }
        };
        let inner = InnerLinks::new(network, &testbed, placement.nodes());
        let emulator = network.add_station();
        let within = vec![None; placement.nodes()];
        Fabric {
            emulator,
            testbed,
            stack,
            transport,
            placement,
            slots,
            shm,
            wan,
            inner,
            bound: Vec::new(),
            out: Shared::default(),
            into: Shared::default(),
            terms: Shared::default(),
            within,
        }
    }

    /// Emulation of a rail for a node: where it sends, and the switch's port to it, if there is a switch.
    pub fn emulated(&self, node: usize, rail: usize) -> Option<Vec<Place>> {
        let slot = self.slots.get(node)?.get(rail)?;
        match self.testbed.rail.get(rail)?.parts() {
            Some(Parts::Emulated(model)) if model.switched => Some(vec![slot.port_out, slot.port_in]),
            Some(Parts::Emulated(_)) => Some(vec![slot.port_out]),
            _ => None,
        }
    }

    /// The rail of two ranks that use one only.
    fn bound(&self, a: u32, b: u32) -> Option<u8> {
        let is_meant = |(from, to, _): &&(u32, u32, u8)| [(a, b), (b, a)].contains(&(*from, *to));
        self.bound.iter().find(is_meant).map(|(_, _, rail)| *rail)
    }

    /// The path from one node to another. Its legs and terms are shared with other paths.
    fn path(&self, rail: usize, from: usize, to: usize) -> Path {
        let distance = self.distance(rail, from, to);
        let out = known(&self.out, (rail, from, distance), || self.leg_out(rail, from, distance));
        let into = known(&self.into, (rail, to), || self.leg_into(rail, to));
        let terms = known(&self.terms, (rail, distance), || self.new_terms(rail, distance, (&out, &into)));
        Path { out, into, terms }
    }

    fn distance(&self, rail: usize, from: usize, to: usize) -> Distance {
        Distance {
            crosses_wan: self.placement.cluster_of(from) != self.placement.cluster_of(to),
            blocks: Blocks::between(&self.testbed, rail, from, to),
        }
    }

    fn shm_subchannel(&mut self, node: usize) -> (Flow, SubchannelSpec) {
        let path = self.within[node].clone().unwrap_or_else(|| self.shm_path(node));
        self.within[node] = Some(path.clone());
        self.subchannel(0, self.testbed.host.shm_mb_s.value * 1e6, Flow::new(path))
    }

    fn subchannel(&self, rail: usize, speed: f64, flow: Flow) -> (Flow, SubchannelSpec) {
        let round_trip = flow.path.latency() + flow.path.terms.back;
        let budget = self.stack.queue_bytes.as_ref().map_or(UNLIMITED, |queue| queue.value as u64);
        let spec = SubchannelSpec {
            rail: rail as u8,
            speed,
            round_trip_ns: round_trip.0 / 1000,
            budget,
            grant: self.stack.grant(),
        };
        (flow, spec)
    }
}

/// What paths share, made when it is first asked for.
type Shared<K, T> = RefCell<BTreeMap<K, Rc<T>>>;

fn known<K: Ord, T>(all: &Shared<K, T>, key: K, new: impl FnOnce() -> T) -> Rc<T> {
    all.borrow_mut().entry(key).or_insert_with(|| Rc::new(new())).clone()
}

impl Topology for Fabric {
    fn subchannels_between(&mut self, from: u32, to: u32) -> Vec<(Flow, SubchannelSpec)> {
        let [near, far] = [from, to].map(|rank| self.placement.node_of(rank));
        if near == far {
            return vec![self.shm_subchannel(near)];
        }
        let count = if self.bound(from, to).is_some() { 1 } else { self.stack.rails.len() };
        let rails: Vec<usize> = (0..count).filter_map(|place| self.rail(from, to, place as u8)).collect();
        let subchannel = |rail: usize| {
            let path = self.path(rail, near, far);
            let speed = self.testbed.rail[rail].speed();
            self.subchannel(rail, speed, Flow::new(path))
        };
        rails.into_iter().map(subchannel).collect()
    }

    fn bind(&mut self, a: u32, b: u32, rail: u8) {
        self.bound.push((a, b, rail));
    }

    fn rail(&self, from: u32, to: u32, subchannel: u8) -> Option<usize> {
        let [near, far] = [from, to].map(|rank| self.placement.node_of(rank));
        // Processes of a node that are bound to one rail are bound to different ones.
        let first = || self.placement.place_on_node(from.min(to)) + usize::from(subchannel);
        let rails = &self.stack.rails;
        let place = self.bound(from, to).map_or_else(first, usize::from);
        (near != far).then(|| rails[place % rails.len()])
    }

    fn budget(&self) -> Option<u64> {
        self.stack.queue_bytes.as_ref().map(|queue| queue.value as u64)
    }
}
