//! ProbeRTT avoidance: short pauses that spare a link BBR's ProbeRTT phase.
//!
//! When BBR has seen no lower round trip for ten seconds, it enters ProbeRTT: it sends next to nothing for 0.2 s. It does not
//! where the connection restarts from idle just then: the first acknowledgement gives it the round trip
//! (net/ipv4/tcp_bbr.c of Linux, `bbr_update_min_rtt`). So shortly before, a busy link is paused: it takes nothing new from the
//! engine until its path has drained. That takes a round trip, in which other rails carry. Then path probes (padding) go out
//! from idle until BBR has taken a round trip from one. A probe is two full segments: the acknowledgement of a short one may be
//! delayed (`FLAG_ACK_MAYBE_DELAYED` in net/ipv4/tcp_input.c), BBR takes no round trip from it, and the next probe would
//! find the connection busy.

use fishplate_engine::Instant;

use crate::sys::bbr::Bbr;
use crate::sys::tcp_info::TcpInfo;

/// BBR's window for the minimal round trip (`bbr_min_rtt_win_sec`), in nanoseconds.
const MIN_RTT_WINDOW_NS: u64 = 10_000_000_000;
/// Congestion window during ProbeRTT (`bbr_cwnd_min_target`), in segments: a link that never has more does not notice.
const PROBE_RTT_SEGMENTS: u32 = 4;
/// A link is paused at most so much earlier than it takes to drain, in nanoseconds: BBR's state was sampled a while ago, and
/// samples come late now and then.
const DRAIN_MARGIN_NS: u64 = 20_000_000;
/// So much later than BBR's clock says, in nanoseconds, is what it sends next acknowledged: that clock ticks every 4 ms, or
/// 10.
const CLOCK_SLACK_NS: u64 = 12_000_000;
/// And so much later although it has not drained: BBR is in ProbeRTT already.
const OVERDUE_NS: u64 = 40_000_000;
/// From one path probe to the next it takes so much more than a round trip at least, in nanoseconds.
const PROBE_SPACING_NS: u64 = 1_000_000;
/// Before idle, a probe goes out only so much earlier than a round trip before ProbeRTT is due.
const PROBE_LEAD_NS: u64 = 8_000_000;
/// A link that was busy so long ago, in nanoseconds, is likely to be so again: it is paused although it is idle, lest a
/// message begins that ProbeRTT would hold up.
const BUSY_WINDOW_NS: u64 = 200_000_000;
/// A link is busy if it has more in flight than ProbeRTT allows, and uses this part of the path's capacity in that time. With
/// less to send it is likely to restart from idle just when ProbeRTT is due, and pauses cost more than they spare.
const BUSY_PART: u64 = 12;
/// Over a longer round trip, in nanoseconds, or with more to send first, a pause takes about as long as ProbeRTT.
const LONGEST_LEAD_NS: u64 = 50_000_000;

/// What is known of BBR's clock, and whether the link is paused.
#[derive(Debug, Default)]
pub struct ProbeRttAvoidance {
    /// BBR's minimal round trip, in microseconds.
    min_rtt_us: u32,
    /// Since when, as far as is known.
    since: Instant,
    /// When it was busy.
    busy_at: Option<Instant>,
    /// A moment, at most as long ago as busy counts, and the bytes that were acknowledged by then.
    counted_from: (Instant, u64),
    /// It is paused, and BBR would enter ProbeRTT then.
    due: Option<Instant>,
    /// When the pause began, or the last path probe went out in it.
    probed_at: Instant,
}

impl ProbeRttAvoidance {
    /// Paused; ProbeRTT is due at `due`.
    #[cfg(test)]
    pub fn paused_until(due: Instant) -> Self {
        ProbeRttAvoidance { due: Some(due), ..ProbeRttAvoidance::default() }
    }

    /// Whether the link is paused.
    pub fn is_paused(&self) -> bool {
        self.due.is_some()
    }

    /// Whether the next sample matters although the link is idle.
    pub fn needs_sampling(&self, now: Instant) -> bool {
        let due = self.since.plus_ns(MIN_RTT_WINDOW_NS);
        self.is_paused() || (self.is_busy(now) && now.plus_ns(BUSY_WINDOW_NS) >= due)
    }

    fn is_busy(&self, now: Instant) -> bool {
        self.busy_at.is_some_and(|at| now.since_ns(at) < BUSY_WINDOW_NS)
    }

