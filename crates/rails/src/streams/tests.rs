//! A rail and what its streams deliver, made up.

use super::*;

const MS: u64 = 1_000_000;
const TICK_NS: u64 = 5 * MS;

/// One stream, which is limited, over 10 ms.
fn limited(now: Instant, acknowledged: u64) -> Sample {
    Sample {
        now,
        streams: 1,
        is_changing: false,
        has_backlog: true,
        is_limited: true,
        acknowledged,
        rail_acknowledged: acknowledged,
        min_rtt_ns: 20 * MS,
        speed: None,
    }
}

/// A path on which one stream gets so much, and all together no more than the path has.
struct Path {
    stream_count: StreamCount,
    now: Instant,
    streams: u8,
    acknowledged: f64,
    per_stream: f64,
    most: f64,
    min_rtt_ns: u64,
    /// Largest number of streams seen.
    peak: u8,
}

impl Path {
    fn new(most_streams: u8, per_stream: f64, most: f64) -> Path {
        let stream_count = StreamCount::new(most_streams);
        Path {
            stream_count,
            now: Instant(0),
            streams: 1,
            acknowledged: 0.0,
            per_stream,
            most,
            min_rtt_ns: 20 * MS,
            peak: 1,
        }
    }

    /// Messages wait, or do not, for so long.
    fn run(&mut self, for_ns: u64, has_backlog: bool) -> u8 {
        for _ in 0..for_ns / TICK_NS {
            self.now = self.now.plus_ns(TICK_NS);
            let could = self.per_stream * f64::from(self.streams);
            if has_backlog {
                self.acknowledged += could.min(self.most) * TICK_NS as f64 / 1e9;
            }
            let sample = Sample {
                streams: self.streams,
                has_backlog,
                is_limited: has_backlog && could < self.most,
                min_rtt_ns: self.min_rtt_ns,
                ..limited(self.now, self.acknowledged as u64)
            };
            self.streams = self.stream_count.decide(&sample).unwrap_or(self.streams);
            self.peak = self.peak.max(self.streams);
        }
        self.streams
    }
}

#[test]
fn streams_that_are_limited_double_up_to_what_the_path_takes_or_the_user_allows() {
    let grown = |most_streams, per_stream, most| Path::new(most_streams, per_stream, most).run(4_000 * MS, true);
    assert_eq!(grown(8, 3e6, 1e9), 8);
    assert_eq!(grown(6, 3e6, 1e9), 6);
    assert_eq!(grown(8, 30e6, 110e6), 4);
    assert_eq!(grown(8, 120e6, 110e6), 1);
}

#[test]
fn a_near_path_stays_at_one() {
    let mut path = Path { min_rtt_ns: NEAR_RTT_NS, ..Path::new(8, 3e6, 1e9) };
    assert_eq!(path.run(60_000 * MS, true), 1);
}

#[test]
fn a_rail_that_carries_what_its_driver_says_stays_at_one() {
    let mut stream_count = StreamCount::new(8);
    for tick in 1..10_000 {
        let (now, acknowledged) = (Instant(tick * TICK_NS), tick * 600_000);
        let sample = Sample { speed: Some(125e6), ..limited(now, acknowledged) };
        assert_eq!(stream_count.decide(&sample), None);
    }
}

#[test]
fn a_rail_that_many_peers_fill_together_stays_at_one() {
    let mut stream_count = StreamCount::new(8);
    for tick in 1..10_000 {
        let now = Instant(tick * TICK_NS);
        let sample = Sample { speed: Some(125e6), rail_acknowledged: tick * 600_000, ..limited(now, tick * 60_000) };
        assert_eq!(stream_count.decide(&sample), None);
    }
}

#[test]
fn a_peer_that_does_not_read_is_no_reason_to_grow() {
    let mut stream_count = StreamCount::new(8);
    for tick in 1..10_000 {
        // It computes for two seconds and reads for 100 ms.
        let (times, since) = (tick / 420, tick % 420);
        let acknowledged = (times * 20 + since.min(20)) * 100_000;
        let sample = Sample { is_limited: since < 20, ..limited(Instant(tick * TICK_NS), acknowledged) };
        assert_eq!(stream_count.decide(&sample), None, "tick {tick}");
    }
}

