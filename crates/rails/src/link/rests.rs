//! Rests that spare a link BBR's look at the least round trip.
//!
//! When BBR has seen no new least round trip for ten seconds, it lets the path run all but empty for 0.2 s, unless the
//! connection starts from idle just then: it takes what the first acknowledgement shows (net/ipv4/tcp_bbr.c of Linux,
//! `bbr_update_min_rtt`). So a busy link takes nothing new shortly before, until the path has carried what it has: that
//! takes a round trip, in which other rails carry. Then padding goes out from idle, time and again until BBR has taken what
//! that shows: two full segments, as the kernel may have held the acknowledgement of a short one (`FLAG_ACK_MAYBE_DELAYED` in
//! net/ipv4/tcp_input.c), from which BBR takes nothing, and the next one finds the connection busy.

use fishplate_engine::Instant;

use crate::sys::bbr::Bbr;
use crate::sys::tcp_info::TcpInfo;

/// How long BBR is content with a least round trip, in nanoseconds.
const CONTENT_NS: u64 = 10_000_000_000;
/// While it looks, so many segments may be under way: a link that never has more does not notice.
const LEAST_SEGMENTS: u32 = 4;
/// So much earlier than it would take to run empty, in nanoseconds, a link begins to rest at most: BBR's clock was read up
/// to a look ago, and looks come late now and then.
const EARLIER_NS: u64 = 20_000_000;
/// So much later than BBR's clock says, in nanoseconds, is what it sends next acknowledged: that clock ticks every 4 ms, or
/// 10.
const LATER_NS: u64 = 12_000_000;
/// And so much later although it has not run empty: BBR looks already.
const LATEST_NS: u64 = 40_000_000;
/// Padding goes out so much later than a round trip after the last at least, in nanoseconds.
const BETWEEN_NS: u64 = 1_000_000;
/// And so much earlier than BBR would look, and a round trip, if it is not from idle.
const AHEAD_NS: u64 = 8_000_000;
/// A link that was busy so long ago, in nanoseconds, is likely to be so again: it rests although it is idle, lest a message
/// begins that BBR would hold up.
const BUSY_FOR_NS: u64 = 200_000_000;
/// Busy is what has more under way than while BBR looks, and in that time this part of what the path carries. With less to
/// send, a link is likely to start from idle just when BBR would look, and a rest costs more than the looks that it spares.
const BUSY_PART: u64 = 12;
/// Over a longer round trip, in nanoseconds, or with more to send first, to rest takes about as long as to look.
const LONGEST_LEAD_NS: u64 = 50_000_000;

/// What is known of BBR's clock, and whether the link rests.
#[derive(Debug, Default)]
pub struct Rests {
    /// What BBR takes for the least round trip, in microseconds.
    least_us: u32,
    /// Since when, as far as is known.
    since: Instant,
    /// When it was busy.
    busy_at: Option<Instant>,
    /// A moment, at most as long ago as busy counts, and the bytes that were acknowledged by then.
    counted_from: (Instant, u64),
    /// It rests, and BBR would look then.
    due: Option<Instant>,
    /// When the rest began, or padding went out in it.
    padded_at: Instant,
}

impl Rests {
    /// It rests; BBR would look at `due`.
    #[cfg(test)]
    pub fn begun(due: Instant) -> Self {
        Rests { due: Some(due), ..Rests::default() }
    }

    /// Whether it rests.
    pub fn is_on(&self) -> bool {
        self.due.is_some()
    }

    /// Whether the next look may matter although the link is idle.
    pub fn may_change(&self, now: Instant) -> bool {
        let due = self.since.plus_ns(CONTENT_NS);
        self.is_on() || (self.is_busy(now) && now.plus_ns(BUSY_FOR_NS) >= due)
    }

    fn is_busy(&self, now: Instant) -> bool {
        self.busy_at.is_some_and(|at| now.since_ns(at) < BUSY_FOR_NS)
    }

