//! Components of each node for each rail: stations, an adapter, the emulation of the rail.

use std::collections::BTreeMap;

use fishplate_link::{Link, Rate, Settings};

use super::schema::{EmulatedModel, Emulation, Parts, Testbed};
use crate::models::adapter::Adapter;
use crate::models::network::Network;
use crate::models::path::Place;
use crate::models::shaper::Shaper;
use crate::models::time::Time;

/// A subchannel without a limit takes whatever is cut.
pub(super) const UNLIMITED: u64 = 1 << 60;

/// Stations of a node, per rail.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub adapter: u32,
    pub send: Place,
    pub receive: Place,
    pub bus_out: Place,
    pub bus_in: Place,
    pub port_out: Place,
    pub pacing: Place,
    pub port_in: Place,
    pub kernel_send: Place,
    pub kernel_receive: Place,
}

/// The stations of a new node.
pub(super) fn node(network: &mut Network, testbed: &Testbed, packet: (f64, f64), seed: u64) -> Vec<Slot> {
    let mut buses: BTreeMap<&str, (Place, Place)> = BTreeMap::new();
    let mut slots: Vec<Slot> = Vec::new();
    for (number, rail) in testbed.rail.iter().enumerate() {
        let (port, _) = testbed.port(number);
        if let Some(shared) = slots.get(port).copied() {
            slots.push(shared);
            continue;
        }
        let (memory, (pacing, port_out), bus) = match rail.parts() {
            Some(Parts::Hardware(bus, adapter, ..)) => {
                let port = network.add_station();
                (adapter.memory_bytes.value as u64, (port, port), Some(bus))
            }
            Some(Parts::Emulated(model)) => (UNLIMITED, emulation(network, model, packet, seed + number as u64), None),
            None => unreachable!("checked when the testbed was read"),
        };
        let port_in = match rail.parts() {
            Some(Parts::Emulated(model)) if model.switched => switch_port(network, model, packet),
            _ => network.add_station(),
        };
        let mut new_bus = |shared: bool| {
            let out = network.add_station();
            (out, if shared { out } else { network.add_station() })
        };
        let (bus_out, bus_in) = match bus {
            Some(bus) => *buses.entry(&bus.name).or_insert_with(|| new_bus(bus.shared)),
            None => new_bus(true),
        };
        slots.push(Slot {
            adapter: network.add_adapter(Adapter::new(memory)),
            send: network.add_station(),
            receive: network.add_station(),
            bus_out,
            bus_in,
            port_out,
            pacing,
            port_in,
            kernel_send: network.add_station(),
            kernel_receive: network.add_station(),
        });
    }
    slots
}

/// The port of a switch to a receiver. What comes from several senders queues there.
fn switch_port(network: &mut Network, model: &EmulatedModel, (packet, headers): (f64, f64)) -> Place {
    let packet = (packet as u64, (headers + model.gap_bytes.value) as u64);
    let (rate, frame, none) = (model.mbit.value, model.frame_bytes.value as u64, Time::default());
    network.add_shaper(Shaper::new(rate, none, frame, packet, none))
}

/// Pacing and emulation of a rail, for one sender.
fn emulation(network: &mut Network, model: &EmulatedModel, (packet, headers): (f64, f64), seed: u64) -> (Place, Place) {
    let frame = model.frame_bytes.value as u64;
    let packet = (packet as u64, (headers + model.gap_bytes.value) as u64);
    let mut shaper = |bucket, late| network.add_shaper(Shaper::new(model.mbit.value, bucket, frame, packet, late));
    match model.by {
        Emulation::Shaper => {
            let place = shaper(Time::ns(model.bucket_us.value * 1e3), Time::ns(model.timer_us.value * 1e3));
            (place, place)
        }
        Emulation::Emulator => {
            let settings = Settings {
                rate: Rate::try_from((model.mbit.value * 1e6) as u64).ok(),
                delay_ns: (model.delay_us.value * 1e3) as u64,
                // Real senders keep the queue short enough to lose nothing; the model's have no losses to learn from.
                queue_bytes: Some(u64::MAX),
                ..Settings::default()
            };
            let pacing = shaper(Time::default(), Time::default());
            (pacing, network.add_link(Link::new(settings, seed)))
        }
    }
}
