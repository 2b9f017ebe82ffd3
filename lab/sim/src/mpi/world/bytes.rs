//! What bytes cost a process: a system call copies them, and takes them through the protocol, before it returns. While a
//! process feeds one rail it feeds no other.

use super::{Event, World};
use crate::models::flow::FlowId;

impl World {
    /// The process writes what its driver has for a flow, if bytes cost it anything: the kernel has each buffer once that
    /// is copied. True: it has begun, or goes on with what it has begun.
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

    /// The kernel has a buffer more.
    pub(super) fn written(&mut self, flow: FlowId) {
        self.network.take(&mut self.calendar, flow);
        self.process_notices();
        let unwritten = &mut self.ends[flow.0 as usize].unwritten;
        *unwritten -= 1;
        if *unwritten == 0 {
            self.flush(flow);
        }
    }

    /// Bytes have arrived: a process that polls reads them, one that computes will.
    pub(super) fn bytes_arrived(&mut self, flow: FlowId, bytes: u64) {
        let rank = self.ends[flow.0 as usize].to;
        let process = &mut self.ranks[rank as usize];
        process.unread += bytes;
        if !process.is_computing {
            self.read_bytes(rank);
        }
    }

    /// A process reads what has arrived.
    pub(super) fn read_bytes(&mut self, rank: u32) {
        let process = &mut self.ranks[rank as usize];
        let cost = process.costs.receive_bytes(std::mem::take(&mut process.unread));
        if cost.0 > 0 {
            self.work(rank, self.calendar.now(), cost);
        }
    }
}