#[test]
fn what_has_come_up_is_judged_though_more_could_not_be_set_up() {
    let mut stream_count = StreamCount::new(4);
    let (mut streams, mut acknowledged, mut wishes) = (1, 0, Vec::new());
    for tick in 1..2_000 {
        let now = Instant(tick * TICK_NS);
        acknowledged += u64::from(streams) * 50_000;
        let Some(wanted) = stream_count.decide(&Sample { streams, ..limited(now, acknowledged) }) else { continue };
        wishes.push(wanted);
        // The fourth is refused the first time.
        streams = if wishes == [2, 4] { 3 } else { wanted };
        if streams < wanted {
            stream_count.failed(streams, now);
        }
    }
    assert_eq!(wishes, [2, 4, 4], "all within 10 s: nothing was paused");
}

#[test]
fn what_does_not_pay_is_taken_back_and_tried_again_ever_more_rarely() {
    // The windows seem to limit, but something else does.
    let mut stream_count = StreamCount::new(8);
    let (mut streams, mut tries) = (1, Vec::new());
    for tick in 1..40_000 {
        let now = Instant(tick * TICK_NS);
        let acknowledged = tick * 50_000;
        let sample = Sample { streams, ..limited(now, acknowledged) };
        let Some(wanted) = stream_count.decide(&sample) else { continue };
        assert_eq!(wanted, 3 - streams);
        if wanted == 2 {
            tries.push(now.0);
        }
        streams = wanted;
    }
    let pauses: Vec<u64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.len() >= 3 && pauses.windows(2).all(|pair| pair[1] > pair[0] * 3 / 2), "{pauses:?}");
}

#[test]
fn what_a_window_carried_before_its_first_losses_is_not_held_against_more_streams() {
    let mut path = Path::new(8, 40e6, 1e9);
    path.run(300 * MS, true);
    // It shrinks.
    for rate in [20e6, 10e6, 5e6] {
        path.per_stream = rate;
        path.run(150 * MS, true);
    }
    assert_eq!(path.peak, 1);
    path.per_stream = 3e6;
    assert_eq!(path.run(4_000 * MS, true), 8);
}

#[test]
fn bursts_grow_as_one_long_transfer_does() {
    let mut path = Path::new(8, 3e6, 1e9);
    for _ in 0..60 {
        path.run(60 * MS, true);
        path.run(30 * MS, false);
        // It computes.
        path.now = path.now.plus_ns(100 * MS);
    }
    assert_eq!(path.streams, 8);
}

#[test]
fn streams_go_when_nothing_needs_them_and_stay_longer_the_more_they_were_needed() {
    let mut path = Path::new(8, 3e6, 1e9);
    assert_eq!(path.run(4_000 * MS, true), 8);
    assert_eq!(path.run(9_000 * MS, false), 8);
    // A loss that ends: one would do.
    path.per_stream = 1e9;
    assert_eq!(path.run(300_000 * MS, true), 1);
    path.per_stream = 3e6;
    assert_eq!(path.run(4_000 * MS, true), 8);
    // Three times doubled before, three times now.
    assert_eq!(path.run(300_000 * MS, false), 8);
    assert_eq!(path.run(1_000_000 * MS, false), 1);
}

#[test]
fn streams_that_cannot_be_set_up_are_tried_again_later() {
    let mut path = Path::new(8, 3e6, 1e9);
    path.run(1_000 * MS, true);
    assert_eq!(path.peak, 2);
    (path.streams, path.peak) = (1, 1);
    path.stream_count.failed(path.streams, path.now);
    path.run(9_000 * MS, true);
    assert_eq!(path.peak, 1);
    path.run(3_000 * MS, true);
    assert_eq!(path.peak, 4);
}

#[test]
fn a_search_for_the_least_round_trip_is_no_limit() {
    let mut stream_count = StreamCount::new(8);
    for tick in 1..20_000u64 {
        // BBR's: 200 ms and two round trips every 10 s.
        let is_limited = tick % 2000 < 48;
        let (now, acknowledged) = (Instant(tick * TICK_NS), tick * 100_000);
        let sample = Sample { is_limited, ..limited(now, acknowledged) };
        assert_eq!(stream_count.decide(&sample), None);
    }
}
