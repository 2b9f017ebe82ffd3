//! A rail and what its streams deliver, made up.

use super::*;

const MS: u64 = 1_000_000;
const TICK_NS: u64 = 5 * MS;

/// A port, of which one stream gets so much, and all together no more than it has. Others send over it, too: as many flows
/// share what there is.
struct Path {
    stream_count: StreamCount,
    now: Instant,
    streams: u8,
    /// Number of these streams that carry no messages yet.
    on_trial: u8,
    acknowledged: f64,
    port_bytes: f64,
    per_stream: f64,
    most: f64,
    others: f64,
    min_rtt_ns: u64,
    speed: Option<f64>,
    /// Largest number of streams seen.
    peak: u8,
    /// When more were tried, in nanoseconds.
    trials: Vec<u64>,
    /// Samples with streams that were filled with padding.
    filled: u32,
}

impl Path {
    fn new(most_streams: u8, per_stream: f64, most: f64) -> Path {
        Path {
            stream_count: StreamCount::new(most_streams),
            now: Instant(0),
            streams: 1,
            on_trial: 0,
            acknowledged: 0.0,
            port_bytes: 0.0,
            per_stream,
            most,
            others: 0.0,
            min_rtt_ns: MS / 10,
            speed: None,
            peak: 1,
            trials: Vec::new(),
            filled: 0,
        }
    }

    /// Messages wait, or do not, for this time.
    fn run(&mut self, for_ns: u64, has_backlog: bool) -> u8 {
        let seconds = TICK_NS as f64 / 1e9;
        for _ in 0..for_ns / TICK_NS {
            self.now = self.now.plus_ns(TICK_NS);
            let filling = self.stream_count.filling();
            let busy = self.streams - if filling == Filling::All { 0 } else { self.on_trial };
            let own = if has_backlog || filling != Filling::Nothing { f64::from(busy) } else { 0.0 };
            let each = (self.most / (own + self.others)).min(self.per_stream);
            self.acknowledged += each * own * seconds;
            self.port_bytes += each * (own + self.others) * seconds;
            self.tick(has_backlog || filling != Filling::Nothing);
        }
        self.streams
    }

    fn tick(&mut self, has_backlog: bool) {
        let sample = Sample {
            now: self.now,
            streams: self.streams,
            is_changing: false,
            has_backlog,
            acknowledged: self.acknowledged as u64,
            min_rtt_ns: self.min_rtt_ns,
            speed: self.speed,
            may_try: true,
        };
        let port_bytes = self.port_bytes as u64;
        self.filled += u32::from(self.stream_count.filling() != Filling::Nothing);
        let wanted = self.stream_count.decide(&sample, || port_bytes);
        if self.stream_count.filling() == Filling::Nothing {
            self.on_trial = 0;
        }
        let Some(wanted) = wanted else { return };
        if wanted > self.streams {
            self.trials.push(self.now.0);
            if self.stream_count.filling() != Filling::Nothing {
                self.on_trial = wanted - self.streams;
            }
        }
        self.streams = wanted;
        self.peak = self.peak.max(self.streams);
    }
}

#[test]
fn flows_that_are_limited_become_as_many_as_the_port_takes_or_the_user_allows() {
    for min_rtt_ns in [MS / 50, 2 * MS, 20 * MS] {
        let grown = |most_streams, per_stream| {
            let mut path = Path { min_rtt_ns, ..Path::new(most_streams, per_stream, 125e6) };
            path.run(2_200 * MS, true)
        };
        assert_eq!([12.5e6, 31.25e6, 62.5e6, 125e6, 1e9].map(|per_stream| grown(16, per_stream)), [16, 4, 4, 1, 1]);
        assert_eq!((grown(8, 12.5e6), grown(2, 12.5e6)), (8, 2));
    }
}

#[test]
fn padding_shows_first_whether_messages_would_gain() {
    let tried = |min_rtt_ns, per_stream| {
        let mut path = Path { min_rtt_ns, ..Path::new(16, per_stream, 125e6) };
        path.run(2_000 * MS, true);
        (path.streams, path.filled * 5)
    };
    assert_eq!([MS / 10, 2 * MS, 20 * MS].map(|rtt| tried(rtt, 1e9)), [(1, 40), (1, 50), (1, 330)], "milliseconds");
    assert_eq!(tried(MS / 10, 31.25e6).0, 4);
}

#[test]
fn a_trial_that_takes_long_is_repeated_later() {
    let second = |min_rtt_ns| {
        let mut path = Path { min_rtt_ns, ..Path::new(16, 1e9, 125e6) };
        path.run(30_000 * MS, true);
        (path.trials[1] - path.trials[0]) / 1_000_000_000
    };
    assert_eq!([MS / 10, 2 * MS, 20 * MS].map(second), [2, 2, 5]);
}

#[test]
fn rates_of_a_flow_and_of_the_port_are_known_from_trials() {
    let mut path = Path::new(16, 31.25e6, 125e6);
    path.run(200 * MS, true);
    assert_eq!(path.stream_count.estimate(), Estimate::default());
    path.run(4_000 * MS, true);
    let near = |rate: Option<f64>, known: f64| (rate.unwrap() / known - 1.0).abs() < 0.01;
    let Estimate { flow, port } = path.stream_count.estimate();
    assert!(near(flow, 31.25e6) && near(port, 125e6), "{flow:?} {port:?}");
    let mut path = Path::new(16, 1e9, 125e6);
    path.run(4_000 * MS, true);
    let Estimate { flow, port } = path.stream_count.estimate();
    assert!(flow.is_none() && near(port, 125e6), "{flow:?} {port:?}");
}

