//! The way of a message from one adapter to another: the stations that it passes, and what each costs.

use std::rc::Rc;

use super::socket::Socket;
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

/// Service time of a station for a piece of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// For the first piece of each message.
    pub message: Time,
    /// For each packet.
    pub packet: Time,
    /// For each byte, in picoseconds.
    pub byte_ps: f64,
    /// Cost per frame: pieces of a flow that arrive simultaneously are one frame.
    pub frame: Time,
}

/// One step of a path.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Where.
    pub place: Place,
    /// Which of the station's two queues it joins.
    pub turn: Turn,
    /// Service time at the station.
    pub cost: Cost,
    /// From there to the next.
    pub latency: Time,
    /// Cut-through: a piece reaches the next station at the start of its service.
    pub cut_through: bool,
    /// Here the data has left the adapter's own memory.
    pub leaves: bool,
}

/// Hops that the paths of many flows have in common.
#[derive(Debug, Default)]
pub struct Leg {
    /// In order.
    pub hops: Vec<Hop>,
    /// The adapter that sends, at the beginning of a path.
    pub adapter: u32,
    /// At the end of a path: the shaper that an acknowledgement waits at on its way back, behind what the other direction
    /// has queued there.
    pub back_through: Option<Place>,
}

/// When the sender is notified that a message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// At the acknowledgement of the receiver's adapter or kernel.
    ByReceiver,
    /// As soon as it has left, without acknowledgement (unreliable datagrams).
    WhenLeft,
}

/// Window of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Messages without acknowledgement.
    pub messages: u32,
    /// Bytes without acknowledgement.
    pub bytes: u64,
    /// Initial window; grows by the bytes acknowledged (TCP's slow start, RFC 5681, section 3.1).
    pub first_bytes: u64,
}

impl Limits {
    /// Window in bytes after `acknowledged` bytes were acknowledged.
    pub fn window(&self, acknowledged: u64) -> u64 {
        self.bytes.min(self.first_bytes.saturating_add(acknowledged))
    }
}

/// Packets of a path, and the window of its transport. Paths over one rail differ here only by distance.
#[derive(Debug)]
pub struct Terms {
    /// Payload of a packet, in bytes.
    pub mtu: u64,
    /// Unit in which adapters fetch and forward data: a packet or a part of one.
    pub burst: u64,
    /// Longest piece that a message is cut into, where the sender makes frames of many packets.
    pub frame_bytes: Option<u64>,
    /// Headers, trailers and gaps of a packet on links, in bytes.
    pub packet_overhead: u64,
    /// Time of an acknowledgement on its way back.
    pub back: Time,
    /// Flight over links, which their models add themselves.
    pub flight: Time,
    /// Window of the transport.
    pub limits: Limits,
    /// When the sender is notified.
    pub acknowledged: Acknowledged,
    /// Socket buffer of the kernel, if modelled; otherwise all posted data can be sent.
    pub socket: Option<Socket>,
}

/// A path from a sender to a receiver.
#[derive(Clone, Debug)]
pub struct Path {
    /// From the sender on.
    pub out: Rc<Leg>,
    /// To the receiver.
    pub into: Rc<Leg>,
    /// Terms of the path.
    pub terms: Rc<Terms>,
}

impl Path {
    /// A hop by its position.
    #[inline]
    pub fn hop(&self, at: usize) -> Option<&Hop> {
        self.out.hops.get(at).or_else(|| self.into.hops.get(at - self.out.hops.len()))
    }

    /// Minimum time from end to end, for a message without bytes.
    pub fn latency(&self) -> Time {
        latency(&self.out, &self.into, self.terms.flight)
    }
}

/// Minimum time over the hops of two legs and the links' flight.
pub fn latency(out: &Leg, into: &Leg, flight: Time) -> Time {
    let hops = out.hops.iter().chain(&into.hops);
    hops.fold(flight, |sum, hop| sum + hop.cost.message + hop.cost.packet + hop.latency)
}

impl Terms {
    /// Number of packets that begin within `bytes` bytes of a message, after the first `before` bytes.
    pub fn packets(&self, before: u64, bytes: u64) -> u64 {
        (before + bytes).div_ceil(self.mtu) - before.div_ceil(self.mtu)
    }
}

impl Cost {
    /// For a piece of `bytes` in `packets`.
    pub fn service(&self, first: bool, packets: u64, bytes: u64) -> Time {
        let message = if first { self.message } else { Time::default() };
        Time(message.0 + self.packet.0 * packets + rounded(self.byte_ps * bytes as f64))
    }
}

/// To the nearest whole number, as `round` does it, which is a call on processors without an instruction for it.
fn rounded(value: f64) -> u64 {
    let whole = value as u64;
    whole + u64::from(value - whole as f64 >= 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_opens_by_what_is_acknowledged() {
        let limits = Limits { messages: u32::MAX, bytes: 100_000, first_bytes: 14_480 };
        assert_eq!([0, 14_480, 90_000, u64::MAX].map(|bytes| limits.window(bytes)), [14_480, 28_960, 100_000, 100_000]);
    }

    #[test]
    fn times_are_rounded_to_the_nearest() {
        for value in [0.0, 0.4, 0.5, 0.499_999_999_999_999_94, 1.5, 2.5, 1e9 + 0.5, 4.1e15, 7.3e17] {
            assert_eq!(rounded(value), value.round() as u64, "{value}");
        }
    }
}
