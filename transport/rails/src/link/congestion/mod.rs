//! The congestion control algorithm of a link where the user has set none.
//!
//! The system's algorithm may pace its packets (BBR does). Between near hosts without a queue on the path, a kernel timer for every
//! packet costs more than the packet itself. On a distant path, a connection that sends a message now and then is
//! application-limited: BBR would pace each message over a third of a round trip. So every link starts with the one algorithm
//! that every Linux has and that does not pace.
//!
//! - A *near* link returns to the system's algorithm for good where its path loses more segments than it can cope with
//!   ([`losses`]). A queue, or its overflow, is no reason: BBR takes bursts that a link or its shaper lets pass for the link's
//!   rate, and delays short exchanges by pacing.
//! - A *distant* link changes to BBR for good once its window is open, or a segment is lost. BBR starts with its rate and window,
//!   keeps both while the link idles, and does not take a lost segment for congestion.

mod losses;
pub mod startup_pacing;

use std::net::TcpStream;
use std::os::fd::AsFd;

use fishplate_engine::ASSUMED_RATE;
use losses::Losses;
use socket2::SockRef;

use crate::socket::{MAX_UNSENT, set_unsent_limit};
use crate::sys::option::reserve_receive_window;
use crate::sys::tcp_info::TcpInfo;

/// The algorithm that links start with.
const WITHOUT_PACING: &str = "reno";
/// The algorithm that distant links change to, where the system lets users have it.
const AT_A_DISTANCE: &str = "bbr";
/// Longest round trip of a near link, in nanoseconds: within a cluster, not beyond.
pub const NEAR_RTT_NS: u64 = 300_000;
/// Windows that BBR sends in a round trip before it knows the rate: 2 / ln 2.
const FIRST_GAIN: f64 = 2.885;
/// Upper bound of an open window, in bytes: no more is sent at once over a path of unknown rate.
const MAX_OPEN_WINDOW: u64 = MAX_UNSENT;
/// Receive buffer for a peer that opens its window, in bytes: twice the open window, as it is opened by whole doublings.
const MAX_OPEN_WINDOW_AT_PEER: u32 = 2 * MAX_OPEN_WINDOW as u32;

/// The choice of algorithm for the links of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// As the user has set it.
    Set(String),
    /// Chosen by distance.
    ByDistance {
        /// The system's algorithm.
        system: String,
        /// The algorithm that distant links change to: BBR or the system's.
        distant: String,
    },
}

impl CongestionControl {
    /// Queries the available algorithms through a socket that is not connected yet.
    pub fn new(set: Option<&str>, socket: &socket2::Socket) -> CongestionControl {
        if let Some(name) = set {
            return CongestionControl::Set(name.into());
        }
        let system = system(socket);
        let has_bbr = socket.set_tcp_congestion(AT_A_DISTANCE.as_bytes()).is_ok();
        let distant = if has_bbr { AT_A_DISTANCE.into() } else { system.clone() };
        CongestionControl::ByDistance { system, distant }
    }

    /// The system's algorithm, at any distance.
    pub fn of_system(socket: &socket2::Socket) -> CongestionControl {
        CongestionControl::Set(system(socket))
    }

    /// The algorithm to set on a socket before it is connected. (A socket that has paced once goes on for ever.)
    pub fn initial_algorithm(&self) -> &str {
        match self {
            CongestionControl::Set(name) => name,
            CongestionControl::ByDistance { .. } => WITHOUT_PACING,
        }
    }

    /// The phase of a link that has just come up, with the kernel's data `info`; `speed`: of its rail, in bytes per second, where that
    /// is known.
    pub fn phase_of(&self, socket: &TcpStream, info: &TcpInfo, speed: Option<f64>) -> CongestionPhase {
        let CongestionControl::ByDistance { system, distant } = self else { return CongestionPhase::Settled };
        let rate = speed.unwrap_or(ASSUMED_RATE);
        if info.rtt_ns <= NEAR_RTT_NS {
            return CongestionPhase::Near { then: system.clone(), losses: Losses::of(rate) };
        }
        let round_trip_bytes = rate * info.rtt_ns as f64 / 1e9;
        let _ = set_unsent_limit(socket, round_trip_bytes);
        let _ = reserve_receive_window(socket.as_fd(), MAX_OPEN_WINDOW_AT_PEER);
        if distant != AT_A_DISTANCE {
            switch_to(socket, distant);
            return CongestionPhase::Settled;
        }
        let open = ((round_trip_bytes / FIRST_GAIN) as u64).min(MAX_OPEN_WINDOW);
        CongestionPhase::Distant { then: distant.clone(), open }
    }
}

/// The system's default algorithm, from a new socket.
fn system(socket: &socket2::Socket) -> String {
    let bytes = socket.tcp_congestion().unwrap_or_default();
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

/// The phase of a link until it has its final algorithm.
#[derive(Debug)]
pub enum CongestionPhase {
    /// It has its final algorithm.
    Settled,
    /// Without pacing, until the path has shown that it loses many segments.
    Near {
        /// The next phase.
        then: String,
        /// Segments lost so far.
        losses: Losses,
    },
    /// Without pacing, until the window is open.
    Distant {
        /// The next phase.
        then: String,
        /// An open window, in bytes.
        open: u64,
    },
}

impl CongestionPhase {
    /// Takes a sample of the kernel's data; `before`: the last one.
    pub fn advance(&mut self, socket: &TcpStream, before: &TcpInfo, info: &TcpInfo) {
        let (over, then) = match self {
            CongestionPhase::Settled => return,
            CongestionPhase::Near { then, losses } => (losses.are_many(before, info), then),
            CongestionPhase::Distant { then, open } => (has_lost(before, info) || info.window_bytes() >= *open, then),
        };
        if over {
            switch_to(socket, then);
            *self = CongestionPhase::Settled;
        }
    }
}

/// Whether a segment was lost before the last sample. (The kernel also retransmits segments that are only acknowledged late, as
/// two short ones are that are not answered by data. A near peer has reported these as duplicates since.)
fn has_lost(before: &TcpInfo, info: &TcpInfo) -> bool {
    before.retransmitted > info.duplicates
}

fn switch_to(socket: &TcpStream, name: &str) {
    let _ = SockRef::from(socket).set_tcp_congestion(name.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_that_the_peer_had_twice_was_not_lost() {
        let look = |retransmitted, duplicates| TcpInfo { retransmitted, duplicates, ..TcpInfo::default() };
        assert!(!has_lost(&look(0, 0), &look(1, 0)), "the peer had no time yet to answer");
        assert!(!has_lost(&look(1, 0), &look(1, 1)));
        assert!(has_lost(&look(1, 0), &look(1, 0)));
        assert!(has_lost(&look(2, 1), &look(2, 1)));
    }
}
