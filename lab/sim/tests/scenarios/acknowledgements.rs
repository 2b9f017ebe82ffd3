//! What acknowledgements cost.

use fishplate_engine::Config;
use fishplate_sim::events::{Duration, Time};
use fishplate_sim::transport::{HostId, Outgoing, Scenario};

use crate::network::{ANY_TAG, GIGABIT, pair, rail, tagged};

const TURNS: u64 = 400;

fn near(rails: usize) -> Scenario {
    pair(vec![rail(GIGABIT, 5_000); rails], Config::default())
}

/// A message that is received.
fn turn(scenario: &mut Scenario, to: usize, outgoing: Outgoing) {
    scenario.receive(HostId(to), ANY_TAG, 4096);
    scenario.send(HostId(1 - to), outgoing);
    let received = scenario.ended_receives();
    scenario.run_until(|scenario| scenario.ended_receives() > received);
}

#[test]
fn replies_carry_them() {
    for rails in [1, 2, 3] {
        for len in [0, 1, 1024] {
            let mut scenario = near(rails);
            for at in 0..TURNS as usize {
                turn(&mut scenario, at % 2, tagged(at % 2, 1, len));
            }
            scenario.finish();
            // Padding, by which rails are measured, is acknowledged at once: two pairs each way.
            let of_padding = if rails > 1 { 8 * rails as u64 } else { 0 };
            let (most, acks) = (TURNS / 50 + of_padding, scenario.pure_acks());
            assert!(acks <= most, "{acks} for {TURNS} messages over {rails} rails");
        }
    }
}

#[test]
fn one_goes_for_many_when_nobody_waits() {
    let mut scenario = near(2);
    for _ in 0..TURNS {
        turn(&mut scenario, 1, Outgoing { inject: true, notify: false, ..tagged(1, 1, 8) });
    }
    scenario.finish();
    let acks = scenario.pure_acks();
    assert!(acks <= TURNS / 50, "{acks} for {TURNS} messages");
}

#[test]
fn a_lone_send_does_not_wait_long() {
    let mut scenario = near(2);
    turn(&mut scenario, 1, tagged(1, 1, 8));
    scenario.run_until(|scenario| scenario.ended_sends() == 1);
    // Two ways of 5 us, and the time in which a reply would have carried the acknowledgement.
    let took = scenario.now() - Time::START;
    assert!(took < Duration::us(30), "{took:?}");
}
