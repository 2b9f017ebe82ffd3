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
        let idle = AckTiming { sent_at_us: now.plus_ns(round_trip_ns).wrapping_us(), ack_delay_us: 0 };
        self.own_clock.sample(now, now, least_ns, idle);
        let ack_delay_us = ((now.since_ns(came.0) + ack_delay_ns) / 1000) as u16;
        let timing = AckTiming { sent_at_us: now.wrapping_us(), ack_delay_us };
        let came = TimeRange { earliest: came.0, latest: came.1 };
        let mut clock = self.own_clock.clone();
        let ack = AckArrival { came, kernel_acked: None, timing, max_ack_delay_ns: 0 };
        self.measure(ack, &mut clock, &AckedFrames::of(frames), std::iter::empty());
    }

    /// At once, of one frame.
    fn measure_one(&mut self, now: Instant, frame: SentFrame) {
        self.measure_all((now, now), &[frame], 0);
    }

    /// A frame of this length is acknowledged so much later, at once.
    fn carry(&mut self, at: Instant, bytes: u64, ns: u64) {
        let sent = self.sent(at, bytes);
        self.acknowledged(sent);
        self.measure_one(at.plus_ns(ns), sent);
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
        assert!((estimate.rate() / 31.25e6 - 1.0).abs() < 0.1, "{}", estimate.rate());
    }
}

#[test]
fn the_round_trip_and_the_pauses_of_the_sender_do_not_count() {
    let mut estimate = Estimate::of_round_trip(20_000_000);
    for round in 0..10 {
        estimate.carry(Instant(round * 1_000_000_000), MIB, 20_000_000 + 33_554_432);
    }
    assert!((estimate.rate() / 31.25e6 - 1.0).abs() < 0.01, "{}", estimate.rate());
}

#[test]
fn a_trickle_does_not_make_a_path_slow() {
    let mut estimate = Estimate::new(None);
    for at in 0..10_000 {
        estimate.carry(Instant(at * 100_000), 64, 10_000);
    }
    assert_eq!(estimate.rate(), ASSUMED_RATE);
}

#[test]
fn a_far_path_recovers_from_a_standstill_while_acknowledgements_are_held_back() {
    let mut estimate = Estimate::of_round_trip(2_000_000);
    // A standstill, and then windows of 80 KiB that the sender spaces as 51 MB/s, acknowledged 1 ms late.
    for window in 0..300 {
        let (start, is_still) = (window * 4_000_000, window < 3);
        let frames: Vec<SentFrame> = (0..20).map(|at| estimate.sent(Instant(start + at * 80_000), 4096)).collect();
        frames.iter().for_each(|frame| estimate.acknowledged(*frame));
        let end_ns = start + if is_still { 5_900_000 } else { 2_000_000 + 20 * 80_000 };
        let held_ns = if is_still { 0 } else { 1_000_000 };
        estimate.measure_all((Instant(end_ns), Instant(end_ns + held_ns)), &frames, held_ns);
        if window == 3 {
            assert!(estimate.rate() < 30e6, "{}", estimate.rate());
        }
    }
    let rate = estimate.rate();
    assert!(rate > 39e6, "{rate}");
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
    let rate = estimate.rate();
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
    let rate = estimate.rate();
    assert!((rate / 117e6 - 1.0).abs() < 0.1, "{rate}");
}

#[test]
fn a_short_window_does_not_make_a_path_slow() {
    let mut estimate = Estimate::of_round_trip(20_000_000);
    let carry = |estimate: &mut Estimate, window: u64, round_trips: std::ops::Range<u64>| {
        for round in round_trips {
            let start = Instant(round * 20_000_000);
            estimate.path_measured(start, path(20_000_000, window));
            estimate.carry(start, 80_000, 40_000_000);
        }
        estimate.rate()
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
        assert!(estimate.rate() > 0.9 * ASSUMED_RATE, "{round}: {}", estimate.rate());
    }
}

#[test]
fn a_path_that_is_shunned_is_measured_by_padding() {
    let mut estimate = Estimate::of_round_trip(5_000);
    for round in 0..100 {
        estimate.carry(Instant(round * 4_096_000), 4096, 4_096_000); // 1 MB/s
    }
    assert!((estimate.rate() / 1e6 - 1.0).abs() < 0.05);
    // Now it carries 125 MB/s. A short train, for a start, says 16 MB/s, and no later one more; a long one does.
    let mut now = Instant(10_000_000_000);
    for (first, frames, us) in [(10, 3, 77), (20, 3, 77), (30, 2, 524)] {
        for frame in 0..frames {
            assert!(estimate.next_padding(now, 1 << 22).is_some(), "{frames}");
            estimate.padding_sent(now, first + frame);
            now = now.plus_ns(50_000);
        }
        estimate.padding_acknowledged(now, first, AckTiming { sent_at_us: 1000, ack_delay_us: 0 });
        now = now.plus_ns(1_000_000);
        estimate.padding_acknowledged(now, first + frames - 1, AckTiming { sent_at_us: 1000 + us, ack_delay_us: 0 });
        if first == 10 {
            assert!((estimate.rate() / 16e6 - 1.0).abs() < 0.05, "{}", estimate.rate());
            now = now.plus_ns(1_000_000_000);
        }
    }
    assert!((estimate.rate() / 125e6 - 1.0).abs() < 0.05, "{}", estimate.rate());
    assert_eq!(estimate.next_padding(now, 1 << 20), None, "not at once again");
}

