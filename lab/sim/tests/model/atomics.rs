//! Atomic operations on modelled machines.

use fishplate_sim::suite::{Benchmark, Options, run};
use fishplate_sim::testbed::Machine;

fn us(testbed: &str, ranks: u32, benchmark: Benchmark, window: u32) -> f64 {
    let options = Options { window, iterations: 20, warmup: 10, ..Options::default() };
    run(&Machine::shipped(testbed, &[], (ranks, 1), 1).unwrap(), benchmark, &options).unwrap().value
}

#[test]
fn an_operation_takes_a_round_trip_and_the_target_applies_it() {
    for (testbed, applied_us) in [("emulated", 0.0), ("pecnit-2007-ib", 0.06), ("pecnit-2007-quadrics", 11.0)] {
        let round_trip = 2.0 * us(testbed, 2, Benchmark::Latency, 1);
        for benchmark in [Benchmark::FetchAndOp, Benchmark::CompareAndSwap] {
            let found = us(testbed, 2, benchmark, 1);
            // An answer that adapters place costs the origin less than a message.
            let allowed = 0.75 * round_trip..1.3 * round_trip + applied_us;
            assert!(
                allowed.contains(&found),
                "{testbed}, {benchmark:?}: {found} us, a round trip takes {round_trip} us"
            );
        }
    }
}

#[test]
fn operations_of_a_window_are_under_way_together_and_those_of_all_ranks() {
    let of = |ranks, window| us("emulated", ranks, Benchmark::FetchAndOp, window);
    assert!(of(2, 16) < 0.5 * of(2, 1), "{} and {} us", of(2, 16), of(2, 1));
    assert!(of(4, 16) < 4.0 * of(2, 16), "{} and {} us", of(4, 16), of(2, 16));
}
