//! A testbed's network, and the flows between its ranks.

use std::collections::BTreeMap;
use std::rc::Rc;

use fishplate_link::{Rate, Settings};

use super::nodes::{Slot, UNLIMITED, node};
use super::placement::Placement;
use super::schema::{Bus, EmulatedModel, Emulation, Kind, LinkModel, Parts, Rail, Stack, Testbed, Transport};
use crate::models::adapter::Adapter;
use crate::models::flow::{Acknowledged, Flow, Limits};
use crate::models::network::Network;
use crate::models::path::{Cost, Hop, Leg, Path, Place, Terms, latency};
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
    /// How paths begin, by rail and node.
    out: BTreeMap<(usize, usize, Distance), Rc<Leg>>,
    /// How they end.
    into: BTreeMap<(usize, usize), Rc<Leg>>,
    /// What holds for them, by rail.
    terms: BTreeMap<(usize, Distance), Rc<Terms>>,
    /// The path within each node.
    within: Vec<Option<Path>>,
}

/// What makes paths between nodes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    crosses_wan: bool,
    crosses_blocks: bool,
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
                (0..2)
                    .map(|direction| network.add_link(fishplate_link::Link::new(settings.clone(), seed + direction)))
                    .collect()
            }
        };
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
            bound: Vec::new(),
            out: BTreeMap::new(),
            into: BTreeMap::new(),
            terms: BTreeMap::new(),
            within,
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

    /// The path from one node to another. Its legs and terms are those of others.
    fn path(&mut self, rail: usize, from: usize, to: usize) -> Path {
        let distance = self.distance(rail, from, to);
        let out = self.out.get(&(rail, from, distance)).cloned().unwrap_or_else(|| {
            let leg = Rc::new(self.leg_out(rail, from, distance));
            self.out.insert((rail, from, distance), leg.clone());
            leg
        });
        let into = self.into.get(&(rail, to)).cloned().unwrap_or_else(|| {
            let leg = Rc::new(self.leg_into(rail, to));
            self.into.insert((rail, to), leg.clone());
            leg
        });
        let terms = self.terms.get(&(rail, distance)).cloned().unwrap_or_else(|| {
            let terms = Rc::new(self.connection(rail, self.terms(rail, distance, (&out, &into)), (&out, &into)));
            self.terms.insert((rail, distance), terms.clone());
            terms
        });
        Path { out, into, terms }
    }

    fn distance(&self, rail: usize, from: usize, to: usize) -> Distance {
        let block_nodes = match self.testbed.rail[rail].parts() {
            Some(Parts::Hardware(_, _, _, switch)) => switch.block_nodes.as_ref(),
            _ => None,
        };
        Distance {
            crosses_wan: self.placement.cluster_of(from) != self.placement.cluster_of(to),
            crosses_blocks: block_nodes
                .is_some_and(|nodes| from as u64 / nodes.value as u64 != to as u64 / nodes.value as u64),
        }
    }

    fn leg_out(&self, rail: usize, from: usize, distance: Distance) -> Leg {
        let mut hops = Vec::new();
        let model = &self.testbed.rail[rail];
        match model.parts() {
            Some(Parts::Hardware(_, _, link, _)) => {
                self.sender(&mut hops, model, (from, rail), self.on_wire(link));
                self.middle(&mut hops, model, from, distance);
            }
            Some(Parts::Emulated(emulated)) => self.emulator(&mut hops, emulated, (from, rail)),
            None => unreachable!("checked when the testbed was read"),
        }
        Leg { hops, adapter: self.slots[from][rail].adapter, back_through: None }
    }

    fn leg_into(&self, rail: usize, to: usize) -> Leg {
        let (mut hops, mut back_through) = (Vec::new(), None);
        let model = &self.testbed.rail[rail];
        match model.parts() {
            Some(Parts::Hardware(_, _, link, _)) => self.receiver(&mut hops, model, (to, rail), self.on_wire(link)),
            Some(Parts::Emulated(emulated)) => {
                let far = &self.slots[to][rail];
                hops.push(hop(far.kernel_receive, Turn::In, self.kernel(false), 0.0));
                // An emulator's queue is short: those who send pace themselves.
                back_through = (emulated.by == Emulation::Shaper).then_some(far.port_out);
            }
            None => unreachable!("checked when the testbed was read"),
        }
        Leg { hops, adapter: 0, back_through }
    }

    /// Bytes of a link for a byte of payload.
    fn on_wire(&self, link: &LinkModel) -> f64 {
        let (mtu, headers) = packet(&self.transport, link.mtu_bytes.value);
        let overhead = link.overhead_bytes.value + headers;
        1.0 + (overhead * link_packets(mtu, link).max(1.0)) / mtu
    }

    fn terms(&self, rail: usize, distance: Distance, legs: (&Leg, &Leg)) -> Terms {
        match self.testbed.rail[rail].parts() {
            Some(Parts::Hardware(bus, _, link, _)) => self.hardware_terms((bus, link), distance, legs),
            Some(Parts::Emulated(model)) => self.emulated_terms(model),
            None => unreachable!("checked when the testbed was read"),
        }
    }

    fn hardware_terms(&self, (bus, link): (&Bus, &LinkModel), distance: Distance, legs: (&Leg, &Leg)) -> Terms {
        let (mtu, headers) = packet(&self.transport, link.mtu_bytes.value);
        let overhead = link.overhead_bytes.value + headers;
        let flight = match &self.testbed.wan {
            Some(wan) if distance.crosses_wan => Time::ns(wan.delay_us.value * 1e3 + wan.routers_ns.value),
            _ => Time::default(),
        };
        let hops = legs.0.hops.iter().chain(&legs.1.hops);
        let back = hops.fold(flight, |sum, hop| sum + hop.latency);
        let wan_overhead = self.testbed.wan.as_ref().map_or(overhead, |wan| wan.overhead_bytes.value + headers);
        Terms {
            mtu: mtu as u64,
            burst: bus.burst_bytes.as_ref().map_or(mtu, |burst| burst.value.min(mtu)) as u64,
            frame_bytes: None,
            packet_overhead: (wan_overhead * link_packets(mtu, link)) as u64,
            back,
            flight,
            limits: self.limits(),
            acknowledged: self.acknowledged(),
            socket: None,
        }
    }

    fn emulated_terms(&self, model: &EmulatedModel) -> Terms {
        let (mtu, headers) = packet(&self.transport, f64::INFINITY);
        let frame = ((model.frame_bytes.value / mtu) as u64).max(1) * mtu as u64;
        let flight = Time::ns(model.delay_us.value * 1e3);
        Terms {
            mtu: mtu as u64,
            burst: mtu as u64,
            frame_bytes: Some(frame),
            packet_overhead: (headers + model.gap_bytes.value) as u64,
            back: flight + late(model),
            flight,
            limits: self.limits(),
            acknowledged: self.acknowledged(),
            socket: None,
        }
    }

    /// Protocol code, and what emulates the rail. Emulators add their delay themselves.
    fn emulator(&self, hops: &mut Vec<Hop>, model: &EmulatedModel, (node, rail): (usize, usize)) {
        let near = &self.slots[node][rail];
        let through = |place| hop(place, Turn::Out, Cost::default(), 0.0);
        hops.push(hop(near.kernel_send, Turn::Out, self.kernel(true), 0.0));
        match model.by {
            Emulation::Shaper => hops.push(Hop { leaves: true, ..through(near.port_out) }),
            // TCP sends no faster than it has measured, so the queue is in the sender's socket, not in the emulator.
            Emulation::Emulator => {
                hops.push(Hop { leaves: true, ..through(near.pacing) });
                let frame = Time::ns(model.frame_us.value * 1e3);
                hops.push(hop(self.emulator, Turn::Out, Cost { frame, ..Cost::default() }, 0.0));
                hops.push(Hop { latency: late(model), ..through(near.port_out) });
            }
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

    fn middle(&self, hops: &mut Vec<Hop>, model: &Rail, from: usize, distance: Distance) {
        let Some(Parts::Hardware(_, _, link, switch)) = model.parts() else { return };
        if distance.crosses_wan
            && let Some(place) = self.wan.get(self.placement.cluster_of(from).min(1))
        {
            hops.push(hop(*place, Turn::Out, Cost::default(), switch.latency_ns.value));
        }
        if distance.crosses_blocks
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

    fn acknowledged(&self) -> Acknowledged {
        if self.transport.kind == Kind::Ud { Acknowledged::WhenLeft } else { Acknowledged::ByReceiver }
    }

    fn limits(&self) -> Limits {
        let limit =
            |parameter: &Option<super::Parameter>| parameter.as_ref().map_or(UNLIMITED, |most| most.value as u64);
        let messages = limit(&self.transport.messages_in_flight).min(u64::from(u32::MAX)) as u32;
        Limits { messages, bytes: limit(&self.transport.window_bytes) }
    }

    /// Over TCP the kernel holds some of it; the window of near hosts is another one.
    fn connection(&self, rail: usize, mut terms: Terms, (out, into): (&Leg, &Leg)) -> Terms {
        let round_trip = latency(out, into, terms.flight) + terms.back;
        let Some(least) = &self.transport.unsent_bytes else { return terms };
        let fitting = self.testbed.rail[rail].speed() * round_trip.as_ns() / 1e9 * UNSENT_PART;
        let unsent = fitting.clamp(least.value, least.value.max(MOST_UNSENT));
        let buffer = terms.frame_bytes.unwrap_or(terms.mtu);
        let is_paced =
            matches!(self.testbed.rail[rail].parts(), Some(Parts::Emulated(model)) if model.by == Emulation::Emulator);
        terms.socket = Some(Socket::new(unsent as u64, buffer, is_paced));
        if let Some(window) = self.transport.near_window_bytes.as_ref().filter(|_| round_trip <= NEAR) {
            terms.limits.bytes = terms.limits.bytes.min(window.value as u64);
        }
        terms
    }

    fn shm_subchannel(&mut self, node: usize) -> (Flow, SubchannelSpec) {
        let path = self.within[node].clone().unwrap_or_else(|| self.shm_path(node));
        self.within[node] = Some(path.clone());
        self.subchannel(0, self.testbed.host.shm_mb_s.value * 1e6, Flow::new(path))
    }

    fn shm_path(&self, node: usize) -> Path {
        let (adapter, place) = self.shm[node];
        let host = &self.testbed.host;
        let copy =
            Hop { leaves: true, ..hop(place, Turn::Out, per_byte(host.shm_mb_s.value), host.shm_latency_ns.value) };
        let terms = Terms {
            mtu: 4096,
            burst: 4096,
            frame_bytes: None,
            packet_overhead: 0,
            back: Time::default(),
            flight: Time::default(),
            limits: Limits { messages: u32::MAX, bytes: UNLIMITED },
            acknowledged: Acknowledged::ByReceiver,
            socket: None,
        };
        let out = Leg { hops: vec![copy], adapter, back_through: None };
        Path { out: out.into(), into: Rc::default(), terms: terms.into() }
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

impl Topology for Fabric {
    fn subchannels_between(&mut self, _network: &mut Network, from: u32, to: u32) -> Vec<(Flow, SubchannelSpec)> {
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

/// Payload of a packet, and what it has around it beyond what links add.
fn packet(transport: &Transport, link_mtu: f64) -> (f64, f64) {
    let mtu = transport.mtu_bytes.as_ref().map_or(link_mtu, |mtu| mtu.value).max(1.0);
    (mtu, transport.header_bytes.as_ref().map_or(0.0, |bytes| bytes.value))
}

/// A packet of IP may be longer than one of the link.
fn link_packets(mtu: f64, link: &LinkModel) -> f64 {
    (mtu / link.mtu_bytes.value).max(1.0)
}

/// How late an emulator's timers are.
fn late(model: &EmulatedModel) -> Time {
    match model.by {
        Emulation::Shaper => Time::default(),
        Emulation::Emulator => Time::ns(model.late_us.value * 1e3),
    }
}

fn per_byte(mb_s: f64) -> Cost {
    Cost { byte_ps: 1e6 / mb_s, ..Cost::default() }
}

fn hop(place: Place, turn: Turn, cost: Cost, latency_ns: f64) -> Hop {
    Hop { place, turn, cost, latency: Time::ns(latency_ns), cut_through: false, leaves: false }
}
