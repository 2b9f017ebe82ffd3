//! Which congestion control a link uses when the user does not say.
//!
//! The system's may pace what it sends (BBR does), by a timer of the kernel for every packet. Between near hosts with
//! nothing in between that queues, that costs more than the packet itself. So a near link starts with the one algorithm
//! that every Linux has and that does not pace, and goes back to the system's for good at the first sign of a queue.

use std::net::TcpStream;
use std::os::fd::AsFd;

use socket2::SockRef;

use crate::sys::tcp_info::{TcpInfo, tcp_info};

/// What near links use.
const WITHOUT_PACING: &[u8] = b"reno";
/// Longest round trip of a near link, in nanoseconds: within a cluster, not beyond.
const NEAR_RTT_NS: u64 = 300_000;
/// Longest smoothed round trip without a queue, in nanoseconds. Processes that share a core take as long to answer.
const QUEUED_RTT_NS: u64 = 1_000_000;

/// A near link's way back to the system's algorithm, whose name it keeps.
#[derive(Debug)]
pub struct Near {
    system: Vec<u8>,
}

impl Near {
    /// Makes `socket`, just connected, a near link's, if it is one.
    pub fn begin(socket: &TcpStream) -> Option<Near> {
        let info = tcp_info(socket.as_fd()).ok()?;
        let system = SockRef::from(socket).tcp_congestion().ok()?;
        let near = info.rtt_ns <= NEAR_RTT_NS && SockRef::from(socket).set_tcp_congestion(WITHOUT_PACING).is_ok();
        near.then_some(Near { system })
    }

    /// Whether the path shows a queue.
    pub fn is_over(&self, info: &TcpInfo) -> bool {
        info.retransmitted > 0 || info.rtt_ns > QUEUED_RTT_NS
    }

    /// Goes back to the system's algorithm.
    pub fn end(self, socket: &TcpStream) {
        let name = self.system.split(|byte| *byte == 0).next().unwrap_or_default();
        let _ = SockRef::from(socket).set_tcp_congestion(name);
    }
}
