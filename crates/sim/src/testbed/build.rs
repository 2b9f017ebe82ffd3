//! A testbed's network, and the ways between its ranks.

use std::collections::BTreeMap;
use std::rc::Rc;

use fishplate_link::{Link, Rate, Settings};

use super::placement::Placement;
use super::schema::{Kind, Rail, Stack, Testbed, Transport};
use crate::models::adapter::Adapter;
use crate::models::flow::{Acknowledged, Flow, Limits};
use crate::models::network::Network;
use crate::models::path::{Cost, Hop, Path, Place};
use crate::models::station::Turn;
use crate::models::time::Time;
use crate::mpi::rank::Way;
use crate::mpi::world::Ways;

/// A subchannel without a limit takes whatever is cut.
const UNLIMITED: u64 = 1 << 60;
/// Adapter memory of a shared-memory "adapter".
const SHM_MEMORY: u64 = 1 << 20;

/// Stations of a node, per rail.
#[derive(Clone, Copy)]
struct Slot {
    adapter: u32,
    send: Place,
    receive: Place,
    bus_out: Place,
    bus_in: Place,
    port_out: Place,
    port_in: Place,
    kernel_send: Place,
    kernel_receive: Place,
}

/// The ways of one stack over one testbed.
pub struct Fabric {
    testbed: Rc<Testbed>,
    stack: Stack,
    transport: Transport,
    placement: Placement,
    /// By node, then by rail.
    slots: Vec<Vec<Slot>>,
    /// By node.
    shm: Vec<(u32, Place)>,
    /// By cluster that data leaves.
    wan: Vec<Place>,
    /// Pairs of ranks that use one rail only.
    bound: Vec<(u32, u32, u8)>,
    /// By rail and two nodes: their ranks share one.
    paths: BTreeMap<(usize, usize, usize), Path>,
}

