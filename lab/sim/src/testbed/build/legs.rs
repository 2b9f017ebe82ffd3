//! The parts of paths: the stations at the sending and at the receiving node, and terms of the whole path.

use std::rc::Rc;

use super::super::Parameter;
use super::super::nodes::UNLIMITED;
use super::super::schema::{Bus, EmulatedModel, Emulation, Kind, LinkModel, Parts, Rail, Transport};
use super::inner::Blocks;
use super::{Distance, Fabric};
use crate::models::path::{Acknowledged, Cost, Hop, Leg, Limits, Path, Place, Terms, latency};
use crate::models::socket::Socket;
use crate::models::station::Turn;
use crate::models::time::Time;

/// The longest round trip between near hosts, as the driver has it (transport/rails: `link/congestion.rs`).
const NEAR: Time = Time(300_000_000);
/// Over longer ones the kernel may hold this part of what a round trip holds unsent (transport/rails: `connect/socket.rs`),
const UNSENT_PART: f64 = 0.25;
/// but at most this number of bytes.
const MAX_UNSENT: f64 = 1024.0 * 1024.0;

impl Fabric {
    /// How a path leaves a node.
    pub(super) fn leg_out(&self, rail: usize, from: usize, distance: Distance) -> Leg {
        let mut hops = Vec::new();
        let model = &self.testbed.rail[rail];
        match model.parts() {
            Some(Parts::Hardware(_, _, link, _)) => {
                self.sender(&mut hops, model, (from, rail), self.on_wire(link));
                self.middle(&mut hops, (from, rail), distance, self.on_wire(link));
            }
            Some(Parts::Emulated(emulated)) => self.emulator(&mut hops, emulated, (from, rail)),
            None => unreachable!("checked when the testbed was read"),
        }
        Leg { hops, adapter: self.slots[from][rail].adapter, back_through: None }
    }

    /// How a path enters a node.
    pub(super) fn leg_into(&self, rail: usize, to: usize) -> Leg {
        let (mut hops, mut back_through) = (Vec::new(), None);
        let model = &self.testbed.rail[rail];
        match model.parts() {
            Some(Parts::Hardware(_, _, link, _)) => self.receiver(&mut hops, model, (to, rail), self.on_wire(link)),
            Some(Parts::Emulated(emulated)) => {
                let far = &self.slots[to][rail];
                if emulated.switched {
                    hops.push(hop(far.port_in, Turn::In, Cost::default(), 0.0));
                }
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
        1.0 + (overhead * link_packets(mtu, link)) / mtu
    }

    /// Terms common to all paths over a rail.
    pub(super) fn new_terms(&self, rail: usize, distance: Distance, legs: (&Leg, &Leg)) -> Terms {
        let terms = match self.testbed.rail[rail].parts() {
            Some(Parts::Hardware(bus, _, link, _)) => self.hardware_terms((bus, link), distance, legs),
            Some(Parts::Emulated(model)) => self.emulated_terms(model),
            None => unreachable!("checked when the testbed was read"),
        };
        self.connection(rail, terms, legs)
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

    fn middle(&self, hops: &mut Vec<Hop>, (from, rail): (usize, usize), distance: Distance, on_wire: f64) {
        let model = &self.testbed.rail[rail];
        let Some(Parts::Hardware(_, _, link, switch)) = model.parts() else { return };
        if distance.crosses_wan
            && let Some(place) = self.wan.get(self.placement.cluster_of(from).min(1))
        {
            hops.push(hop(*place, Turn::Out, Cost::default(), switch.latency_ns.value));
        }
        let latency_ns = link.cable_ns.value + switch.latency_ns.value;
        match (distance.blocks, hops.last_mut()) {
            (Blocks::Through(route), _) => {
                let port = Cost { byte_ps: on_wire * 8e6 / link.mbit.value, ..Cost::default() };
                for place in self.inner.on(rail, route) {
                    let through = hop(place, Turn::Out, port, latency_ns);
                    hops.push(Hop { cut_through: switch.cut_through, ..through });
                }
            }
            (Blocks::Apart, Some(last)) => last.latency = last.latency + Time::ns(2.0 * latency_ns),
            _ => {}
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
        let ns = |parameter: &Option<Parameter>| parameter.as_ref().map_or(0.0, |value| value.value);
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
        let limit = |parameter: &Option<Parameter>| parameter.as_ref().map_or(UNLIMITED, |most| most.value as u64);
        let messages = limit(&self.transport.messages_in_flight).min(u64::from(u32::MAX)) as u32;
        Limits { messages, bytes: limit(&self.transport.window_bytes), first_bytes: UNLIMITED }
    }

    /// Over TCP the kernel holds some of it; the window of near hosts is another one.
    fn connection(&self, rail: usize, mut terms: Terms, (out, into): (&Leg, &Leg)) -> Terms {
        let round_trip = latency(out, into, terms.flight) + terms.back;
        let Some(least) = &self.transport.unsent_bytes else { return terms };
        let fitting = self.testbed.rail[rail].speed() * round_trip.as_ns() / 1e9 * UNSENT_PART;
        let unsent = fitting.clamp(least.value, least.value.max(MAX_UNSENT));
        let buffer = terms.frame_bytes.unwrap_or(terms.mtu);
        let is_paced =
            matches!(self.testbed.rail[rail].parts(), Some(Parts::Emulated(model)) if model.by == Emulation::Emulator);
        terms.socket = Some(Socket::new(unsent as u64, buffer, is_paced));
        if let Some(window) = self.transport.near_window_bytes.as_ref().filter(|_| round_trip <= NEAR) {
            terms.limits.bytes = terms.limits.bytes.min(window.value as u64);
        }
        if let Some(window) = self.transport.first_window_bytes.as_ref().filter(|_| round_trip > NEAR) {
            terms.limits.first_bytes = window.value as u64;
        }
        terms
    }

    /// The path within a node.
    pub(super) fn shm_path(&self, node: usize) -> Path {
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
            limits: Limits { messages: u32::MAX, bytes: UNLIMITED, first_bytes: UNLIMITED },
            acknowledged: Acknowledged::ByReceiver,
            socket: None,
        };
        let out = Leg { hops: vec![copy], adapter, back_through: None };
        Path { out: out.into(), into: Rc::default(), terms: terms.into() }
    }
}

/// Payload of a packet, and what it has around it beyond what links add.
pub(super) fn packet(transport: &Transport, link_mtu: f64) -> (f64, f64) {
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
