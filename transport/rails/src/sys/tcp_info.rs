//! The kernel's data on a TCP connection (`TCP_INFO`).

use std::io;
use std::os::fd::BorrowedFd;

use super::option::tcp_option;

/// Position of the byte whose lowest bit is `tcpi_delivery_rate_app_limited`: libc leaves it out, as it has names for bytes only.
const APP_LIMITED: usize = 7;

/// What the kernel fills.
union Raw {
    info: libc::tcp_info,
    bytes: [u8; size_of::<libc::tcp_info>()],
}

/// A round trip shows a queue if it exceeds the minimum by the minimum divided by this, plus [`QUEUE_NS`].
const QUEUE_PART: u64 = 4;
/// Time in nanoseconds by which answers are late where processes share a core.
pub const QUEUE_NS: u64 = 1_000_000;

/// The kernel's data on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpInfo {
    /// Least round trip time, in nanoseconds; 0: not measured yet.
    pub min_rtt_ns: u64,
    /// Smoothed round trip time, in nanoseconds.
    pub rtt_ns: u64,
    /// Segments sent again so far.
    pub retransmitted: u32,
    /// Segments that the peer has reported as duplicates (RFC 2883).
    pub duplicates: u32,
    /// CongestionControl window, in segments.
    pub window: u32,
    /// Bytes of a full segment.
    pub segment_bytes: u32,
    /// Segments sent and not acknowledged.
    pub unacknowledged: u32,
    /// Bytes sent that were acknowledged so far.
    pub acknowledged_bytes: u64,
    /// Unanswered zero-window probes.
    pub probes: u8,
    /// Time since the last acknowledgement, in nanoseconds.
    pub silent_ns: u64,
    /// Unsent bytes in the kernel.
    pub unsent_bytes: u32,
    /// Bytes delivered per second, as measured last; 0: not measured yet.
    pub delivery_rate: u64,
    /// The delivery rate was measured while the sender was application-limited.
    pub app_limited: bool,
}

impl TcpInfo {
    /// Whether the round trip shows a queue, or a machine that is busy.
    pub fn shows_queue(&self) -> bool {
        self.rtt_ns > self.min_rtt_ns + self.min_rtt_ns / QUEUE_PART + QUEUE_NS
    }

    /// Whether the kernel has unsent or unacknowledged bytes.
    pub fn is_waiting(&self) -> bool {
        self.unacknowledged > 0 || self.unsent_bytes > 0
    }

    /// Whether the kernel waits for an answer of the peer: to data, or, where it probes `often`, to a zero-window probe.
    pub fn is_unanswered(&self, often: bool) -> bool {
        self.unacknowledged > 0 || self.probes > 0 || (often && self.unsent_bytes > 0)
    }

    /// Congestion window, in bytes.
    pub fn window_bytes(&self) -> u64 {
        u64::from(self.window) * u64::from(self.segment_bytes)
    }
}

/// Queries the kernel.
pub fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    // Old kernels fill less of it; the rest stays zero.
    let mut raw = Raw { bytes: [0; size_of::<libc::tcp_info>()] };
    // SAFETY: it has numbers only.
    unsafe { tcp_option(socket, libc::TCP_INFO, &mut raw) }?;
    // SAFETY: same; all its bytes were set.
    let (info, bytes) = unsafe { (raw.info, raw.bytes) };
    Ok(TcpInfo {
        // The kernel says ~0 before the first measurement.
        min_rtt_ns: if info.tcpi_min_rtt == u32::MAX { 0 } else { u64::from(info.tcpi_min_rtt) * 1000 },
        rtt_ns: u64::from(info.tcpi_rtt) * 1000,
        retransmitted: info.tcpi_total_retrans,
        duplicates: info.tcpi_dsack_dups,
        window: info.tcpi_snd_cwnd,
        segment_bytes: info.tcpi_snd_mss,
        unacknowledged: info.tcpi_unacked,
        acknowledged_bytes: info.tcpi_bytes_acked,
        probes: info.tcpi_probes,
        silent_ns: u64::from(info.tcpi_last_ack_recv) * 1_000_000,
        unsent_bytes: info.tcpi_notsent_bytes,
        delivery_rate: info.tcpi_delivery_rate,
        app_limited: bytes[APP_LIMITED] & 1 != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn a_connection_over_loopback_shows_a_round_trip() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        for _ in 0..20 {
            client.write_all(&[1; 10_000]).unwrap();
            server.read_exact(&mut [0; 10_000]).unwrap();
        }
        let info = tcp_info(client.as_fd()).unwrap();
        assert!(info.rtt_ns > 0 && info.rtt_ns < 1_000_000_000, "{info:?}");
        assert!(info.min_rtt_ns > 0 && info.min_rtt_ns < 1_000_000_000, "{info:?}");
        assert_eq!(info.retransmitted, 0);
        assert!(info.window_bytes() >= 10_000 && info.segment_bytes > 0, "{info:?}");
    }
}
