//! The way of a message from one adapter to another: the stations that it passes, and what each costs.

use std::rc::Rc;

use super::station::Turn;
use super::time::Time;

/// A station of the network, or a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// By number.
    Station(u32),
    /// A link of `fishplate_link`, by number.
    Link(u32),
    /// A shaper, by number.
    Shaper(u32),
}

/// What a station takes for a piece of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// For the first piece of each message.
    pub message: Time,
    /// For each packet.
    pub packet: Time,
    /// For each byte, in picoseconds.
    pub byte_ps: f64,
    /// For each frame: pieces of a flow that come at the same time are one.
    pub frame: Time,
}

/// One step of a path.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Where.
    pub place: Place,
    /// Whose turn.
    pub turn: Turn,
    /// What it costs there.
    pub cost: Cost,
    /// From there to the next.
    pub latency: Time,
    /// A piece goes on while it is still being served: what follows sees it at the start of the service.
    pub cut_through: bool,
    /// Here the data has left the adapter's own memory.
    pub leaves: bool,
}

/// A path, and what packets are like on it.
#[derive(Clone, Debug)]
pub struct Path {
    /// In order.
    pub hops: Rc<[Hop]>,
    /// Payload of a packet, in bytes.
    pub mtu: u64,
    /// What adapters fetch and pass on at a time: a packet, or a part of one.
    pub burst: u64,
    /// Longest piece that a message is cut into, where the sender makes frames of many packets.
    pub frame_bytes: Option<u64>,
    /// Headers, trailers and gaps of a packet on links, in bytes.
    pub packet_overhead: u64,
    /// How long an acknowledgement takes back.
    pub back: Time,
    /// The shaper that an acknowledgement waits at on its way back, behind what the other direction has queued there.
    pub back_through: Option<Place>,
    /// Flight over links, which their models add themselves.
    pub flight: Time,
}

impl Path {
    /// Packets that begin within `bytes` of a message, of which so many are before them.
    pub fn packets(&self, before: u64, bytes: u64) -> u64 {
        (before + bytes).div_ceil(self.mtu) - before.div_ceil(self.mtu)
    }

    /// Least time from end to end, for a message without bytes.
    pub fn latency(&self) -> Time {
        self.hops.iter().fold(self.flight, |sum, hop| sum + hop.cost.message + hop.cost.packet + hop.latency)
    }
}

impl Cost {
    /// For a piece of `bytes` in `packets`.
    pub fn service(&self, first: bool, packets: u64, bytes: u64) -> Time {
        let message = if first { self.message } else { Time::default() };
        Time(message.0 + self.packet.0 * packets + (self.byte_ps * bytes as f64).round() as u64)
    }
}