    /// Another look at a link: what BBR and the kernel say, and bytes that wait to be given to it.
    pub fn look(&mut self, now: Instant, bbr: &Bbr, info: &TcpInfo, waiting: u64) {
        if bbr.least_us != self.least_us || bbr.is_looking {
            (self.least_us, self.since, self.due) = (bbr.least_us, now, None);
        }
        if self.has_much(now, bbr, info, waiting) && info.unacknowledged > LEAST_SEGMENTS {
            self.busy_at = Some(now);
        }
        if now.since_ns(self.counted_from.0) >= BUSY_FOR_NS {
            self.counted_from = (now, info.acknowledged_bytes);
        }
        let is_empty = waiting == 0 && !info.is_waiting();
        let Some(due) = self.due else {
            let due = self.since.plus_ns(CONTENT_NS);
            let begins = self.is_busy(now)
                && leads(info, waiting).is_some_and(|lead_ns| {
                    let is_in_time = if is_empty { now < due } else { now.plus_ns(lead_ns) < due };
                    is_in_time && now.plus_ns(lead_ns + EARLIER_NS) >= due
                });
            (self.due, self.padded_at) = (begins.then_some(due), now);
            return;
        };
        // What is sent now from idle is acknowledged a round trip later, and BBR looks at acknowledgements.
        let acknowledged = now.plus_ns(bbr.least_ns());
        if is_empty && acknowledged >= due.plus_ns(LATER_NS) {
            self.end(acknowledged);
        } else {
            self.end_at_latest(now);
        }
    }

    /// Whether padding is to go out now, during a rest: a round trip after the last, to show BBR the path; or, before it would
    /// look, to have the peer's kernel acknowledge a last short segment, which it may do 40 ms later.
    pub fn is_to_pad(&mut self, now: Instant, bbr: &Bbr, info: &TcpInfo, waiting: u64) -> bool {
        let Some(due) = self.due.filter(|_| waiting == 0 && info.unsent_bytes == 0) else { return false };
        let round_trip_ns = bbr.least_ns();
        let is_idle = info.unacknowledged == 0;
        let is_left = info.unacknowledged <= LEAST_SEGMENTS && now.plus_ns(round_trip_ns + AHEAD_NS) < due;
        let is_time = now.since_ns(self.padded_at) >= round_trip_ns.max(info.rtt_ns) * 5 / 4 + BETWEEN_NS;
        let pads = is_time && (is_idle || is_left);
        if pads {
            self.padded_at = now;
        }
        pads
    }

    /// Whether what it has carried of late, and has still to carry, makes it busy.
    fn has_much(&self, now: Instant, bbr: &Bbr, info: &TcpInfo, waiting: u64) -> bool {
        let (from, acknowledged) = self.counted_from;
        let under_way = u64::from(info.unacknowledged) * u64::from(info.segment_bytes);
        let bytes =
            info.acknowledged_bytes.saturating_sub(acknowledged) + under_way + u64::from(info.unsent_bytes) + waiting;
        // BBR takes what a sender of short messages asks of the path for its rate, but leaves it its window, which is up to
        // three times what the path holds; more over a short one, but then a queue shows in the round trip.
        let round_trip_ns = info.rtt_ns.max(bbr.least_ns()).max(1);
        let window_rate = info.window_bytes() as f64 / round_trip_ns as f64 * 1e9;
        let carried_ns = bytes as f64 / window_rate.max(bbr.bandwidth as f64) * 1e9;
        carried_ns >= (BUSY_FOR_NS.max(now.since_ns(from)) / BUSY_PART) as f64
    }

    /// Whether it has rested as long as a link may.
    pub fn is_late(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| now >= due.plus_ns(LATEST_NS))
    }

    /// Ends a rest that has lasted as long as one may. True if it has ended.
    pub fn end_at_latest(&mut self, now: Instant) -> bool {
        let is_late = self.is_late(now);
        if is_late {
            self.end(now);
        }
        is_late
    }

    /// BBR has looked, or takes the round trip that it learns of at `at` for the least.
    fn end(&mut self, at: Instant) {
        (self.since, self.due) = (at, None);
    }
}

