//! Whether a path loses so many segments that a window which is halved with each cannot fill it.
//!
//! Such a window has 1.22 / sqrt(p) segments in the mean, where p is the part of the segments that is lost (Mathis, Semke,
//! Mahdavi, Ott 1997, "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm"). It fills the path where that is
//! the bytes of a round trip. A queue that overflows lets the window grow beyond these first, so its losses are fewer; what is
//! lost at once when a window opens, or when several connections meet, shows in few looks.

use crate::sys::tcp_info::TcpInfo;

/// The square of 1.22.
const SQUARE: f64 = 1.5;
/// A look at so many segments says something.
const LEAST_SEGMENTS: f64 = 16.0;
/// So many more looks have to show too many losses than do not.
const DECIDING_LOOKS: u8 = 8;

/// The losses of one connection.
#[derive(Clone, Debug)]
pub struct Losses {
    /// Bytes per second that the path may carry.
    rate: f64,
    looks: u8,
}

impl Losses {
    /// Of a path that carries `rate` bytes per second.
    pub fn of(rate: f64) -> Losses {
        Losses { rate, looks: 0 }
    }

    /// Another look at what the kernel says; `before`: what it said at the last one. Whether losses are too many.
    pub fn are_many(&mut self, before: &TcpInfo, info: &TcpInfo) -> bool {
        let segment = f64::from(info.segment_bytes.max(1));
        let acknowledged = info.acknowledged_bytes.saturating_sub(before.acknowledged_bytes) as f64 / segment;
        if acknowledged < LEAST_SEGMENTS {
            return false;
        }
        let filling = (self.rate * info.min_rtt_ns as f64 / 1e9 / segment).max(1.0);
        let part = f64::from(lost(before, info)) / acknowledged;
        self.looks = if part * filling * filling > SQUARE { self.looks + 1 } else { self.looks.saturating_sub(1) };
        self.looks >= DECIDING_LOOKS
    }
}

/// Segments lost between two looks. (The kernel also sends again what is only acknowledged late, as two short segments are to
/// which no data answer. What it had twice a near peer has told since.)
fn lost(before: &TcpInfo, info: &TcpInfo) -> u32 {
    let repeated = info.retransmitted.saturating_sub(before.retransmitted);
    repeated.saturating_sub(info.duplicates.saturating_sub(before.duplicates))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks of a path of 1 Gbit/s and 0.2 ms, which holds 17 segments: in each, 400 segments are acknowledged and so many lost.
    fn looks(lost: impl Fn(u32) -> u32) -> Option<u32> {
        let mut losses = Losses::of(125e6);
        let mut before = TcpInfo { min_rtt_ns: 200_000, segment_bytes: 1448, ..TcpInfo::default() };
        for at in 0..1000 {
            let acknowledged_bytes = before.acknowledged_bytes + 400 * 1448;
            let info = TcpInfo { acknowledged_bytes, retransmitted: before.retransmitted + lost(at), ..before };
            if losses.are_many(&before, &info) {
                return Some(at);
            }
            before = info;
        }
        None
    }

    #[test]
    fn a_path_that_loses_segments_all_the_time_loses_many() {
        assert_eq!(looks(|_| 20), Some(7), "5 %");
        assert!(looks(|at| 3 * u32::from(at % 4 != 0)).is_some());
    }

    #[test]
    fn a_queue_that_overflows_now_and_then_does_not() {
        assert_eq!(looks(|_| 0), None);
        assert_eq!(looks(|_| 1), None, "0.25 %: the window holds 24 segments");
        assert_eq!(looks(|at| 60 * u32::from(at % 3 == 0)), None, "bursts");
        assert_eq!(looks(|at| 100 * u32::from(at < 7)), None, "a window that opens");
    }

    #[test]
    fn what_was_only_late_or_little_was_not_lost() {
        let before = TcpInfo { min_rtt_ns: 200_000, segment_bytes: 1448, ..TcpInfo::default() };
        let info = TcpInfo { retransmitted: 9, duplicates: 9, acknowledged_bytes: 1 << 20, ..before };
        assert_eq!(lost(&before, &info), 0);
        let short = TcpInfo { retransmitted: 9, acknowledged_bytes: 4096, ..before };
        let mut losses = Losses::of(125e6);
        assert!((0..100).all(|_| !losses.are_many(&before, &short)));
    }
}
