//! More than the other side has asked for.

use fishplate_engine::{Config, Pattern, Space, VcId};
use fishplate_sim::transport::{HostId, Scenario};

use crate::network::{GIGABIT, pair, rail, tagged};

const GRANT: u64 = 64 << 10;
/// Messages that may be announced beyond it.
const ANNOUNCED: u64 = 100;
/// Messages without payload that may wait for a receive.
const MAX_MESSAGES: u64 = GRANT / 128 + ANNOUNCED;
const FROM: HostId = HostId(0);
const TO: HostId = HostId(1);

fn scarce() -> Scenario {
    granting(GRANT)
}

/// A grant that may grow to `max_grant` bytes.
fn granting(max_grant: u64) -> Scenario {
    let rails = vec![rail(GIGABIT, 50_000), rail(GIGABIT / 4.0, 10_000)];
    pair(rails, Config { grant: GRANT, max_grant, max_announced: ANNOUNCED, ..Config::default() })
}

fn receive(scenario: &mut Scenario, tag: u64, len: u64) {
    scenario.receive(TO, Pattern { space: Space::Tagged { tag, ignore: 0 }, source: None }, len);
}

fn messages_sent(scenario: &Scenario) -> u64 {
    scenario.messages(FROM, TO)
}

#[test]
fn unexpected_messages_stop_at_the_bound_and_go_on_with_the_receives() {
    let mut scenario = scarce();
    (0..5_000).for_each(|tag| scenario.send(FROM, tagged(1, tag, 0)));
    scenario.run_out();
    assert_eq!(messages_sent(&scenario), MAX_MESSAGES);
    for tag in 0..5_000 {
        receive(&mut scenario, tag, 0);
        scenario.run_until(|scenario| scenario.ended_receives() == tag + 1);
    }
    scenario.finish();
}

#[test]
fn a_starved_sender_hears_of_little_credit() {
    let mut scenario = scarce();
    (0..MAX_MESSAGES + 200).for_each(|tag| scenario.send(FROM, tagged(1, tag, 0)));
    scenario.run_out();
    // Less than what is told at once.
    (0..20).for_each(|tag| receive(&mut scenario, tag, 0));
    scenario.run_out();
    assert_eq!(messages_sent(&scenario), MAX_MESSAGES + 20);
    scenario.finish();
}

#[test]
fn a_message_with_a_receive_passes_those_that_fill_the_grant() {
    for len in [0, 100, 60_000] {
        let mut scenario = scarce();
        (0..ANNOUNCED).for_each(|tag| scenario.send(FROM, tagged(1, tag, len.max(GRANT / ANNOUNCED))));
        let last = 1_000;
        receive(&mut scenario, last, len);
        scenario.send(FROM, tagged(1, last, len));
        scenario.run_out();
        assert_eq!(scenario.ended_receives(), 1);
        scenario.finish();
    }
}

#[test]
fn large_messages_without_a_receive_cost_the_receiver_no_more_than_its_grant() {
    let mut scenario = scarce();
    (0..40).for_each(|tag| scenario.send(FROM, tagged(1, tag, 1 << 20)));
    scenario.run_out();
    assert_eq!(messages_sent(&scenario), 40);
    assert!(scenario.held_bytes(TO, FROM) <= scenario.engine(TO).grant(VcId(0)));
    scenario.finish();
}

/// The receiver has all of them, so that none waits for a round trip once it is received.
#[test]
fn short_messages_without_a_receive_come_whole_as_far_as_the_grant_may_grow() {
    const MESSAGES: u64 = 3_000;
    for len in [8, 1_000] {
        let mut scenario = granting(128 << 20);
        (0..MESSAGES).for_each(|tag| scenario.send(FROM, tagged(1, tag, len)));
        scenario.run_out();
        assert_eq!(messages_sent(&scenario), MESSAGES);
        assert_eq!(scenario.held_bytes(TO, FROM), MESSAGES * len);
        assert!(scenario.engine(TO).grant(VcId(0)) <= 4 * MESSAGES * (len + 128));
        (0..MESSAGES).rev().for_each(|tag| receive(&mut scenario, tag, len));
        scenario.run_out();
        assert_eq!(scenario.ended_receives(), MESSAGES);
        scenario.finish();
    }
}
