//! Which congestion control algorithm a link uses when the user does not say.
//!
//! The system's may pace what it sends (BBR does). Between near hosts with nothing in between that queues, a timer of the
//! kernel for every packet costs more than the packet itself. Far away, a connection that sends a message now and then
//! shows BBR no rate but its own: it would pace each message over a third of a round trip. So every link starts with the
//! one algorithm that every Linux has and that does not pace.
//!
//! - A *near* link goes back to the system's for good where its path loses more segments than it can live with
//!   ([`losses`]). A queue is no reason, nor what it overflows: BBR takes the bursts that a link or its shaper lets pass for
//!   the link's rate, and lets short exchanges wait for its pace.
//! - A *distant* link goes over to BBR for good once its window is open, or a segment is lost. BBR takes pace and window
//!   over from it, forgets neither while the link idles, and does not take a lost segment for a queue.

mod losses;
pub mod startup_pacing;

use std::net::TcpStream;
use std::os::fd::AsFd;

use fishplate_engine::ASSUMED_RATE;
use losses::Losses;
use socket2::SockRef;

use crate::socket::{MOST_UNSENT, set_unsent_limit};
use crate::sys::option::reserve_receive_window;
use crate::sys::tcp_info::TcpInfo;

/// What links start with.
const WITHOUT_PACING: &str = "reno";
/// What distant links go on with, where the system lets users have it.
const AT_A_DISTANCE: &str = "bbr";
/// Longest round trip of a near link, in nanoseconds: within a cluster, not beyond.
pub const NEAR_RTT_NS: u64 = 300_000;
/// What BBR sends in a round trip before it knows the rate, in windows: 2 / ln 2.
const FIRST_GAIN: f64 = 2.885;
/// An open window is no longer than this, in bytes: what a path of unknown rate is given at once at most.
const MOST_OPEN: u64 = MOST_UNSENT;
/// What a peer that opens its window may send before it was read, in bytes: the window is opened by whole doublings.
const MOST_OPEN_AT_PEER: u32 = 2 * MOST_OPEN as u32;

/// The choice of algorithm for the links of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// What the user says.
    Set(String),
    /// What fits the distance.
    ByDistance {
        /// The system's.
        system: String,
        /// What distant links go on with: BBR or the system's.
        distant: String,
    },
}

impl CongestionControl {
    /// Asks the system what there is, through a socket that is not connected yet.
    pub fn new(set: Option<&str>, socket: &socket2::Socket) -> CongestionControl {
        if let Some(name) = set {
            return CongestionControl::Set(name.into());
        }
        let system = system(socket);
        let has_bbr = socket.set_tcp_congestion(AT_A_DISTANCE.as_bytes()).is_ok();
        let distant = if has_bbr { AT_A_DISTANCE.into() } else { system.clone() };
        CongestionControl::ByDistance { system, distant }
    }

    /// The system's, at any distance.
    pub fn of_system(socket: &socket2::Socket) -> CongestionControl {
        CongestionControl::Set(system(socket))
    }

    /// What a socket that is not connected yet is given. (One that has paced once does so for ever.)
    pub fn initial_algorithm(&self) -> &str {
        match self {
            CongestionControl::Set(name) => name,
            CongestionControl::ByDistance { .. } => WITHOUT_PACING,
        }
    }

    /// The phase of a link that has just come up, of which the kernel knows `info`; `speed`: of its rail, in bytes per
    /// second, where that is known.
    pub fn phase_of(&self, socket: &TcpStream, info: &TcpInfo, speed: Option<f64>) -> CongestionPhase {
        let CongestionControl::ByDistance { system, distant } = self else { return CongestionPhase::Settled };
        let rate = speed.unwrap_or(ASSUMED_RATE);
        if info.rtt_ns <= NEAR_RTT_NS {
            return CongestionPhase::Near { then: system.clone(), losses: Losses::of(rate) };
        }
        let round_trip_bytes = rate * info.rtt_ns as f64 / 1e9;
        let _ = set_unsent_limit(socket, round_trip_bytes);
        let _ = reserve_receive_window(socket.as_fd(), MOST_OPEN_AT_PEER);
        if distant != AT_A_DISTANCE {
            switch_to(socket, distant);
            return CongestionPhase::Settled;
        }
        let open = ((round_trip_bytes / FIRST_GAIN) as u64).min(MOST_OPEN);
        CongestionPhase::Distant { then: distant.clone(), open }
    }
}

/// The system's default, which a socket has that was just made.
fn system(socket: &socket2::Socket) -> String {
    let bytes = socket.tcp_congestion().unwrap_or_default();
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

/// The phase of a link on its way to the algorithm that it keeps.
#[derive(Debug)]
pub enum CongestionPhase {
    /// It has it.
    Settled,
    /// Without pacing, until the path has shown that it loses many segments.
    Near {
        /// What comes then.
        then: String,
        /// What it has lost so far.
        losses: Losses,
    },
    /// Without pacing, until the window is open.
    Distant {
        /// What comes then.
        then: String,
        /// An open window, in bytes.
        open: u64,
    },
}

impl CongestionPhase {
    /// Looks at what the kernel says; `before`: what it said at the last look.
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

/// Whether a segment was lost until the look before. (The kernel also sends again what is only acknowledged late, as two
/// short segments are to which no data answer. What it had twice a near peer has told since.)
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
        assert!(!has_lost(&look(0, 0), &look(1, 0)), "the peer had no time yet to tell");
        assert!(!has_lost(&look(1, 0), &look(1, 1)));
        assert!(has_lost(&look(1, 0), &look(1, 0)));
        assert!(has_lost(&look(2, 1), &look(2, 1)));
    }
}
