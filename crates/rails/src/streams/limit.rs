//! Whether a connection's window limits it.

use super::FULL;
use crate::sys::tcp_info::TcpInfo;

/// Buffers limit a connection when they did for this part of the time in which it had something to send.
const BUFFERS_PART: f64 = 0.5;

/// Whether between two samples the connection could have sent more with a longer window: the congestion window was full
/// while bytes waited, or the buffer at either end was, and the round trip shows no queue on the path. With a peer that
/// does not read, nothing is in flight.
pub fn limits(before: &TcpInfo, now: &TcpInfo) -> bool {
    if now.shows_queue() || now.unacknowledged == 0 {
        return false;
    }
    let by_window = now.unsent_bytes > 0 && f64::from(now.unacknowledged) >= f64::from(now.window) * FULL;
    let busy_us = now.busy_us.saturating_sub(before.busy_us);
    let held_us = now.held_by_buffers_us.saturating_sub(before.held_by_buffers_us);
    by_window || (held_us > 0 && held_us as f64 >= busy_us as f64 * BUFFERS_PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// The window is full while bytes wait.
    fn full() -> TcpInfo {
        let (min_rtt_ns, rtt_ns) = (20 * MS, 21 * MS);
        TcpInfo { min_rtt_ns, rtt_ns, window: 40, unacknowledged: 40, unsent_bytes: 100_000, ..TcpInfo::default() }
    }

    #[test]
    fn a_full_window_limits_while_bytes_wait_and_no_queue_is_seen() {
        assert!(limits(&TcpInfo::default(), &full()));
        assert!(!limits(&TcpInfo::default(), &TcpInfo { unsent_bytes: 0, ..full() }));
        assert!(!limits(&TcpInfo::default(), &TcpInfo { rtt_ns: 27 * MS, ..full() }));
        // Whoever paces keeps half of the window free.
        assert!(!limits(&TcpInfo::default(), &TcpInfo { unacknowledged: 22, ..full() }));
    }

    #[test]
    fn full_buffers_limit_when_they_did_most_of_the_time() {
        let before = TcpInfo { unacknowledged: 20, busy_us: 1_000_000, held_by_buffers_us: 200_000, ..full() };
        let later = |held_us: u64| TcpInfo { busy_us: 1_005_000, held_by_buffers_us: 200_000 + held_us, ..before };
        assert!(limits(&before, &later(4_000)));
        assert!(!limits(&before, &later(1_000)));
        assert!(!limits(&before, &before));
        assert!(!limits(&before, &TcpInfo { unacknowledged: 0, ..later(4_000) }), "the peer does not read");
    }
}