#[test]
fn the_burst_of_a_shaper_does_not_make_a_path_fast() {
    let mut estimate = Estimate::of_round_trip(5_000);
    // 62 KB each 2 ms, 31 MB/s; every third passes at once, as the path has rested.
    for round in 0..300 {
        estimate.carry(Instant(round * 2_500_000), 62_000, if round % 3 == 0 { 60_000 } else { 2_000_000 });
    }
    assert!((28e6..36e6).contains(&estimate.rate()), "{}", estimate.rate());
}

/// Sends 16 KB, which pass at once, and 60 bytes 30 us later, which take `late_ns` longer than alone.
fn burst_and_frame(estimate: &mut Estimate, start: Instant, late_ns: u64) {
    estimate.carry(start, 16_000, 20_000);
    estimate.carry(start.plus_ns(30_000), 60, 5_000 + late_ns);
}

#[test]
fn a_short_frame_behind_a_burst_shows_what_the_path_owes() {
    let mut estimate = Estimate::of_round_trip(5_000);
    // At 31 MB/s the burst takes 516 us.
    for round in 0..50 {
        burst_and_frame(&mut estimate, Instant(round * 2_000_000), 486_000);
    }
    assert!((28e6..36e6).contains(&estimate.rate()), "{}", estimate.rate());
    let start = Instant(100_000_000);
    assert!(estimate.burst(start) >= 16_000);
    estimate.carry(start, 16_000, 20_000);
    let owed = estimate.queued_ahead(start.plus_ns(100_000));
    assert!((10_000..14_000).contains(&owed), "{owed} bytes with nothing in flight");
    assert_eq!(estimate.queued_ahead(start.plus_ns(700_000)), 0, "it has made up for them");
}

#[test]
fn a_path_whose_short_frames_are_in_time_owes_nothing() {
    let mut estimate = Estimate::of_round_trip(5_000);
    (0..50).for_each(|round| burst_and_frame(&mut estimate, Instant(round * 2_000_000), 0));
    assert_eq!(estimate.burst(Instant(98_100_000)), 0);
    assert!(estimate.rate() > ASSUMED_RATE, "{}", estimate.rate());
    // What was proven before does not hold against frames that are in time.
    burst_and_frame(&mut estimate, Instant(100_000_000), 486_000);
    assert!(estimate.burst(Instant(101_000_000)) > 0);
    let start = Instant(102_000_000);
    let frames = [estimate.sent(start, 60_000), estimate.sent(start, 4_000)];
    frames.iter().for_each(|frame| estimate.acknowledged(*frame));
    estimate.measure_all((start.plus_ns(30_000), start.plus_ns(30_000)), &frames, 0);
    assert_eq!(estimate.burst(Instant(103_000_000)), 0);
}

#[test]
fn a_near_path_that_was_never_measured_is_given_little_until_it_is() {
    let mut estimate = Estimate::of_round_trip(5_000);
    assert_eq!(estimate.allowance(), MAX_EAGER_SIZE);
    let sent = estimate.sent(Instant(1), MAX_EAGER_SIZE + 1);
    assert_eq!(estimate.allowance(), 0);
    estimate.acknowledged(sent);
    estimate.measure_one(Instant(2_000_000), sent);
    assert!(estimate.allowance() > MAX_EAGER_SIZE);
    assert!(Estimate::of_round_trip(1_000_000).allowance() > MAX_EAGER_SIZE, "far away it may be needed");
}

#[test]
fn a_moment_s_standstill_does_not_make_a_path_slower_than_a_slow_one() {
    let (mut fast, mut slow) = (Estimate::of_round_trip(5_000), Estimate::of_round_trip(5_000));
    for round in 0..100 {
        let now = Instant(round * 100_000);
        let pause_ns = if round == 50 { 3_000_000 } else { 0 };
        for (estimate, ns) in [(&mut fast, 8_500 + pause_ns), (&mut slow, 34_000)] {
            estimate.carry(now, 1064, ns);
        }
    }

    assert!(fast.rate() > 1.5 * slow.rate(), "{} {}", fast.rate(), slow.rate());
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
    assert!((estimate.rate() / 1e9 - 1.0).abs() < 0.01);
}

#[test]
fn bytes_in_flight_drain_with_time_and_with_acknowledgements() {
    let mut estimate = Estimate::new(Some(1e9));
    let large = estimate.sent(Instant(0), 900_000);
    estimate.sent(Instant(0), 100_000);
    assert_eq!(estimate.queued_ahead(Instant(0)), 1_000_000);
    assert_eq!(estimate.queued_ahead(Instant(400_000)), 600_000);
    estimate.acknowledged(large);
    assert_eq!(estimate.queued_ahead(Instant(400_000)), 100_000);
    assert_eq!(estimate.queued_ahead(Instant(2_000_000)), 0);
}

#[test]
fn one_that_gets_little_of_a_port_may_have_as_much_waiting_there_as_one_that_gets_much() {
    // A path that has carried 10 MB/s, with 300 KB in flight.
    let slow = |round_trip_ns| {
        let mut estimate = Estimate::of_round_trip(round_trip_ns);
        for at in 1..100 {
            estimate.carry(Instant(at * 20_000_000), 100_000, 10_000_000 + round_trip_ns);
        }
        estimate.sent(Instant(2_000_000_000), 300_000);
        estimate
    };
    let mut near = slow(20_000);
    assert!(near.is_known() && near.rate() < 20e6, "{}", near.rate());
    assert_eq!(near.allowance(), 0, "8 ms of its own rate");
    near.port_room_measured(1_000_000);
    assert_eq!(near.allowance(), 700_000u64.next_multiple_of(MIN_ALLOWANCE), "what its process may queue at the port");
    near.port_room_measured(40_000);
    assert_eq!(near.allowance(), 0);
    let mut far = slow(2_000_000);
    far.port_room_measured(1_000_000);
    assert_eq!(far.allowance(), 0, "the port is not where a distant path is narrow");
}
