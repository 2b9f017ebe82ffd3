//! Detects paths with a loss rate at which a window that is halved at each loss cannot fill the path.
//!
//! Such a window has 1.22 / sqrt(p) segments in the mean, where p is the loss rate (Mathis, Semke, Mahdavi, Ott 1997, "The
//! Macroscopic Behavior of the TCP Congestion Avoidance Algorithm"). It fills the path if it is at least the bandwidth-delay
//! product. A queue that overflows lets the window grow beyond that first, so that its losses are fewer. Bursts of losses, when a
//! window opens or several connections meet, show in few samples.

use crate::sys::tcp_info::TcpInfo;

/// The square of 1.22.
const SQUARE: f64 = 1.5;
/// Segments that a sample needs to count.
const MIN_SEGMENTS: f64 = 16.0;
/// By how many the samples with too many losses have to exceed the others.
const DECIDING_SAMPLES: u8 = 8;

/// The losses of one connection.
#[derive(Clone, Debug)]
pub struct Losses {
    /// Bytes per second that the path may carry.
    rate: f64,
    samples: u8,
}

impl Losses {
    /// Of a path that carries `rate` bytes per second.
    pub fn of(rate: f64) -> Losses {
        Losses { rate, samples: 0 }
    }

    /// Takes a sample of the kernel's data; `before`: the last one. Returns whether losses are too many.
    pub fn are_many(&mut self, before: &TcpInfo, info: &TcpInfo) -> bool {
        let segment = f64::from(info.segment_bytes.max(1));
        let acknowledged = info.acknowledged_bytes.saturating_sub(before.acknowledged_bytes) as f64 / segment;
        if acknowledged < MIN_SEGMENTS {
            return false;
        }
        let filling = (self.rate * info.min_rtt_ns as f64 / 1e9 / segment).max(1.0);
        let part = f64::from(lost(before, info)) / acknowledged;
        self.samples =
            if part * filling * filling > SQUARE { self.samples + 1 } else { self.samples.saturating_sub(1) };
        self.samples >= DECIDING_SAMPLES
    }
}

/// Segments lost between two samples. (The kernel also retransmits segments that are only acknowledged late, as two short ones are
/// that are not answered by data. A near peer has reported these as duplicates since.)
fn lost(before: &TcpInfo, info: &TcpInfo) -> u32 {
    let repeated = info.retransmitted.saturating_sub(before.retransmitted);
    repeated.saturating_sub(info.duplicates.saturating_sub(before.duplicates))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of a path of 1 Gbit/s and 0.2 ms, whose window is 17 segments: in each, 400 segments are acknowledged and `lost`
    /// segments lost.
    fn samples_until_many(lost: impl Fn(u32) -> u32) -> Option<u32> {
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
        assert_eq!(samples_until_many(|_| 20), Some(7), "5 %");
        assert!(samples_until_many(|at| 3 * u32::from(at % 4 != 0)).is_some());
    }

    #[test]
    fn a_queue_that_overflows_now_and_then_does_not() {
        assert_eq!(samples_until_many(|_| 0), None);
        assert_eq!(samples_until_many(|_| 1), None, "0.25 %: the window holds 24 segments");
        assert_eq!(samples_until_many(|at| 60 * u32::from(at % 3 == 0)), None, "bursts");
        assert_eq!(samples_until_many(|at| 100 * u32::from(at < 7)), None, "a window that opens");
    }

    #[test]
    fn few_or_late_segments_were_not_lost() {
        let before = TcpInfo { min_rtt_ns: 200_000, segment_bytes: 1448, ..TcpInfo::default() };
        let info = TcpInfo { retransmitted: 9, duplicates: 9, acknowledged_bytes: 1 << 20, ..before };
        assert_eq!(lost(&before, &info), 0);
        let short = TcpInfo { retransmitted: 9, acknowledged_bytes: 4096, ..before };
        let mut losses = Losses::of(125e6);
        assert!((0..100).all(|_| !losses.are_many(&before, &short)));
    }
}