/// How long it takes until what has been sent, and what waits, has arrived and is acknowledged, in nanoseconds; `None` where
/// that is not known, or too long to be worth it.
fn leads(info: &TcpInfo, waiting: u64) -> Option<u64> {
    let bytes = u64::from(info.unsent_bytes) + waiting;
    let drain_ns = (bytes as f64 / info.delivery_rate as f64 * 1e9) as u64;
    let is_worth_it = info.delivery_rate > 0 && drain_ns.max(info.rtt_ns) <= LONGEST_LEAD_NS;
    is_worth_it.then(|| info.rtt_ns * 5 / 4 + drain_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const CONTENT: Bbr = Bbr { bandwidth: 125_000_000, least_us: 20_000, is_starting: false, is_looking: false };

    /// After so many milliseconds in which 100 MB/s were carried.
    fn info(ms: u64, unacknowledged: u32) -> TcpInfo {
        carried(ms * 100_000, unacknowledged)
    }

    fn carried(acknowledged_bytes: u64, unacknowledged: u32) -> TcpInfo {
        let path = TcpInfo { rtt_ns: 20 * MS, delivery_rate: 100_000_000, segment_bytes: 1448, ..TcpInfo::default() };
        TcpInfo { acknowledged_bytes, unacknowledged, ..path }
    }

    /// Milliseconds, since BBR's clock was set, in which a link rests that has so many segments under way when it does not
    /// and runs empty 30 ms after it has begun to; `bbr`: what BBR says then.
    fn rest(busy: u32, bbr: impl Fn(u64) -> Bbr) -> Vec<u64> {
        let (mut rests, mut rested) = (Rests::default(), Vec::<u64>::new());
        for ms in (0..10_200).step_by(5) {
            if rests.is_on() {
                rested.push(ms);
            }
            let is_empty = rests.is_on() && ms >= rested[0] + 30;
            rests.look(Instant((1000 + ms) * MS), &bbr(ms), &info(ms, if is_empty { 0 } else { busy }), 0);
        }
        rested
    }

    #[test]
    fn a_busy_link_has_run_empty_when_bbr_would_look_and_hears_of_what_it_sends_next_soon_after() {
        let rested = rest(1000, |_| CONTENT);
        let (first, last) = (rested[0], rested[rested.len() - 1]);
        assert!((9_940..=9_965).contains(&first) && (9_985..=10_000).contains(&last), "{first} to {last}");
    }

    #[test]
    fn a_link_that_would_not_notice_does_not_rest() {
        assert!(rest(LEAST_SEGMENTS, |_| CONTENT).is_empty());
    }

    #[test]
    fn a_link_with_short_messages_is_idle_often_enough_not_to_rest() {
        let rests_with = |bytes_per_ms: u64, waiting| {
            let mut rests = Rests::default();
            (0..10_200).any(|ms| {
                let waiting = if ms > 9_900 { waiting } else { 0 };
                rests.look(Instant(ms * MS), &CONTENT, &carried(ms * bytes_per_ms, 12), waiting);
                rests.is_on()
            })
        };
        assert!(!rests_with(9_000, 0) && rests_with(12_000, 0));
        assert!(rests_with(9_000, 4_000_000), "a long one has begun");
    }

    #[test]
    fn a_long_window_over_a_short_path_is_full_where_there_is_a_queue() {
        let rests_with = |rtt_ns, bytes_per_ms| {
            let mut rests = Rests::default();
            (0..10_200).any(|ms| {
                let info = TcpInfo { rtt_ns, window: 172, ..carried(ms * bytes_per_ms, 129) };
                rests.look(Instant(ms * MS), &Bbr { least_us: 170, ..CONTENT }, &info, 0);
                rests.is_on()
            })
        };
        assert!(rests_with(2 * MS, 100_000) && !rests_with(2 * MS, 8_000));
        assert!(!rests_with(MS / 10, 100_000), "it carries less than a tenth of what its window lets through");
    }

    #[test]
    fn a_new_least_round_trip_puts_a_rest_off_and_ends_one() {
        let lower_from = |at| move |ms| if ms < at { CONTENT } else { Bbr { least_us: 19_990, ..CONTENT } };
        assert!(rest(1000, lower_from(9_000)).is_empty());
        let rested = rest(1000, lower_from(9_980));
        assert_eq!(rested.last(), Some(&9_980), "from {}", rested[0]);
    }

    #[test]
    fn a_link_that_idles_between_long_messages_rests_before_the_next_one() {
        let mut rests = Rests::default();
        let mut rested = Vec::new();
        for ms in (0..10_200).step_by(5) {
            // 35 ms each 100 ms, but none from 9.9 s on.
            let is_busy = ms % 100 < 35 && ms < 9_900;
            if is_busy || rests.may_change(Instant(ms * MS)) {
                rests.look(Instant(ms * MS), &CONTENT, &info(ms, if is_busy { 1000 } else { 0 }), 0);
            }
            rested.extend(rests.is_on().then_some(ms));
        }
        assert_eq!((rested[0], rested.last()), (9_955, Some(&9_990)));
        assert!(!rests.may_change(Instant(10_200 * MS)));
    }

    #[test]
    fn a_look_of_bbrs_puts_a_rest_off() {
        assert!(rest(1000, |ms| Bbr { is_looking: (5_000..5_200).contains(&ms), ..CONTENT }).is_empty());
    }

    #[test]
    fn what_does_not_run_empty_goes_on_and_rests_again_ten_seconds_later() {
        let mut rests = Rests::default();
        let mut rested = Vec::new();
        for ms in (0..30_000).step_by(5) {
            rests.look(Instant(ms * MS), &CONTENT, &info(ms, 1000), 0);
            rested.extend(rests.is_on().then_some(ms));
        }
        assert!(rested.iter().all(|ms| (9_950..10_050).contains(ms) || (19_950..20_100).contains(ms)), "{rested:?}");
        assert!((30..=40).contains(&rested.len()), "{rested:?}");
    }

    #[test]
    fn what_waits_is_given_time_to_leave_unless_it_takes_long_or_nobody_knows() {
        let rests_with = |waiting, delivery_rate| {
            let mut rests = Rests::default();
            for ms in 0..10_000 {
                rests.look(Instant(ms * MS), &CONTENT, &TcpInfo { delivery_rate, ..info(ms, 1000) }, waiting);
                if rests.is_on() {
                    return Some(ms);
                }
            }
            None
        };
        let alone = rests_with(0, 100_000_000).unwrap();
        let (behind, long) = (rests_with(4_000_000, 100_000_000).unwrap(), rests_with(6_000_000, 100_000_000));
        assert!((38..=42).contains(&(alone - behind)), "{behind} to {alone}");
        assert_eq!((long, rests_with(4_000_000, 0)), (None, None));
    }

    /// Milliseconds of a rest that is due after 60 of them in which padding goes out, with so many segments under way and so
    /// many bytes waiting.
    fn padded(unacknowledged: u32, waiting: u64) -> Vec<u64> {
        let mut rests = Rests { padded_at: Instant(MS), ..Rests::begun(Instant(61 * MS)) };
        let pads = |ms: &u64| rests.is_to_pad(Instant((1 + ms) * MS), &CONTENT, &info(0, unacknowledged), waiting);
        (0..90).filter(pads).collect()
    }

    #[test]
    fn padding_goes_out_once_each_round_trip_of_a_rest() {
        assert_eq!(padded(0, 0), [26, 52, 78]);
        assert!(padded(0, 1).is_empty(), "something else is about to leave");
        assert!(!Rests::default().is_to_pad(Instant(60 * MS), &CONTENT, &info(0, 0), 0), "it does not rest");
    }

    #[test]
    fn what_the_peer_does_not_acknowledge_is_followed_by_padding_long_before_bbr_would_look() {
        assert_eq!(padded(1, 0), [26]);
        assert!(padded(LEAST_SEGMENTS + 1, 0).is_empty(), "it is still on its way");
    }

    #[test]
    fn it_ends_without_a_look_too() {
        let mut rests = Rests::default();
        rests.look(Instant(0), &CONTENT, &info(0, 1000), 0);
        rests.look(Instant(9_960 * MS), &CONTENT, &info(9_960, 1000), 0);
        assert!(rests.is_on() && !rests.end_at_latest(Instant(10_039 * MS)));
        assert!(rests.end_at_latest(Instant(10_040 * MS)) && !rests.is_on());
    }
}
