//! Rests that spare a link BBR's look at the least round trip.
//!
//! When BBR has seen no new least round trip for ten seconds, it lets the path run all but empty for 0.2 s, unless the
//! connection starts from idle just then: it takes what the first acknowledgement shows (net/ipv4/tcp_bbr.c of Linux,
//! `bbr_update_min_rtt`). So a busy link takes nothing new shortly before, until the path has carried what it has: that
//! takes a round trip, in which other rails carry.

use fishplate_engine::Instant;

use crate::sys::tcp_info::TcpInfo;

/// How long BBR is content with a least round trip, in nanoseconds.
const CONTENT_NS: u64 = 10_000_000_000;
/// While it looks, so many segments may be under way: a link that never has more does not notice.
const LEAST_SEGMENTS: u32 = 4;
/// So much earlier than it would take to run empty, in nanoseconds, a link begins to rest: BBR's clock was read up to a look
/// ago, and looks come late now and then.
const EARLIER_NS: u64 = 20_000_000;
/// So much later than BBR's clock says, in nanoseconds, it goes on: that clock ticks every 4 ms, or 10.
const LATER_NS: u64 = 12_000_000;
/// And so much later although it has not run empty: BBR looks already.
const LATEST_NS: u64 = 100_000_000;
/// Over a longer round trip, in nanoseconds, to rest takes as long as to look.
const LONGEST_ROUND_TRIP_NS: u64 = 80_000_000;

/// When a link rests.
#[derive(Debug, Default)]
pub struct Rests {
    /// What BBR takes for the least round trip, in microseconds.
    least_us: u32,
    /// Since when, as far as is known.
    since: Instant,
    /// When more was under way than while BBR looks.
    busy_at: Option<Instant>,
    is_on: bool,
}

impl Rests {
    /// Whether it rests.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Another look at a link: BBR's least round trip, what the kernel says, and bytes that wait to be given to it.
    pub fn look(&mut self, now: Instant, least_us: u32, info: &TcpInfo, waiting: u64) {
        if least_us != self.least_us {
            (self.least_us, self.since) = (least_us, now);
        }
        if info.unacknowledged > LEAST_SEGMENTS {
            self.busy_at = Some(now);
        }
        let due = self.since.plus_ns(CONTENT_NS);
        if !self.is_on {
            let earlier_ns = EARLIER_NS + info.rtt_ns * 5 / 4 + drains_ns(info, waiting);
            let is_busy = self.busy_at.is_some_and(|at| now.since_ns(at) < 2 * earlier_ns);
            let is_time = now < due && now.plus_ns(earlier_ns) >= due;
            self.is_on = is_busy && is_time && info.rtt_ns <= LONGEST_ROUND_TRIP_NS;
            return;
        }
        let is_empty = waiting == 0 && !info.is_waiting();
        if now >= due.plus_ns(if is_empty { LATER_NS } else { LATEST_NS }) {
            // BBR takes the next round trip for the least.
            (self.is_on, self.since) = (false, now);
        }
    }
}

/// How long what has not left yet takes.
fn drains_ns(info: &TcpInfo, waiting: u64) -> u64 {
    let bytes = u64::from(info.unsent_bytes) + waiting;
    (bytes as f64 / info.delivery_rate.max(1) as f64 * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn info(unacknowledged: u32) -> TcpInfo {
        TcpInfo { rtt_ns: 20 * MS, delivery_rate: 100_000_000, unacknowledged, ..TcpInfo::default() }
    }

    /// Milliseconds, since BBR's clock was set, in which a link rests that has so many segments under way when it does not
    /// and runs empty 30 ms after it has begun to.
    fn rest(busy: u32) -> Vec<u64> {
        let (mut rests, mut began) = (Rests::default(), None);
        let mut rested = Vec::new();
        for ms in (0..10_200).step_by(5) {
            if rests.is_on() {
                began = began.or(Some(ms));
                rested.push(ms);
            }
            let is_empty = began.is_some_and(|began| ms >= began + 30) && rests.is_on();
            rests.look(Instant((1000 + ms) * MS), 20_000, &info(if is_empty { 0 } else { busy }), 0);
        }
        rested
    }

    #[test]
    fn a_busy_link_has_run_empty_when_bbr_would_look_and_goes_on_soon_after() {
        let rested = rest(1000);
        let (first, last) = (rested[0], rested[rested.len() - 1]);
        assert!((9_940..=9_965).contains(&first) && (10_005..=10_020).contains(&last), "{first} to {last}");
    }

    #[test]
    fn a_link_that_would_not_notice_does_not_rest() {
        assert_eq!(rest(LEAST_SEGMENTS), Vec::<u64>::new());
    }

    #[test]
    fn what_does_not_run_empty_goes_on_and_a_new_least_round_trip_puts_it_off() {
        let mut rests = Rests::default();
        let mut rested = 0;
        for ms in (0..30_000).step_by(5) {
            let least_us = if ms < 9_000 { 20_000 } else { 19_990 };
            rests.look(Instant(ms * MS), least_us, &info(1000), 0);
            assert!(!rests.is_on() || ms > 18_900, "{ms}");
            rested += u64::from(rests.is_on()) * 5;
        }
        assert!((100..=400).contains(&rested), "{rested} ms");
    }

    #[test]
    fn what_waits_is_given_time_to_leave() {
        let mut rests = Rests::default();
        rests.look(Instant(0), 20_000, &info(1000), 0);
        // 100 ms of its rate.
        rests.look(Instant(9_860 * MS), 20_000, &info(1000), 10_000_000);
        assert!(rests.is_on());
    }
}