#[test]
fn a_share_that_others_lose_is_no_reason_to_grow() {
    // Seven flows of other processes: four streams of eleven get 2.9 times as much as one of eight.
    let mut path = Path { others: 7.0, ..Path::new(16, 1e9, 125e6) };
    assert_eq!((path.run(60_000 * MS, true), path.peak), (1, 4));
    // Where the port has room for all, it is.
    let mut path = Path { others: 7.0, ..Path::new(16, 10e6, 125e6) };
    assert_eq!(path.run(3_000 * MS, true), 4);
}

#[test]
fn a_rail_that_carries_what_its_driver_says_stays_at_one() {
    let mut path = Path { speed: Some(125e6), ..Path::new(16, 115e6, 1e9) };
    path.run(60_000 * MS, true);
    assert_eq!(path.peak, 1);
    let mut filled_by_others = Path { speed: Some(125e6), others: 9.0, ..Path::new(16, 12e6, 1e9) };
    filled_by_others.run(60_000 * MS, true);
    assert_eq!(filled_by_others.peak, 1);
}

#[test]
fn a_peer_that_does_not_read_is_no_reason_to_grow() {
    let mut path = Path::new(16, 20e6, 125e6);
    (0..12_000).for_each(|_| {
        path.now = path.now.plus_ns(TICK_NS);
        path.tick(true);
    });
    assert_eq!((path.peak, path.stream_count.estimate()), (1, Estimate::default()));
}

#[test]
fn connected_streams_are_judged_though_others_could_not_be_set_up() {
    let mut path = Path::new(4, 10e6, 125e6);
    path.run(410 * MS, true);
    assert_eq!(path.streams, 4);
    // The fourth is refused.
    (path.streams, path.on_trial) = (3, 2);
    path.stream_count.failed(3, path.now);
    path.run(1_500 * MS, true);
    assert_eq!(path.streams, 4, "nothing was paused");
}

#[test]
fn useless_streams_are_retired_and_tried_again_at_growing_intervals() {
    let mut path = Path::new(16, 1e9, 125e6);
    path.run(200_000 * MS, true);
    let pauses: Vec<u64> = path.trials.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.len() >= 3 && pauses.windows(2).all(|pair| pair[1] > pair[0] * 2), "{pauses:?}");
    assert_eq!(path.streams, 1);
}

#[test]
fn the_rate_of_a_window_before_its_first_losses_does_not_count_against_more_streams() {
    let mut path = Path { min_rtt_ns: 20 * MS, ..Path::new(16, 40e6, 1e9) };
    path.run(300 * MS, true);
    // It shrinks.
    for rate in [20e6, 10e6, 5e6] {
        path.per_stream = rate;
        path.run(150 * MS, true);
    }
    assert_eq!(path.peak, 1);
    path.per_stream = 3e6;
    assert_eq!(path.run(4_000 * MS, true), 16);
}

#[test]
fn bursts_grow_as_one_long_transfer_does() {
    let mut path = Path::new(16, 3e6, 1e9);
    for _ in 0..60 {
        path.run(60 * MS, true);
        path.run(30 * MS, false);
        // It computes.
        path.now = path.now.plus_ns(100 * MS);
    }
    assert_eq!(path.streams, 16);
}

#[test]
fn streams_go_when_no_message_waits_and_stay_longer_the_more_they_were_needed() {
    let mut path = Path::new(16, 3e6, 1e9);
    assert_eq!(path.run(4_000 * MS, true), 16);
    // Twice they were worth it.
    assert_eq!(path.run(39_000 * MS, false), 16);
    assert_eq!(path.run(42_000 * MS, false), 1);
}

#[test]
fn a_limit_that_has_ended_leaves_one_stream_and_one_that_lasts_costs_little_to_find_again() {
    let mut path = Path::new(16, 3e6, 100e6);
    assert_eq!(path.run(4_000 * MS, true), 16);
    path.per_stream = 1e9;
    assert_eq!(path.run(120_000 * MS, true), 1);
    path.per_stream = 3e6;
    assert_eq!(path.run(330_000 * MS, true), 16);
    let before = path.acknowledged;
    path.run(600_000 * MS, true);
    let part = (path.acknowledged - before) / (600.0 * 16.0 * 3e6);
    assert!(part > 0.985, "{part}");
}

#[test]
fn streams_that_cannot_be_set_up_are_tried_again_later() {
    let mut path = Path::new(16, 3e6, 1e9);
    path.run(410 * MS, true);
    assert_eq!(path.peak, 4);
    (path.streams, path.on_trial, path.peak) = (1, 0, 1);
    path.stream_count.failed(path.streams, path.now);
    path.run(1_900 * MS, true);
    assert_eq!(path.peak, 1);
    path.run(410 * MS, true);
    assert_eq!(path.peak, 4);
}

#[test]
fn streams_that_only_the_peer_can_retire_are_left_to_it() {
    let mut path = Path::new(16, 1e9, 125e6);
    path.streams = 4;
    let (mut wishes, mut before) = (0, path.streams);
    for _ in 0..60 {
        path.run(1_000 * MS, true);
        wishes += u8::from(path.streams != before);
        (path.streams, before) = (4, 4);
    }
    assert!(wishes < 12, "{wishes} wishes in 60 s");
}

#[test]
fn a_search_for_the_least_round_trip_is_no_limit() {
    let mut path = Path { min_rtt_ns: 20 * MS, ..Path::new(16, 1e9, 125e6) };
    for _ in 0..9 {
        // BBR's: 200 ms and two round trips every 10 s.
        path.run(9_760 * MS, true);
        path.most = 4e6;
        path.run(240 * MS, true);
        path.most = 125e6;
        path.run(1_000 * MS, true);
    }
    assert_eq!(path.streams, 1);
}
