//! A testbed's network, and the flows between its ranks.

use std::collections::BTreeMap;
use std::rc::Rc;

use fishplate_link::{Link, Rate, Settings};

use super::nodes::{Slot, UNLIMITED, node};
use super::placement::Placement;
use super::schema::{EmulatedModel, Emulation, Kind, Parts, Rail, Stack, Testbed, Transport};
use crate::models::adapter::Adapter;
use crate::models::flow::{Acknowledged, Flow, Limits};
use crate::models::network::Network;
use crate::models::path::{Cost, Hop, Path, Place};
use crate::models::socket::Socket;
use crate::models::station::Turn;
use crate::models::time::Time;
use crate::mpi::rank::SubchannelSpec;
use crate::mpi::world::Topology;

/// Adapter memory of a shared-memory "adapter".
const SHM_MEMORY: u64 = 1 << 20;

/// The longest round trip between near hosts, as the driver has it (crates/rails: `link/congestion.rs`).
const NEAR: Time = Time(300_000_000);
/// Over longer ones the kernel may hold this part of what a round trip holds unsent (crates/rails: `connect/socket.rs`),
const UNSENT_PART: f64 = 0.25;
/// but no more than so many bytes.
const MOST_UNSENT: f64 = 1024.0 * 1024.0;

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
    /// Pairs of ranks that use one rail only.
    bound: Vec<(u32, u32, u8)>,
    /// By rail and two nodes: their ranks share one.
    paths: BTreeMap<(usize, usize, usize), Path>,
}

