use std::collections::VecDeque;

use super::super::rate::ASSUMED_RATE;
use super::*;

const MIB: u64 = 1 << 20;

impl AckedFrames {
    fn of(frames: &[SentFrame]) -> AckedFrames {
        let mut acked = AckedFrames::NONE;
        frames.iter().for_each(|frame| acked.add(frame));
        acked
    }
}

/// A least round trip time and a window.
fn path(min_rtt_ns: u64, window: u64) -> Path {
    Path { rtt_ns: 0, min_rtt_ns, delivery_rate: None, window }
}

impl Estimate {
    /// With a least round trip time.
    fn of_round_trip(min_rtt_ns: u64) -> Estimate {
        let mut estimate = Estimate::new(None);
        estimate.path_measured(Instant(0), path(min_rtt_ns, u64::MAX));
        estimate
    }

    /// Of frames behind which none are in flight.
    /// The peer's clock is ahead by half a round trip, so that it says when the acknowledgement is here.
    fn measure_all(&mut self, came: (Instant, Instant), frames: &[SentFrame], ack_delay_ns: u64) {
        let (now, round_trip_ns) = (came.1, self.min_rtt_ns());
        let least_ns = if round_trip_ns < FAR_NS { round_trip_ns / 2 } else { 0 };
        // Some frame has found the path empty.
        self.own_clock.sample(now, now, least_ns, (now.plus_ns(round_trip_ns).wrapping_us(), 0));
        let waited_us = ((now.since_ns(came.0) + ack_delay_ns) / 1000) as u16;
        let mut clock = self.own_clock.clone();
        self.measure(came, (now.wrapping_us(), waited_us), &mut clock, &AckedFrames::of(frames), std::iter::empty());
    }

    /// At once, of one frame.
    fn measure_one(&mut self, now: Instant, frame: SentFrame) {
        self.measure_all((now, now), &[frame], 0);
    }
}

#[test]
fn the_rate_is_what_acknowledgements_show_whatever_the_driver_said() {
    for speed in [None, Some(1.25e9)] {
        let mut estimate = Estimate::new(speed);
        // Two frames are always in flight at 31.25 MB/s, so each takes the time of two.
        let mut before = estimate.sent(Instant(0), MIB);
        for round in 1..6 {
            let next = estimate.sent(Instant((round - 1) * 33_554_432), MIB);
            estimate.acknowledged(before);
            estimate.measure_one(Instant(round * 33_554_432), before);
            before = next;
        }
        assert!((estimate.rate(Instant(0)) / 31.25e6 - 1.0).abs() < 0.1, "{}", estimate.rate(Instant(0)));
    }
}

#[test]
fn the_round_trip_and_the_pauses_of_the_sender_do_not_count() {
    let mut estimate = Estimate::of_round_trip(20_000_000);
    for round in 0..10 {
        let start = round * 1_000_000_000;
        let sent = estimate.sent(Instant(start), MIB);
        estimate.acknowledged(sent);
        estimate.measure_one(Instant(start + 20_000_000 + 33_554_432), sent);
    }
    assert!((estimate.rate(Instant(0)) / 31.25e6 - 1.0).abs() < 0.01, "{}", estimate.rate(Instant(0)));
}

#[test]
fn a_trickle_does_not_make_a_path_slow() {
    let mut estimate = Estimate::new(None);
    for at in 0..10_000 {
        let sent = estimate.sent(Instant(at * 100_000), 64);
        estimate.acknowledged(sent);
        estimate.measure_one(Instant(at * 100_000 + 10_000), sent);
    }
    assert_eq!(estimate.rate(Instant(0)), ASSUMED_RATE);
}

#[test]
fn a_far_path_is_taken_for_faster_while_acknowledgements_are_held_back() {
    let mut estimate = Estimate::of_round_trip(2_000_000);
    // A standstill, and then windows of 80 KiB at 125 MB/s, acknowledged 2 ms late.
    for window in 0..300 {
        let (start, is_still) = (window * 4_000_000, window < 3);
        let frames: Vec<SentFrame> = (0..20).map(|at| estimate.sent(Instant(start + at * 80_000), 4096)).collect();
        frames.iter().for_each(|frame| estimate.acknowledged(*frame));
        let end_ns = start + if is_still { 5_900_000 } else { 2_000_000 + 20 * 80_000 };
        let held_ns = if is_still { 0 } else { 1_000_000 };
        estimate.measure_all((Instant(end_ns), Instant(end_ns + held_ns)), &frames, held_ns);
        if window == 3 {
            assert!(estimate.rate(Instant(end_ns)) < 60e6, "{}", estimate.rate(Instant(end_ns)));
        }
    }
    let rate = estimate.rate(Instant(1_200_000_000));
    assert!(rate > 100e6, "{rate}");
}