impl Fabric {
    /// Makes the stations of all nodes.
    pub fn new(network: &mut Network, testbed: Rc<Testbed>, stack: Stack, placement: Placement, seed: u64) -> Fabric {
        let transport = testbed.transport[&stack.transport].clone();
        let slots = (0..placement.nodes()).map(|_| node(network, &testbed)).collect();
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
                (0..2).map(|way| network.add_link(Link::new(settings.clone(), seed + way))).collect()
            }
        };
        Fabric { testbed, stack, transport, placement, slots, shm, wan, bound: Vec::new(), paths: BTreeMap::new() }
    }

    fn path(&mut self, rail: usize, from: usize, to: usize) -> Path {
        if let Some(path) = self.paths.get(&(rail, from, to)) {
            return path.clone();
        }
        let path = self.new_path(rail, from, to);
        self.paths.insert((rail, from, to), path.clone());
        path
    }

    fn new_path(&self, rail: usize, from: usize, to: usize) -> Path {
        let model = &self.testbed.rail[rail];
        let mtu = self.transport.mtu_bytes.as_ref().unwrap_or(&model.link.mtu_bytes).value.max(1.0);
        let headers = self.transport.header_bytes.as_ref().map_or(0.0, |bytes| bytes.value);
        let overhead = model.link.overhead_bytes.value + headers;
        // A packet of IP may be longer than one of the link.
        let link_packets = (mtu / model.link.mtu_bytes.value).max(1.0);
        let on_wire = 1.0 + (overhead * link_packets.max(1.0)) / mtu;
        let mut hops = Vec::new();
        self.sender(&mut hops, model, (from, rail), on_wire);
        self.middle(&mut hops, model, (from, to, rail), on_wire);
        self.receiver(&mut hops, model, (to, rail), on_wire);
        let flight = match &self.testbed.wan {
            Some(wan) if self.placement.cluster_of(from) != self.placement.cluster_of(to) => {
                Time::ns(wan.delay_us.value * 1e3 + wan.routers_ns.value)
            }
            _ => Time::default(),
        };
        let back = hops.iter().fold(flight, |sum, hop| sum + hop.latency);
        let wan_overhead = self.testbed.wan.as_ref().map_or(overhead, |wan| wan.overhead_bytes.value + headers);
        Path { hops: hops.into(), mtu: mtu as u64, packet_overhead: (wan_overhead * link_packets) as u64, back, flight }
    }

    fn sender(&self, hops: &mut Vec<Hop>, model: &Rail, (node, rail): (usize, usize), on_wire: f64) {
        let slot = &self.slots[node][rail];
        if self.transport.kind == Kind::Tcp {
            hops.push(hop(slot.kernel_send, Turn::Out, self.kernel(true), 0.0));
        }
        let packet = Time::ns(model.adapter.packet_ns.value);
        let message = Time::ns(model.adapter.send_message_ns.value);
        hops.push(hop(slot.send, Turn::Out, Cost { message, packet, byte_ps: 0.0 }, 0.0));
        let bus = per_byte(model.bus.read_mb_s.value);
        hops.push(hop(slot.bus_out, Turn::Out, bus, model.bus.latency_ns.value));
        let port = Cost { byte_ps: on_wire * 8e6 / model.link.mbit.value, ..Cost::default() };
        let latency = model.link.cable_ns.value + model.switch.latency_ns.value;
        let leaves =
            Hop { leaves: true, cut_through: model.switch.cut_through, ..hop(slot.port_out, Turn::Out, port, latency) };
        hops.push(leaves);
    }

    fn middle(&self, hops: &mut Vec<Hop>, model: &Rail, (from, to, _): (usize, usize, usize), _on_wire: f64) {
        let clusters = [from, to].map(|node| self.placement.cluster_of(node));
        if clusters[0] != clusters[1]
            && let Some(place) = self.wan.get(clusters[0].min(1))
        {
            hops.push(hop(*place, Turn::Out, Cost::default(), model.switch.latency_ns.value));
        }
        if let Some(block) = &model.switch.block_nodes
            && from as u64 / block.value as u64 != to as u64 / block.value as u64
            && let Some(last) = hops.last_mut()
        {
            last.latency = last.latency + Time::ns(2.0 * (model.switch.latency_ns.value + model.link.cable_ns.value));
        }
    }

    fn receiver(&self, hops: &mut Vec<Hop>, model: &Rail, (node, rail): (usize, usize), on_wire: f64) {
        let slot = &self.slots[node][rail];
        let port = Cost { byte_ps: on_wire * 8e6 / model.link.mbit.value, ..Cost::default() };
        hops.push(hop(slot.port_in, Turn::In, port, model.link.cable_ns.value));
        let packet = Time::ns(model.adapter.packet_ns.value);
        let message = Time::ns(model.adapter.receive_message_ns.value);
        hops.push(hop(slot.receive, Turn::In, Cost { message, packet, byte_ps: 0.0 }, 0.0));
        let bus = per_byte(model.bus.write_mb_s.value);
        hops.push(hop(slot.bus_in, Turn::In, bus, model.bus.latency_ns.value));
        if self.transport.kind == Kind::Tcp {
            hops.push(hop(slot.kernel_receive, Turn::In, self.kernel(false), 0.0));
        }
    }

    /// Protocol code on the host.
    fn kernel(&self, sends: bool) -> Cost {
        let ns = |parameter: &Option<super::Parameter>| parameter.as_ref().map_or(0.0, |value| value.value);
        let packet = if sends { &self.transport.send_packet_ns } else { &self.transport.receive_packet_ns };
        Cost {
            message: Time::ns(ns(&self.transport.message_ns)),
            packet: Time::ns(ns(packet)),
            byte_ps: ns(&self.transport.byte_ps),
        }
    }

    fn limits(&self) -> Limits {
        let limit =
            |parameter: &Option<super::Parameter>| parameter.as_ref().map_or(UNLIMITED, |most| most.value as u64);
        let messages = limit(&self.transport.messages_in_flight).min(u64::from(u32::MAX)) as u32;
        Limits { messages, bytes: limit(&self.transport.window_bytes) }
    }

    fn shm_way(&self, node: usize) -> (Flow, Way) {
        let (adapter, place) = self.shm[node];
        let host = &self.testbed.host;
        let copy =
            Hop { leaves: true, ..hop(place, Turn::Out, per_byte(host.shm_mb_s.value), host.shm_latency_ns.value) };
        let path =
            Path { hops: [copy].into(), mtu: 4096, packet_overhead: 0, back: Time::default(), flight: Time::default() };
        let limits = Limits { messages: u32::MAX, bytes: UNLIMITED };
        self.way(0, host.shm_mb_s.value * 1e6, Flow::new(adapter, path, limits, Acknowledged::ByReceiver))
    }

    fn way(&self, rail: usize, speed: f64, flow: Flow) -> (Flow, Way) {
        let round_trip = flow.path.latency() + flow.path.back;
        let budget = self.stack.queue_bytes.as_ref().map_or(UNLIMITED, |queue| queue.value as u64);
        let way = Way { rail: rail as u8, speed, round_trip_ns: round_trip.0 / 1000, budget, grant: super::GRANT };
        (flow, way)
    }
}

