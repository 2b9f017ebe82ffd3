//! Seeds: each a configuration, a load and faults of its own. The invariants hold, and everything ends.
//! `make soak` runs them by the hour; a seed that fails is told in full by `fishplate simulate --seed N`.

use fishplate_sim::transport::{draw, draw_cut, draw_shared, run};

#[test]
fn the_invariants_hold_and_everything_ends() {
    let (mut operations, mut retired, mut evicted) = (0, 0, 0);
    for seed in 0..200 {
        let outcome = run(draw(seed), false);
        operations += outcome.operations;
        retired += outcome.retired;
        evicted += outcome.evicted;
        assert_eq!(outcome.violation, None, "replay: fishplate simulate --seed {seed}");
    }
    // Otherwise the seeds do nothing.
    assert!(operations > 40_000 && retired > 1_000, "{operations} operations, {retired} ends of connections let go");
    assert!(evicted > 100, "{evicted} ends of connections given back");
}

#[test]
fn a_seed_gives_the_same_trace_again_and_another_a_different_one() {
    let trace = |seed, logged| run(draw(seed), logged).trace;
    for seed in (0..190).step_by(12) {
        assert_eq!(trace(seed, false), trace(seed, true), "seed {seed}: two runs differ");
        assert_ne!(trace(seed, false), trace(seed + 1, false));
    }
}

#[test]
fn a_cut_rail_of_two_costs_nothing() {
    for seed in 0..200 {
        let outcome = run(draw_cut(seed), false);
        assert_eq!(outcome.violation, None, "cut {seed}");
    }
}

/// Where one waits for the other, both are searched by hash.
#[test]
fn crowds_of_messages_or_of_receives_find_each_other() {
    for seed in 0..40 {
        let mut setup = draw(seed);
        (setup.mix.commands, setup.mix.longest) = (500, setup.mix.longest.min(20_000));
        (setup.mix.sends, setup.mix.receives) = if seed % 2 == 0 { (60, 4) } else { (10, 90) };
        let outcome = run(setup, false);
        assert_eq!(outcome.violation, None, "crowds, seed {seed}");
    }
}

#[test]
fn one_sided_operations_over_two_streams_a_rail_end_when_their_bytes_are_there() {
    let setups = (0..).map(draw).filter(|setup| setup.shared_memory.is_none() && setup.hostile.is_none());
    for mut setup in setups.take(150) {
        let seed = setup.seed;
        setup.streams = 2;
        setup.mix.commands = setup.mix.commands.min(150);
        (setup.mix.accesses, setup.mix.sends) = (setup.mix.accesses + 50, setup.mix.sends + 20);
        let outcome = run(setup, false);
        assert_eq!(outcome.violation, None, "one-sided operations, seed {seed}");
    }
}

#[test]
fn memory_that_hosts_share_may_fail_at_any_time() {
    let run_all = |seeds: std::ops::Range<u64>| {
        let short = seeds.map(|seed| {
            let outcome = run(draw_shared(seed), false);
            assert_eq!(outcome.violation, None, "shared memory, seed {seed}");
            outcome.short
        });
        short.sum::<u64>()
    };
    let short = std::thread::scope(|scope| {
        let halves = [0..500, 500..1000].map(|seeds| scope.spawn(move || run_all(seeds)));
        halves.map(|half| half.join().expect("every seed holds")).iter().sum::<u64>()
    });
    assert!(short > 500, "{short} messages through memory, at once");
}