#[test]
fn the_rate_of_a_far_path_is_known_better_than_when_each_acknowledgement_came() {
    let mut estimate = Estimate::of_round_trip(20_000_000);
    // 64 KiB each 0.56 ms, 117 MB/s; each may be acknowledged 0.3 ms late, or not.
    let mut sent: VecDeque<SentFrame> = (0..72).map(|_| estimate.sent(Instant(0), 65536)).collect();
    for at in 0..500 {
        let now = Instant(20_000_000 + (at + 1) * 560_000 + 300_000);
        sent.push_back(estimate.sent(now, 65536));
        let frame = sent.pop_front().unwrap();
        estimate.acknowledged(frame);
        estimate.measure_all((Instant(now.0 - 300_000), now), &[frame], 0);
    }
    let rate = estimate.rate(Instant(300_860_000));
    assert!((rate / 117e6 - 1.0).abs() < 0.05, "{rate}");
}

#[test]
fn pauses_of_the_sender_within_an_acknowledgement_do_not_make_a_path_slow() {
    let mut estimate = Estimate::of_round_trip(2_000_000);
    for window in 0..100 {
        let start = window * 4_000_000;
        // Three frames each 0.25 ms, far from filling the path, and acknowledged together.
        let frames: Vec<SentFrame> = (0..12).map(|at| estimate.sent(Instant(start + at / 3 * 250_000), 4096)).collect();
        frames.iter().for_each(|frame| estimate.acknowledged(*frame));
        let end = Instant(start + 2_000_000 + 750_000 + 105_000);
        estimate.measure_all((end, end), &frames, 0);
    }
    let rate = estimate.rate(Instant(400_000_000));
    assert!((rate / 117e6 - 1.0).abs() < 0.1, "{rate}");
}

#[test]
fn a_short_window_does_not_make_a_path_slow() {
    let mut estimate = Estimate::of_round_trip(20_000_000);
    let carry = |estimate: &mut Estimate, window: u64, round_trips: std::ops::Range<u64>| {
        for round in round_trips {
            let start = Instant(round * 20_000_000);
            estimate.path_measured(start, path(20_000_000, window));
            let frame = estimate.sent(start, 80_000);
            estimate.acknowledged(frame);
            estimate.measure_one(start.plus_ns(40_000_000), frame);
        }
        estimate.rate(Instant(0))
    };
    assert_eq!(carry(&mut estimate, 80_000, 0..100), ASSUMED_RATE);
    // Now it is the path: there is room for more.
    assert!(carry(&mut estimate, 800_000, 100..200) < 10e6);
}

#[test]
fn a_window_that_opens_does_not_make_a_path_slow() {
    let mut estimate = Estimate::of_round_trip(40_000_000);
    let mut now = Instant(40_000_000);
    for round in 0..6 {
        let window = 14_480 << round;
        estimate.path_measured(now, path(40_000_000, window));
        // A window, and what does not fit in it, which waits for its acknowledgement.
        let fits = estimate.sent(now, window);
        let waits = estimate.sent(now, 8_248);
        for (frame, later_ns) in [(fits, 40_700_000), (waits, 80_700_000)] {
            estimate.acknowledged(frame);
            estimate.measure_one(now.plus_ns(later_ns), frame);
        }
        now = now.plus_ns(80_700_000);
        assert!(estimate.rate(now) > 0.9 * ASSUMED_RATE, "{round}: {}", estimate.rate(now));
    }
}

#[test]
fn a_path_that_is_shunned_gets_another_chance_and_one_look_may_be_enough() {
    let mut estimate = Estimate::of_round_trip(5_000);
    for round in 0..100 {
        let sent = estimate.sent(Instant(round * 4_096_000), 4096);
        estimate.acknowledged(sent);
        estimate.measure_one(Instant((round + 1) * 4_096_000), sent); // 1 MB/s
    }
    assert!((estimate.rate(Instant(409_600_000)) / 1e6 - 1.0).abs() < 0.05);
    assert_eq!(estimate.rate(Instant(60_000_000_000)), ASSUMED_RATE);
    let sent = estimate.sent(Instant(60_000_000_000), 4096);
    estimate.acknowledged(sent);
    estimate.measure_one(Instant(60_000_033_000), sent);
    assert!(estimate.rate(Instant(60_000_033_000)) > 1e8);
}