impl Ways for Fabric {
    fn ways(&mut self, _network: &mut Network, from: u32, to: u32) -> Vec<(Flow, Way)> {
        let [near, far] = [from, to].map(|rank| self.placement.node_of(rank));
        if near == far {
            return vec![self.shm_way(near)];
        }
        let acknowledged =
            if self.transport.kind == Kind::Ud { Acknowledged::WhenLeft } else { Acknowledged::ByReceiver };
        let mut rails = self.stack.rails.clone();
        // Processes of a node that are bound to one rail are bound to different ones.
        let count = rails.len();
        rails.rotate_left(self.placement.place_on_node(from.min(to)) % count);
        if let Some((_, _, rail)) = self.bound.iter().find(|(a, b, _)| [(*a, *b), (*b, *a)].contains(&(from, to))) {
            rails = vec![self.stack.rails[usize::from(*rail) % count]];
        }
        let way = |rail: usize| {
            let path = self.path(rail, near, far);
            let speed = self.testbed.rail[rail].link.mbit.value * 1e6 / 8.0;
            let adapter = self.slots[near][rail].adapter;
            self.way(rail, speed, Flow::new(adapter, path, self.limits(), acknowledged))
        };
        rails.into_iter().map(way).collect()
    }

    fn bind(&mut self, a: u32, b: u32, rail: u8) {
        self.bound.push((a, b, rail));
    }

    fn budget(&self) -> Option<u64> {
        self.stack.queue_bytes.as_ref().map(|queue| queue.value as u64)
    }
}

fn per_byte(mb_s: f64) -> Cost {
    Cost { byte_ps: 1e6 / mb_s, ..Cost::default() }
}

fn hop(place: Place, turn: Turn, cost: Cost, latency_ns: f64) -> Hop {
    Hop { place, turn, cost, latency: Time::ns(latency_ns), cut_through: false, leaves: false }
}

fn node(network: &mut Network, testbed: &Testbed) -> Vec<Slot> {
    let mut buses: BTreeMap<&str, (Place, Place)> = BTreeMap::new();
    let mut slots = Vec::new();
    for rail in &testbed.rail {
        let (bus_out, bus_in) = *buses.entry(&rail.bus.name).or_insert_with(|| {
            let out = network.add_station();
            (out, if rail.bus.shared { out } else { network.add_station() })
        });
        slots.push(Slot {
            adapter: network.add_adapter(Adapter::new(rail.adapter.memory_bytes.value as u64)),
            send: network.add_station(),
            receive: network.add_station(),
            bus_out,
            bus_in,
            port_out: network.add_station(),
            port_in: network.add_station(),
            kernel_send: network.add_station(),
            kernel_receive: network.add_station(),
        });
    }
    slots
}
