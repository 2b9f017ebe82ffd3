//! Nodes with real engines and rails over simulated endpoints, in virtual time: operations end late, out of order or in
//! error, rails are cut and domains vanish, memory is given back at any time, and an oracle knows what must come of it.
//!
//! `FISHPLATE_TEST_SEEDS=from-end` runs other seeds than the usual ones.

mod agenda;
mod arena;
mod command;
mod node;
mod setup;
mod world;

use std::ops::Range;

use setup::Setup;
use world::World;

fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("FISHPLATE_TEST_SEEDS") else { return usual };
    let (from, end) = text.split_once('-').expect("FISHPLATE_TEST_SEEDS is from-end");
    from.parse().unwrap()..end.parse().unwrap()
}

/// Tells of which seed a run was that fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("that was seed {}: FISHPLATE_TEST_SEEDS={}-{}", self.0, self.0, self.0 + 1);
        }
    }
}

/// One run; its trace.
fn run(seed: u64) -> u64 {
    run_setup(Setup::of(seed, false))
}

fn run_setup(setup: Setup) -> u64 {
    let _seed = Seed(setup.seed);
    let mut world = World::new(setup);
    world.run();
    world.check();
    world.trace
}

#[test]
fn nothing_is_lost_or_written_late_whatever_happens_to_rails() {
    let seeds = seeds(0..1000);
    let half = seeds.start + (seeds.end - seeds.start) / 2;
    std::thread::scope(|scope| {
        for part in [seeds.start..half, half..seeds.end] {
            scope.spawn(|| part.for_each(|seed| _ = run(seed)));
        }
    });
}

#[test]
fn nothing_is_lost_or_changed_where_records_are_changed_on_their_way_and_have_checksums() {
    seeds(0..300).for_each(|seed| _ = run_setup(Setup::of(seed, true)));
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for seed in seeds(0..20) {
        assert_eq!(run(seed), run(seed), "seed {seed}: two runs differ");
    }
}