    /// Another sample of a link: what BBR and the kernel say, and bytes that wait in its transmit queue.
    pub fn update(&mut self, now: Instant, bbr: &Bbr, info: &TcpInfo, waiting: u64) {
        if bbr.min_rtt_us != self.min_rtt_us || bbr.is_probe_rtt {
            (self.min_rtt_us, self.since, self.due) = (bbr.min_rtt_us, now, None);
        }
        if self.is_loaded(now, bbr, info, waiting) && info.unacknowledged > PROBE_RTT_SEGMENTS {
            self.busy_at = Some(now);
        }
        if now.since_ns(self.counted_from.0) >= BUSY_WINDOW_NS {
            self.counted_from = (now, info.acknowledged_bytes);
        }
        let is_empty = waiting == 0 && !info.is_waiting();
        let Some(due) = self.due else {
            let due = self.since.plus_ns(MIN_RTT_WINDOW_NS);
            let begins = self.is_busy(now)
                && drain_time_ns(info, waiting).is_some_and(|lead_ns| {
                    let is_in_time = if is_empty { now < due } else { now.plus_ns(lead_ns) < due };
                    is_in_time && now.plus_ns(lead_ns + DRAIN_MARGIN_NS) >= due
                });
            (self.due, self.probed_at) = (begins.then_some(due), now);
            return;
        };
        // What is sent now from idle is acknowledged a round trip later, and BBR acts on acknowledgements.
        let acknowledged = now.plus_ns(bbr.min_rtt_ns());
        if is_empty && acknowledged >= due.plus_ns(CLOCK_SLACK_NS) {
            self.end(acknowledged);
        } else {
            self.end_if_overdue(now);
        }
    }

    /// Whether a path probe is to go out now, during a pause: a round trip after the last, to give BBR a round trip; or, before
    /// ProbeRTT is due, to have the peer's kernel acknowledge a last short segment, which it may delay by 40 ms.
    pub fn should_probe(&mut self, now: Instant, bbr: &Bbr, info: &TcpInfo, waiting: u64) -> bool {
        let Some(due) = self.due.filter(|_| waiting == 0 && info.unsent_bytes == 0) else { return false };
        let round_trip_ns = bbr.min_rtt_ns();
        let is_idle = info.unacknowledged == 0;
        let is_left = info.unacknowledged <= PROBE_RTT_SEGMENTS && now.plus_ns(round_trip_ns + PROBE_LEAD_NS) < due;
        let is_time = now.since_ns(self.probed_at) >= round_trip_ns.max(info.rtt_ns) * 5 / 4 + PROBE_SPACING_NS;
        let probes = is_time && (is_idle || is_left);
        if probes {
            self.probed_at = now;
        }
        probes
    }

    /// Whether what it has carried of late, and has still to carry, makes it busy.
    fn is_loaded(&self, now: Instant, bbr: &Bbr, info: &TcpInfo, waiting: u64) -> bool {
        let (from, acknowledged) = self.counted_from;
        let in_flight = u64::from(info.unacknowledged) * u64::from(info.segment_bytes);
        let bytes =
            info.acknowledged_bytes.saturating_sub(acknowledged) + in_flight + u64::from(info.unsent_bytes) + waiting;
        // BBR takes what a sender of short messages asks of the path for its rate, but leaves it its window, which is up to
        // three times what the path holds; more over a short one, but then a queue shows in the round trip.
        let round_trip_ns = info.rtt_ns.max(bbr.min_rtt_ns()).max(1);
        let window_rate = info.window_bytes() as f64 / round_trip_ns as f64 * 1e9;
        let carried_ns = bytes as f64 / window_rate.max(bbr.bandwidth as f64) * 1e9;
        carried_ns >= (BUSY_WINDOW_NS.max(now.since_ns(from)) / BUSY_PART) as f64
    }

    /// Whether it has been paused for as long as a link may be.
    pub fn is_overdue(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| now >= due.plus_ns(OVERDUE_NS))
    }

    /// Ends a pause that has lasted as long as one may. True if it has ended.
    pub fn end_if_overdue(&mut self, now: Instant) -> bool {
        let is_late = self.is_overdue(now);
        if is_late {
            self.end(now);
        }
        is_late
    }

    /// BBR has been in ProbeRTT, or takes the round trip that it learns at `at` as the minimal one.
    fn end(&mut self, at: Instant) {
        (self.since, self.due) = (at, None);
    }
}

