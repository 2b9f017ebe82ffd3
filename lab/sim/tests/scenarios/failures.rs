//! How long users wait for rails that fail. That nothing is lost is tested by seeds.

use fishplate_engine::Config;
use fishplate_sim::transport::{Fault, HostId};

use crate::network::{ANY_TAG, GIGABIT, MS, PATH, pair, rail, tagged};

/// The longest time without a message, in nanoseconds, while one of two rails falls silent or breaks under load. `answers`: one
/// message is in flight at a time, and the next goes the other way.
fn longest_gap_ns(delay_ns: u64, len: u64, is_silent: bool, answers: bool) -> u64 {
    let mut scenario = pair(vec![rail(GIGABIT, delay_ns); 2], Config::default());
    let (mut gap_ns, mut last) = (0, scenario.now());
    for turn in 0..400 {
        if turn == 100 {
            scenario.fault(if is_silent { Fault::Silence(PATH) } else { Fault::Cut(PATH) });
        }
        let to = if answers { turn as usize % 2 } else { 1 };
        scenario.receive(HostId(to), ANY_TAG, len);
        scenario.send(HostId(1 - to), tagged(to, 1, len));
        let under_way = if answers { 0 } else { 8 };
        scenario.run_until(|scenario| scenario.ended_receives() + under_way > turn);
        gap_ns = gap_ns.max((scenario.now() - last).0);
        last = scenario.now();
    }
    // Each end may find out for itself, or neither where one message at a time goes over the other rail anyway.
    let expected = u64::from(is_silent && !answers)..=2 * u64::from(is_silent);
    assert!(expected.contains(&scenario.given_up()), "{delay_ns} {len} {answers}: {}", scenario.given_up());
    scenario.finish();
    gap_ns
}

#[test]
fn a_silent_rail_is_left_in_time_and_a_broken_one_at_once() {
    for delay_ns in [30_000, MS, 10 * MS] {
        for len in [64, 4 << 10, 256 << 10] {
            let usual_ns = 6 * delay_ns + 16 * len * 8;
            for answers in [false, true] {
                let gap_ns = longest_gap_ns(delay_ns, len, true, answers);
                assert!(gap_ns <= usual_ns + 250 * MS, "{len} bytes over {delay_ns} ns: {gap_ns} ns");
                let gap_ns = longest_gap_ns(delay_ns, len, false, answers);
                // Both ends hear of it within a millisecond.
                assert!(gap_ns <= usual_ns + MS, "{len} bytes over {delay_ns} ns: {gap_ns} ns on a reset");
            }
        }
    }
}
