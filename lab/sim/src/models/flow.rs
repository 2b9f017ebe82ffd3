//! A flow: one connection over one adapter, such as a queue pair or a TCP stream, with its active traffic.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use super::path::Path;
use super::socket::Socket;
use super::time::Time;

/// Names a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowId(pub u32);

/// A message on its way.
#[derive(Debug)]
pub struct Message {
    /// The owner's name for it.
    pub token: u32,
    /// The flow that carries it.
    pub flow: FlowId,
    /// Its length.
    pub bytes: u64,
    /// Messages of one group count as one where a transport limits their number.
    pub group: u32,
    /// Handed to the first station so far.
    pub cut: u64,
    /// Arrived so far.
    pub arrived: u64,
    /// Length of its pieces.
    pub piece: u64,
    /// Passed the sender's adapter so far.
    pub left: u64,
}

/// A flow. Its memory matters: there are two for each pair of processes and each rail, most of them idle.
#[derive(Debug)]
pub struct Flow {
    /// Where it goes.
    pub path: Path,
    /// Active traffic, if any: an index into the network's table.
    pub traffic: Option<TrafficId>,
    /// Bytes acknowledged so far. Stops at 4 GiB, as slow start ends long before.
    pub acknowledged: u32,
    /// Whether it takes turns at its adapter.
    pub in_round: bool,
}

/// Index of a flow's active traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficId(pub NonZeroU32);

/// Active traffic of a flow.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Messages that are not completely cut into pieces yet, in order: names in the network's table.
    pub queue: VecDeque<u32>,
    /// Groups of messages begun and not acknowledged, in order.
    pub unacknowledged: VecDeque<u32>,
    /// Bytes begun and not acknowledged.
    pub bytes_under_way: u64,
    /// Socket buffer of the kernel, if modelled.
    pub socket: Option<Socket>,
    /// When the last frame arrived at the station that charges for frames.
    pub framed: Option<Time>,
    /// The last frame that arrived at a link: its time, and the bytes of its pieces so far.
    last_frame: (Time, u64),
}

impl Flow {
    /// An idle flow.
    pub fn new(path: Path) -> Flow {
        Flow { path, traffic: None, acknowledged: 0, in_round: false }
    }
}

impl Traffic {
    /// Packets that a piece adds to its frame: pieces that arrive simultaneously share packets.
    pub fn new_packets(&mut self, now: Time, bytes: u64, mtu: u64) -> u64 {
        let before = if self.last_frame.0 == now { self.last_frame.1 } else { 0 };
        self.last_frame = (now, before + bytes);
        (before + bytes).div_ceil(mtu) - before.div_ceil(mtu)
    }

    /// Whether the limits of messages and of bytes under way permit another piece of `bytes`. `first`: the group of its
    /// message, if it is the message's first piece.
    pub fn may_send(&self, (messages, window): (u32, u64), first: Option<u32>, bytes: u64) -> bool {
        let under_way = match (self.unacknowledged.front(), self.unacknowledged.back()) {
            (Some(oldest), Some(newest)) => newest.wrapping_sub(*oldest).wrapping_add(1),
            _ => 0,
        };
        let continues = first.is_none_or(|group| self.unacknowledged.back() == Some(&group));
        // A piece that is larger than the window goes alone.
        let has_room = self.bytes_under_way == 0 || self.bytes_under_way + bytes <= window;
        (continues || under_way < messages) && has_room
    }

    /// Forgets the last frames, before another flow takes this entry.
    pub fn forget_frames(&mut self) {
        (self.framed, self.last_frame) = (None, (Time::default(), 0));
    }

    /// Whether it is idle.
    pub fn is_over(&self) -> bool {
        let is_idle = |socket: &Socket| socket.is_idle();
        self.queue.is_empty()
            && self.unacknowledged.is_empty()
            && self.bytes_under_way == 0
            && self.socket.as_ref().is_none_or(is_idle)
    }
}