/// How long it takes until what has been sent, and what waits, has arrived and is acknowledged, in nanoseconds; `None` where
/// that is not known, or too long to be worth it.
fn drain_time_ns(info: &TcpInfo, waiting: u64) -> Option<u64> {
    let bytes = u64::from(info.unsent_bytes) + waiting;
    let drain_ns = (bytes as f64 / info.delivery_rate as f64 * 1e9) as u64;
    let is_worth_it = info.delivery_rate > 0 && drain_ns.max(info.rtt_ns) <= LONGEST_LEAD_NS;
    is_worth_it.then(|| info.rtt_ns * 5 / 4 + drain_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const CONTENT: Bbr = Bbr { bandwidth: 125_000_000, min_rtt_us: 20_000, is_startup: false, is_probe_rtt: false };

    /// After so many milliseconds in which 100 MB/s were carried.
    fn info(ms: u64, unacknowledged: u32) -> TcpInfo {
        carried(ms * 100_000, unacknowledged)
    }

    fn carried(acknowledged_bytes: u64, unacknowledged: u32) -> TcpInfo {
        let path = TcpInfo { rtt_ns: 20 * MS, delivery_rate: 100_000_000, segment_bytes: 1448, ..TcpInfo::default() };
        TcpInfo { acknowledged_bytes, unacknowledged, ..path }
    }

    /// Milliseconds, since BBR's clock was set, in which a link is paused. It has so many segments in flight otherwise, and
    /// has drained 30 ms after the pause has begun; `bbr`: BBR's state at a time.
    fn pauses(busy: u32, bbr: impl Fn(u64) -> Bbr) -> Vec<u64> {
        let (mut avoidance, mut paused_ms) = (ProbeRttAvoidance::default(), Vec::<u64>::new());
        for ms in (0..10_200).step_by(5) {
            if avoidance.is_paused() {
                paused_ms.push(ms);
            }
            let is_empty = avoidance.is_paused() && ms >= paused_ms[0] + 30;
            avoidance.update(Instant((1000 + ms) * MS), &bbr(ms), &info(ms, if is_empty { 0 } else { busy }), 0);
        }
        paused_ms
    }

    #[test]
    fn a_busy_link_has_drained_when_probe_rtt_is_due() {
        let paused_ms = pauses(1000, |_| CONTENT);
        let (first, last) = (paused_ms[0], paused_ms[paused_ms.len() - 1]);
        assert!((9_940..=9_965).contains(&first) && (9_985..=10_000).contains(&last), "{first} to {last}");
    }

    #[test]
    fn a_link_with_a_small_window_is_not_paused() {
        assert!(pauses(PROBE_RTT_SEGMENTS, |_| CONTENT).is_empty());
    }

    #[test]
    fn a_link_with_short_messages_is_not_paused() {
        let pauses_with = |bytes_per_ms: u64, waiting| {
            let mut avoidance = ProbeRttAvoidance::default();
            (0..10_200).any(|ms| {
                let waiting = if ms > 9_900 { waiting } else { 0 };
                avoidance.update(Instant(ms * MS), &CONTENT, &carried(ms * bytes_per_ms, 12), waiting);
                avoidance.is_paused()
            })
        };
        assert!(!pauses_with(9_000, 0) && pauses_with(12_000, 0));
        assert!(pauses_with(9_000, 4_000_000), "a long one has begun");
    }

    #[test]
    fn a_long_window_over_a_short_path_is_full_where_there_is_a_queue() {
        let pauses_with = |rtt_ns, bytes_per_ms| {
            let mut avoidance = ProbeRttAvoidance::default();
            (0..10_200).any(|ms| {
                let info = TcpInfo { rtt_ns, window: 172, ..carried(ms * bytes_per_ms, 129) };
                avoidance.update(Instant(ms * MS), &Bbr { min_rtt_us: 170, ..CONTENT }, &info, 0);
                avoidance.is_paused()
            })
        };
        assert!(pauses_with(2 * MS, 100_000) && !pauses_with(2 * MS, 8_000));
        assert!(!pauses_with(MS / 10, 100_000), "it carries less than a tenth of what its window lets through");
    }

    #[test]
    fn a_new_minimal_round_trip_delays_a_pause_and_ends_one() {
        let lower_from = |at| move |ms| if ms < at { CONTENT } else { Bbr { min_rtt_us: 19_990, ..CONTENT } };
        assert!(pauses(1000, lower_from(9_000)).is_empty());
        let paused_ms = pauses(1000, lower_from(9_980));
        assert_eq!(paused_ms.last(), Some(&9_980), "from {}", paused_ms[0]);
    }

    #[test]
    fn a_link_that_idles_between_long_messages_is_paused_before_the_next_one() {
        let mut avoidance = ProbeRttAvoidance::default();
        let mut paused_ms = Vec::new();
        for ms in (0..10_200).step_by(5) {
            // 35 ms each 100 ms, but none from 9.9 s on.
            let is_busy = ms % 100 < 35 && ms < 9_900;
            if is_busy || avoidance.needs_sampling(Instant(ms * MS)) {
                avoidance.update(Instant(ms * MS), &CONTENT, &info(ms, if is_busy { 1000 } else { 0 }), 0);
            }
            paused_ms.extend(avoidance.is_paused().then_some(ms));
        }
        assert_eq!((paused_ms[0], paused_ms.last()), (9_955, Some(&9_990)));
        assert!(!avoidance.needs_sampling(Instant(10_200 * MS)));
    }

    #[test]
    fn probe_rtt_delays_the_next_pause() {
        assert!(pauses(1000, |ms| Bbr { is_probe_rtt: (5_000..5_200).contains(&ms), ..CONTENT }).is_empty());
    }

    #[test]
    fn a_link_that_does_not_drain_resumes_and_is_paused_again_ten_seconds_later() {
        let mut avoidance = ProbeRttAvoidance::default();
        let mut paused_ms = Vec::new();
        for ms in (0..30_000).step_by(5) {
            avoidance.update(Instant(ms * MS), &CONTENT, &info(ms, 1000), 0);
            paused_ms.extend(avoidance.is_paused().then_some(ms));
        }
        assert!(
            paused_ms.iter().all(|ms| (9_950..10_050).contains(ms) || (19_950..20_100).contains(ms)),
            "{paused_ms:?}"
        );
        assert!((30..=40).contains(&paused_ms.len()), "{paused_ms:?}");
    }

    #[test]
    fn the_pause_includes_the_time_to_drain_the_transmit_queue_unless_that_is_long_or_unknown() {
        let pauses_with = |waiting, delivery_rate| {
            let mut avoidance = ProbeRttAvoidance::default();
            for ms in 0..10_000 {
                avoidance.update(Instant(ms * MS), &CONTENT, &TcpInfo { delivery_rate, ..info(ms, 1000) }, waiting);
                if avoidance.is_paused() {
                    return Some(ms);
                }
            }
            None
        };
        let alone = pauses_with(0, 100_000_000).unwrap();
        let (behind, long) = (pauses_with(4_000_000, 100_000_000).unwrap(), pauses_with(6_000_000, 100_000_000));
        assert!((38..=42).contains(&(alone - behind)), "{behind} to {alone}");
        assert_eq!((long, pauses_with(4_000_000, 0)), (None, None));
    }

    /// Milliseconds of a pause, with ProbeRTT due after 60, in which probes are sent, with so many segments in flight and so
    /// many bytes waiting.
    fn padded(unacknowledged: u32, waiting: u64) -> Vec<u64> {
        let mut avoidance =
            ProbeRttAvoidance { probed_at: Instant(MS), ..ProbeRttAvoidance::paused_until(Instant(61 * MS)) };
        let probes =
            |ms: &u64| avoidance.should_probe(Instant((1 + ms) * MS), &CONTENT, &info(0, unacknowledged), waiting);
        (0..90).filter(probes).collect()
    }

    #[test]
    fn probes_are_sent_once_a_round_trip_during_a_pause() {
        assert_eq!(padded(0, 0), [26, 52, 78]);
        assert!(padded(0, 1).is_empty(), "something else is about to leave");
        assert!(
            !ProbeRttAvoidance::default().should_probe(Instant(60 * MS), &CONTENT, &info(0, 0), 0),
            "it is not paused"
        );
    }

    #[test]
    fn a_delayed_acknowledgement_is_followed_by_a_probe_before_probe_rtt_is_due() {
        assert_eq!(padded(1, 0), [26]);
        assert!(padded(PROBE_RTT_SEGMENTS + 1, 0).is_empty(), "it is still on its way");
    }

    #[test]
    fn an_overdue_pause_ends_without_a_sample() {
        let mut avoidance = ProbeRttAvoidance::default();
        avoidance.update(Instant(0), &CONTENT, &info(0, 1000), 0);
        avoidance.update(Instant(9_960 * MS), &CONTENT, &info(9_960, 1000), 0);
        assert!(avoidance.is_paused() && !avoidance.end_if_overdue(Instant(10_039 * MS)));
        assert!(avoidance.end_if_overdue(Instant(10_040 * MS)) && !avoidance.is_paused());
    }
}
