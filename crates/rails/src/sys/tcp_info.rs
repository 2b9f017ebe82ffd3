//! What the kernel knows of a TCP connection.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct tcp_info` of linux/tcp.h, as far as it is used here.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawTcpInfo {
    state_to_app_limited: [u8; 8],
    rto_to_total_retrans: [u32; 24],
    pacing_to_bytes_received: [u64; 4],
    segs_out_to_notsent: [u32; 3],
    min_rtt_us: u32,
}

/// Where `tcpi_rtt` and `tcpi_total_retrans` stand among the 32-bit fields that start with `tcpi_rto`.
const RTT: usize = 15;
const TOTAL_RETRANS: usize = 23;

/// What the kernel knows of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpInfo {
    /// Least round trip time, in nanoseconds.
    pub min_rtt_ns: u64,
    /// Smoothed round trip time, in nanoseconds.
    pub rtt_ns: u64,
    /// Segments sent again so far.
    pub retransmitted: u32,
}

/// Asks the kernel.
pub fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    let mut raw = RawTcpInfo::default();
    let mut len = size_of::<RawTcpInfo>() as libc::socklen_t;
    // SAFETY: `raw` is valid for writes of `len` bytes; the kernel writes no more.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut raw).cast(), &mut len)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(TcpInfo {
        // The kernel says ~0 before the first measurement.
        min_rtt_ns: if raw.min_rtt_us == u32::MAX { 0 } else { u64::from(raw.min_rtt_us) * 1000 },
        rtt_ns: u64::from(raw.rto_to_total_retrans[RTT]) * 1000,
        retransmitted: raw.rto_to_total_retrans[TOTAL_RETRANS],
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
    }
}
