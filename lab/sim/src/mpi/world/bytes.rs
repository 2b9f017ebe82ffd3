//! Processor time of bytes: a system call copies them, and runs the protocol, before it returns. While a process writes
//! to one rail it writes to no other.

use super::{Event, World};
use crate::models::flow::FlowId;

impl World {
    /// The process writes the data of its driver to a flow, if bytes have a cost: the kernel has each buffer once it is
    /// copied. Returns whether a write is under way.
    pub(super) fn write(&mut self, flow: FlowId) -> bool {
        let rank = self.ends[flow.0 as usize].from;
        let costs = self.ranks[rank as usize].costs;
        if costs.send_byte_ps == 0.0 {
            return false;
        }
        if self.ends[flow.0 as usize].unwritten > 0 {
            return true;
        }
        let (buffers, mut bytes) = self.network.takes(flow);
        self.ends[flow.0 as usize].unwritten = buffers;
        for left in (1..=u64::from(buffers)).rev() {
            let buffer = bytes.div_ceil(left);
            bytes -= buffer;
            let at = self.work(rank, self.calendar.now(), costs.send_bytes(buffer));
            self.calendar.enter(at, Event::Written(flow));
        }
        buffers > 0
    }

    /// The kernel has one more buffer.
    pub(super) fn written(&mut self, flow: FlowId) {
        self.network.take(&mut self.calendar, flow);
        self.process_notices();
        let unwritten = &mut self.ends[flow.0 as usize].unwritten;
        *unwritten -= 1;
        if *unwritten == 0 {
            self.flush(flow);
        }
    }

    /// Bytes have arrived: a process that polls reads them now, one that computes later.
    pub(super) fn bytes_arrived(&mut self, flow: FlowId, bytes: u64) {
        let rank = self.ends[flow.0 as usize].to;
        let process = &mut self.ranks[rank as usize];
        process.unread += bytes;
        if !process.is_computing {
            self.read_bytes(rank);
        }
    }

    /// A process reads the bytes that have arrived.
    pub(super) fn read_bytes(&mut self, rank: u32) {
        let process = &mut self.ranks[rank as usize];
        let cost = process.costs.receive_bytes(std::mem::take(&mut process.unread));
        if cost.0 > 0 {
            self.work(rank, self.calendar.now(), cost);
        }
    }
}
