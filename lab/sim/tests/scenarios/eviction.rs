//! Connections that are given back: when they may be, and what comes over the next.

use fishplate_engine::{Config, VcId};
use fishplate_sim::events::Duration;
use fishplate_sim::transport::{Fault, HostId, Outage, Scenario};

use crate::network::{ANY_TAG, GIGABIT, MS, PATH, pair, rail, tagged};

const HOUR: Duration = Duration::s(3600);
const BY: HostId = HostId(0);
const PEER: HostId = HostId(1);

/// A pair over one rail, with a message of `len` bytes sent, for which there is a receive or not.
fn sent(len: u64, is_received: bool) -> Scenario {
    let mut scenario = pair(vec![rail(GIGABIT, MS / 20)], Config::default());
    if is_received {
        scenario.receive(PEER, ANY_TAG, len);
    }
    scenario.send(BY, tagged(1, 1, len));
    scenario
}

/// The peer sends something back.
fn answer(scenario: &mut Scenario) {
    scenario.receive(BY, ANY_TAG, 8);
    scenario.send(PEER, tagged(0, 1, 8));
}

/// The only connection is given back; none is set up for an hour.
fn give_back(scenario: &mut Scenario) {
    scenario.fault(Fault::Eviction { path: PATH, by: BY });
    scenario.run_for(Duration::ms(1));
    let outage = Outage { a: BY, b: PEER, rail: None };
    scenario.fault(Fault::Outage(outage, HOUR));
}

fn is_idle(scenario: &Scenario) -> [bool; 2] {
    [BY, PEER].map(|host| !scenario.engine(host).idle_peers().is_empty())
}

/// Whether the answer waits for a connection.
fn waits(scenario: &Scenario) -> bool {
    scenario.engine(PEER).has_backlog(VcId(0))
}

#[test]
fn a_peer_is_idle_once_nothing_is_under_way_either_way() {
    for len in [8, 8 << 20] {
        let mut scenario = sent(len, true);
        assert!(!is_idle(&scenario)[0], "{len} B are under way");
        scenario.run_out();
        assert_eq!(is_idle(&scenario), [true; 2], "{len} B have come");
    }
    // The bytes have come, and wait for a receive here.
    let mut scenario = sent(8, false);
    scenario.run_out();
    assert_eq!(is_idle(&scenario), [true; 2]);
    // Announced: most of it is still to come.
    let mut scenario = sent(64 << 20, false);
    scenario.run_out();
    assert_eq!(is_idle(&scenario), [false; 2]);
}

#[test]
fn a_peer_whose_only_connection_was_given_back_is_waited_for_as_long_as_it_takes() {
    let mut scenario = sent(8, true);
    scenario.run_out();
    give_back(&mut scenario);
    assert_eq!(is_idle(&scenario), [false; 2], "there is nothing to give back");
    scenario.run_for(Duration::s(3500));
    for (host, vc) in [(BY, VcId(1)), (PEER, VcId(0))] {
        let engine = scenario.engine(host);
        assert!(engine.outage(vc).is_none() && engine.is_quiet() && !engine.has_backlog(vc));
    }
    answer(&mut scenario);
    assert!(waits(&scenario));
    scenario.finish();
    assert_eq!(scenario.ended_receives(), 2);
}

#[test]
fn what_crosses_the_end_of_a_connection_comes_over_the_next() {
    let mut scenario = sent(8, true);
    scenario.run_out();
    // It is on its way, and the other side does not know.
    answer(&mut scenario);
    give_back(&mut scenario);
    assert!(waits(&scenario), "it was not acknowledged");
    scenario.finish();
    assert_eq!(scenario.ended_receives(), 2);
}