impl Fabric {
    /// Makes the stations of all nodes.
    pub fn new(network: &mut Network, testbed: Rc<Testbed>, stack: Stack, placement: Placement, seed: u64) -> Fabric {
        let transport = testbed.transport[&stack.transport].clone();
        let slots =
            (0..placement.nodes()).map(|_| node(network, &testbed, packet(&transport, f64::INFINITY), seed)).collect();
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
                (0..2).map(|direction| network.add_link(Link::new(settings.clone(), seed + direction))).collect()
            }
        };
        let emulator = network.add_station();
        Fabric {
            emulator,
            testbed,
            stack,
            transport,
            placement,
            slots,
            shm,
            wan,
            bound: Vec::new(),
            paths: BTreeMap::new(),
        }
    }

    /// What emulates a rail for what a node sends.
    pub fn emulated(&self, node: usize, rail: usize) -> Option<Place> {
        let slot = self.slots.get(node)?.get(rail)?;
        matches!(self.testbed.rail.get(rail)?.parts(), Some(Parts::Emulated(_))).then_some(slot.port_out)
    }

    /// The rail of two ranks that use one only.
    fn bound(&self, a: u32, b: u32) -> Option<u8> {
        let is_meant = |(from, to, _): &&(u32, u32, u8)| [(a, b), (b, a)].contains(&(*from, *to));
        self.bound.iter().find(is_meant).map(|(_, _, rail)| *rail)
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
        match self.testbed.rail[rail].parts() {
            Some(Parts::Hardware(..)) => self.hardware_path(rail, from, to),
            Some(Parts::Emulated(model)) => self.emulated_path(model, rail, from, to),
            None => unreachable!("checked when the testbed was read"),
        }
    }

    fn hardware_path(&self, rail: usize, from: usize, to: usize) -> Path {
        let Some(Parts::Hardware(bus, _, link, _)) = self.testbed.rail[rail].parts() else {
            unreachable!("asked for hardware only")
        };
        let (mtu, headers) = packet(&self.transport, link.mtu_bytes.value);
        let overhead = link.overhead_bytes.value + headers;
        // A packet of IP may be longer than one of the link.
        let link_packets = (mtu / link.mtu_bytes.value).max(1.0);
        let on_wire = 1.0 + (overhead * link_packets.max(1.0)) / mtu;
        let mut hops = Vec::new();
        let model = &self.testbed.rail[rail];
        self.sender(&mut hops, model, (from, rail), on_wire);
        self.middle(&mut hops, model, (from, to));
        self.receiver(&mut hops, model, (to, rail), on_wire);
        let flight = match &self.testbed.wan {
            Some(wan) if self.placement.cluster_of(from) != self.placement.cluster_of(to) => {
                Time::ns(wan.delay_us.value * 1e3 + wan.routers_ns.value)
            }
            _ => Time::default(),
        };
        let back = hops.iter().fold(flight, |sum, hop| sum + hop.latency);
        let wan_overhead = self.testbed.wan.as_ref().map_or(overhead, |wan| wan.overhead_bytes.value + headers);
        Path {
            hops: hops.into(),
            mtu: mtu as u64,
            burst: bus.burst_bytes.as_ref().map_or(mtu, |burst| burst.value.min(mtu)) as u64,
            frame_bytes: None,
            packet_overhead: (wan_overhead * link_packets) as u64,
            back,
            back_through: None,
            flight,
        }
    }

    /// Protocol code, what emulates the rail, protocol code. Emulators add their delay themselves.
    fn emulated_path(&self, model: &EmulatedModel, rail: usize, from: usize, to: usize) -> Path {
        let (mtu, headers) = packet(&self.transport, f64::INFINITY);
        let (near, far) = (&self.slots[from][rail], &self.slots[to][rail]);
        let frame = ((model.frame_bytes.value / mtu) as u64).max(1) * mtu as u64;
        let late = match model.by {
            Emulation::Shaper => Time::default(),
            Emulation::Emulator => Time::ns(model.late_us.value * 1e3),
        };
        let through = |place| hop(place, Turn::Out, Cost::default(), 0.0);
        let mut hops = vec![hop(near.kernel_send, Turn::Out, self.kernel(true), 0.0)];
        match model.by {
            Emulation::Shaper => hops.push(Hop { leaves: true, ..through(near.port_out) }),
            // TCP sends no faster than it has measured, so the queue is in the sender's socket, not in the emulator.
            Emulation::Emulator => {
                hops.push(Hop { leaves: true, ..through(near.pacing) });
                let frame = Time::ns(model.frame_us.value * 1e3);
                hops.push(hop(self.emulator, Turn::Out, Cost { frame, ..Cost::default() }, 0.0));
                hops.push(Hop { latency: late, ..through(near.port_out) });
            }
        }
        hops.push(hop(far.kernel_receive, Turn::In, self.kernel(false), 0.0));
        let flight = Time::ns(model.delay_us.value * 1e3);
        Path {
            hops: hops.into(),
            mtu: mtu as u64,
            burst: mtu as u64,
            frame_bytes: Some(frame),
            packet_overhead: (headers + model.gap_bytes.value) as u64,
            back: flight + late,
            // An emulator's queue is short: those who send pace themselves.
            back_through: (model.by == Emulation::Shaper).then_some(far.port_out),
            flight,
        }
    }

    fn sender(&self, hops: &mut Vec<Hop>, model: &Rail, (node, rail): (usize, usize), on_wire: f64) {
        let Some(Parts::Hardware(bus, adapter, link, switch)) = model.parts() else { return };
        let slot = &self.slots[node][rail];
        if self.transport.kind == Kind::Tcp {
            hops.push(hop(slot.kernel_send, Turn::Out, self.kernel(true), 0.0));
        }
        let packet = Time::ns(adapter.packet_ns.value);
        let message = Time::ns(adapter.send_message_ns.value);
        hops.push(hop(slot.send, Turn::Out, Cost { message, packet, ..Cost::default() }, 0.0));
        hops.push(hop(slot.bus_out, Turn::Out, per_byte(bus.read_mb_s.value), bus.latency_ns.value));
        let port = Cost { byte_ps: on_wire * 8e6 / link.mbit.value, ..Cost::default() };
        let latency = link.cable_ns.value + switch.latency_ns.value;
        let leaves =
            Hop { leaves: true, cut_through: switch.cut_through, ..hop(slot.port_out, Turn::Out, port, latency) };
        hops.push(leaves);
    }

    fn middle(&self, hops: &mut Vec<Hop>, model: &Rail, (from, to): (usize, usize)) {
        let Some(Parts::Hardware(_, _, link, switch)) = model.parts() else { return };
        let clusters = [from, to].map(|node| self.placement.cluster_of(node));
        if clusters[0] != clusters[1]
            && let Some(place) = self.wan.get(clusters[0].min(1))
        {
            hops.push(hop(*place, Turn::Out, Cost::default(), switch.latency_ns.value));
        }
        if let Some(block) = &switch.block_nodes
            && from as u64 / block.value as u64 != to as u64 / block.value as u64
            && let Some(last) = hops.last_mut()
        {
            last.latency = last.latency + Time::ns(2.0 * (switch.latency_ns.value + link.cable_ns.value));
        }
    }

    fn receiver(&self, hops: &mut Vec<Hop>, model: &Rail, (node, rail): (usize, usize), on_wire: f64) {
        let Some(Parts::Hardware(bus, adapter, link, _)) = model.parts() else { return };
        let slot = &self.slots[node][rail];
        let port = Cost { byte_ps: on_wire * 8e6 / link.mbit.value, ..Cost::default() };
        hops.push(hop(slot.port_in, Turn::In, port, link.cable_ns.value));
        let packet = Time::ns(adapter.packet_ns.value);
        let message = Time::ns(adapter.receive_message_ns.value);
        hops.push(hop(slot.receive, Turn::In, Cost { message, packet, ..Cost::default() }, 0.0));
        hops.push(hop(slot.bus_in, Turn::In, per_byte(bus.write_mb_s.value), bus.latency_ns.value));
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
            ..Cost::default()
        }
    }

    fn limits(&self) -> Limits {
        let limit =
            |parameter: &Option<super::Parameter>| parameter.as_ref().map_or(UNLIMITED, |most| most.value as u64);
        let messages = limit(&self.transport.messages_in_flight).min(u64::from(u32::MAX)) as u32;
        Limits { messages, bytes: limit(&self.transport.window_bytes) }
    }

    /// Over TCP the kernel holds some of it; the window of near hosts is another one.
    fn connection(&self, rail: usize, mut flow: Flow) -> Flow {
        let round_trip = flow.path.latency() + flow.path.back;
        let Some(least) = &self.transport.unsent_bytes else { return flow };
        let fitting = self.testbed.rail[rail].speed() * round_trip.as_ns() / 1e9 * UNSENT_PART;
        let unsent = fitting.clamp(least.value, least.value.max(MOST_UNSENT));
        let buffer = flow.path.frame_bytes.unwrap_or(flow.path.mtu);
        let is_paced =
            matches!(self.testbed.rail[rail].parts(), Some(Parts::Emulated(model)) if model.by == Emulation::Emulator);
        flow.socket = Some(Socket::new(unsent as u64, buffer, is_paced));
        if let Some(window) = self.transport.near_window_bytes.as_ref().filter(|_| round_trip <= NEAR) {
            flow.limits.bytes = flow.limits.bytes.min(window.value as u64);
        }
        flow
    }

    fn shm_subchannel(&self, node: usize) -> (Flow, SubchannelSpec) {
        let (adapter, place) = self.shm[node];
        let host = &self.testbed.host;
        let copy =
            Hop { leaves: true, ..hop(place, Turn::Out, per_byte(host.shm_mb_s.value), host.shm_latency_ns.value) };
        let path = Path {
            hops: [copy].into(),
            mtu: 4096,
            burst: 4096,
            frame_bytes: None,
            packet_overhead: 0,
            back: Time::default(),
            back_through: None,
            flight: Time::default(),
        };
        let limits = Limits { messages: u32::MAX, bytes: UNLIMITED };
        self.subchannel(0, host.shm_mb_s.value * 1e6, Flow::new(adapter, path, limits, Acknowledged::ByReceiver))
    }

    fn subchannel(&self, rail: usize, speed: f64, flow: Flow) -> (Flow, SubchannelSpec) {
        let round_trip = flow.path.latency() + flow.path.back;
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

impl Topology for Fabric {
    fn subchannels_between(&mut self, _network: &mut Network, from: u32, to: u32) -> Vec<(Flow, SubchannelSpec)> {
        let [near, far] = [from, to].map(|rank| self.placement.node_of(rank));
        if near == far {
            return vec![self.shm_subchannel(near)];
        }
        let acknowledged =
            if self.transport.kind == Kind::Ud { Acknowledged::WhenLeft } else { Acknowledged::ByReceiver };
        let count = if self.bound(from, to).is_some() { 1 } else { self.stack.rails.len() };
        let rails: Vec<usize> = (0..count).filter_map(|place| self.rail(from, to, place as u8)).collect();
        let subchannel = |rail: usize| {
            let path = self.path(rail, near, far);
            let speed = self.testbed.rail[rail].speed();
            let adapter = self.slots[near][rail].adapter;
            let flow = Flow::new(adapter, path, self.limits(), acknowledged);
            self.subchannel(rail, speed, self.connection(rail, flow))
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

/// Payload of a packet, and what it has around it beyond what links add.
fn packet(transport: &Transport, link_mtu: f64) -> (f64, f64) {
    let mtu = transport.mtu_bytes.as_ref().map_or(link_mtu, |mtu| mtu.value).max(1.0);
    (mtu, transport.header_bytes.as_ref().map_or(0.0, |bytes| bytes.value))
}

fn per_byte(mb_s: f64) -> Cost {
    Cost { byte_ps: 1e6 / mb_s, ..Cost::default() }
}

fn hop(place: Place, turn: Turn, cost: Cost, latency_ns: f64) -> Hop {
    Hop { place, turn, cost, latency: Time::ns(latency_ns), cut_through: false, leaves: false }
}
