//! What ranks do all day over emulated rails: exchanges both ways, and transfers behind a computation.

use fishplate_sim::models::time::Time;
use fishplate_sim::suite::{Benchmark, Neighbourhood, Options, Pattern, run};
use fishplate_sim::testbed::{Description, Machine};

fn machine(mbit: &[f64], ranks: u32, seed: u64) -> Machine {
    let testbed = Description::shipped("emulated").unwrap().testbed().unwrap().with_rates(mbit).unwrap();
    Machine::new(testbed, (ranks, ranks / 2), seed).with_stack("earliest")
}

fn pattern(compute_us: u64, neighbours: Neighbourhood) -> Pattern {
    Pattern { compute: Some(Time::ns(compute_us as f64 * 1e3)), neighbours, ..Pattern::default() }
}

fn us(machine: &Machine, benchmark: Benchmark, size: u64, pattern: Pattern) -> f64 {
    let options = Options { size, iterations: 60, warmup: 20, pattern, ..Options::default() };
    run(machine, benchmark, &options).unwrap().value
}

/// 8 ns a byte on the wire, 5 % of headers; the last offload frame is not held for its own length.
#[test]
fn an_exchange_over_one_rail_takes_what_its_rate_leaves() {
    for size in [128 << 10, 512 << 10] {
        let found = us(&machine(&[1000.0], 2, 1), Benchmark::Exchange, size, pattern(0, Neighbourhood::Pairs(1)));
        let left = 8e-3 * 1.05 * size as f64;
        assert!((left * 0.95..left * 1.05).contains(&found), "{size}: {found} us");
    }
}

#[test]
fn a_kernel_hides_what_it_has_taken_and_no_more() {
    let of = |size, compute| {
        let pattern = Pattern { compute, ..Pattern::default() };
        us(&machine(&[1000.0], 2, 1), Benchmark::Overlap, size, pattern)
    };
    let alone = |size| of(size, Some(Time::default()));
    assert!(of(256 << 10, None) < 0.2 * alone(256 << 10), "the kernel has all of it");
    assert!(of(4 << 20, None) > 0.8 * alone(4 << 20), "what the window does not hold waits for a call");
}

#[test]
fn patterns_run_in_grids_and_with_imbalance_and_the_same_again_is_the_same() {
    let grid = pattern(100, Neighbourhood::Grid(3));
    let uneven = Pattern { imbalance: Time::ns(500e3), blocking: false, ..grid };
    let of = |pattern| us(&machine(&[1000.0, 250.0], 8, 1), Benchmark::Exchange, 8 << 10, pattern);
    assert_eq!(of(grid), of(grid));
    assert_ne!(of(uneven), of(Pattern { imbalance: Time::default(), ..uneven }));
    let odd = Options { pattern: pattern(0, Neighbourhood::Pairs(1)), ..Options::default() };
    let error = run(&machine(&[1000.0], 3, 1), Benchmark::Exchange, &odd).unwrap_err();
    assert!(error.contains("an even number of ranks"), "{error}");
}
