//! Bounds the pacing rate of BBR's Startup phase once the path is seen to be full.
//!
//! In Startup BBR sends at 2.9 times the delivery rate, until three round trips in a row have not raised it
//! (net/ipv4/tcp_bbr.c of Linux, `bbr_check_full_bw_reached`). Round trips in which the sender ran out of data do not
//! count. So a link that carries a message now and then stays in Startup long after its path was full: the next message of
//! some megabytes overflows the queue, and waits for retransmissions. Once the round trip has shown a queue, the path
//! carries little more than the delivery rate: from then on Startup is paced at 1.25 times that.

use crate::sys::bbr::Bbr;
use crate::sys::tcp_info::TcpInfo;

/// Pacing rate over delivery rate, at most: the gain with which BBR probes for bandwidth later. At 1.5 the last frames of a
/// message of 1 MiB over 1 ms were lost now and then, and BBR estimated a tenth of the path's rate.
const GAIN: f64 = 1.25;
/// Bytes that have to be acknowledged between two samples for their round trip to show a queue. Round trips are long also where
/// processes share a core, and shorter messages make BBR estimate a fraction of the path's rate.
const MIN_BYTES: u64 = 384 << 10;
/// No pacing limit.
const UNBOUNDED: u64 = u64::MAX;

/// The pacing limit of a link in BBR's Startup.
#[derive(Debug, Default)]
pub struct StartupPacing {
    /// Bytes per second, once a queue has shown.
    bound: Option<u64>,
}

impl StartupPacing {
    /// Takes a sample of the kernel's data; `before`: the last one. Returns the new pacing limit, in bytes per second, if it has
    /// changed.
    pub fn update(&mut self, bbr: &Bbr, before: &TcpInfo, info: &TcpInfo) -> Option<u64> {
        let bound = if !bbr.is_startup {
            None
        } else if self.bound.is_some() || shows_queue(before, info) {
            Some((bbr.bandwidth as f64 * GAIN) as u64)
        } else {
            return None;
        };
        let changed = bound != self.bound;
        self.bound = bound;
        changed.then(|| bound.unwrap_or(UNBOUNDED))
    }
}

fn shows_queue(before: &TcpInfo, info: &TcpInfo) -> bool {
    let bytes = info.acknowledged_bytes.saturating_sub(before.acknowledged_bytes);
    info.shows_queue() && bytes >= MIN_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const STARTING: Bbr = Bbr { bandwidth: 100_000_000, is_startup: true };

    /// The kernel's state after `acknowledged` segments were acknowledged.
    fn info(rtt_ms: u64, acknowledged: u64) -> TcpInfo {
        let (rtt_ns, min_rtt_ns) = (rtt_ms * MS, 20 * MS);
        TcpInfo { rtt_ns, min_rtt_ns, acknowledged_bytes: acknowledged * 1448, ..TcpInfo::default() }
    }

    #[test]
    fn a_start_is_bound_from_the_first_queue_until_it_ends() {
        let mut start = StartupPacing::default();
        assert_eq!(start.update(&STARTING, &info(20, 0), &info(22, 400)), None);
        assert_eq!(start.update(&STARTING, &info(22, 400), &info(35, 800)), Some(125_000_000));
        let more = Bbr { bandwidth: 120_000_000, ..STARTING };
        assert_eq!(
            start.update(&more, &info(35, 800), &info(22, 801)),
            Some(150_000_000),
            "it is still looked for more"
        );
        assert_eq!(start.update(&more, &info(22, 801), &info(22, 802)), None);
        let ended = Bbr { is_startup: false, ..more };
        assert_eq!(start.update(&ended, &info(22, 802), &info(22, 900)), Some(UNBOUNDED));
        assert_eq!(start.update(&ended, &info(22, 900), &info(35, 1000)), None);
    }

    #[test]
    fn short_messages_that_are_acknowledged_late_show_no_queue() {
        let mut start = StartupPacing::default();
        for at in 0..1000 {
            assert_eq!(start.update(&STARTING, &info(45, at * 271), &info(45, (at + 1) * 271)), None);
        }
        assert!(start.update(&STARTING, &info(45, 0), &info(45, 272)).is_some());
    }
}