#[test]
fn the_slower_a_path_the_longer_it_takes_until_it_is_tried_again() {
    let tried_again_after = |rate: u64| {
        let mut estimate = Estimate::of_round_trip(5_000);
        let ns_of = |bytes: u64| bytes * 1_000_000_000 / rate;
        let mut now = 0;
        for _ in 0..100 {
            let sent = estimate.sent(Instant(now), 32 << 10);
            now += ns_of(32 << 10);
            estimate.acknowledged(sent);
            estimate.measure_one(Instant(now), sent);
        }
        assert!(!estimate.is_probing(Instant(now)));
        (1..).map(|tenths| tenths * 100_000_000).find(|ns| estimate.is_probing(Instant(now + ns))).unwrap()
    };
    assert_eq!(tried_again_after(31_250_000), 200_000_000);
    assert!((2_500_000_000..3_000_000_000).contains(&tried_again_after(1_250_000)));
    assert!((5_000_000_000..5_200_000_000).contains(&tried_again_after(10_000)));
}

#[test]
fn a_near_path_that_was_never_measured_is_given_little_until_it_is() {
    let mut estimate = Estimate::of_round_trip(5_000);
    assert_eq!(estimate.allowance(Instant(1)), MAX_EAGER_SIZE);
    let sent = estimate.sent(Instant(1), MAX_EAGER_SIZE + 1);
    assert_eq!(estimate.allowance(Instant(2)), 0);
    estimate.acknowledged(sent);
    estimate.measure_one(Instant(2_000_000), sent);
    assert_eq!(estimate.allowance(Instant(2_000_000)), u64::MAX);
    assert_eq!(Estimate::of_round_trip(1_000_000).allowance(Instant(1)), u64::MAX, "far away it may be needed");
}

#[test]
fn a_path_that_carries_only_short_frames_gets_another_chance_for_long_ones() {
    let mut estimate = Estimate::of_round_trip(5_000);
    for round in 0..200 {
        let (start, bytes) = (round * 10_000_000, if round < 100 { 10_000 } else { 100 });
        let sent = estimate.sent(Instant(start), bytes);
        estimate.acknowledged(sent);
        estimate.measure_one(Instant(start + if round < 100 { 10_000_000 } else { 20_000 }), sent); // 1 MB/s
        if round == 99 {
            assert!(estimate.rate(Instant(start)) < 2e6);
        }
    }
    assert_eq!(estimate.rate(Instant(60_000_000_000)), ASSUMED_RATE);
}

#[test]
fn a_moment_s_standstill_does_not_make_a_path_slower_than_a_slow_one() {
    let (mut fast, mut slow) = (Estimate::of_round_trip(5_000), Estimate::of_round_trip(5_000));
    for round in 0..100 {
        let now = Instant(round * 100_000);
        let pause_ns = if round == 50 { 3_000_000 } else { 0 };
        for (estimate, ns) in [(&mut fast, 8_500 + pause_ns), (&mut slow, 34_000)] {
            let sent = estimate.sent(now, 1064);
            estimate.acknowledged(sent);
            estimate.measure_one(now.plus_ns(ns), sent);
        }
    }
    let end = Instant(10_000_000);
    assert!(fast.rate(end) > 1.5 * slow.rate(end), "{} {}", fast.rate(end), slow.rate(end));
}

#[test]
fn time_in_the_drivers_hands_does_not_count() {
    let mut estimate = Estimate::new(Some(1e9));
    let mut held = [estimate.sent(Instant(0), 50_000), estimate.sent(Instant(10_000), 50_000)];
    estimate.retract(Instant(1_000_000), 100_000);
    held.iter_mut().for_each(|frame| estimate.restamp(Instant(1_000_000), frame));
    assert_eq!(estimate.queued_ahead(Instant(1_000_000)), 100_000);
    estimate.acknowledged(held[0]);
    estimate.acknowledged(held[1]);
    estimate.measure_all((Instant(1_100_000), Instant(1_100_000)), &held, 0);
    assert!((estimate.rate(Instant(1_100_000)) / 1e9 - 1.0).abs() < 0.01);
}

#[test]
fn what_is_under_way_drains_with_time_and_with_acknowledgements() {
    let mut estimate = Estimate::new(Some(1e9));
    let large = estimate.sent(Instant(0), 900_000);
    estimate.sent(Instant(0), 100_000);
    assert_eq!(estimate.queued_ahead(Instant(0)), 1_000_000);
    assert_eq!(estimate.queued_ahead(Instant(400_000)), 600_000);
    estimate.acknowledged(large);
    assert_eq!(estimate.queued_ahead(Instant(400_000)), 100_000);
    assert_eq!(estimate.queued_ahead(Instant(2_000_000)), 0);
}
