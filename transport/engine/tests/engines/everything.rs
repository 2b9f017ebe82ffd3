//! Everything at once: all policies, random rails, commands, lengths and losses.

use std::ops::Range;

use fishplate_engine::Config;
use fishplate_engine::limits::MAX_ANNOUNCED;
use fishplate_engine::policy::{Multiplexing, Striping};

use crate::support::pipe::Rail;
use crate::support::rng::Rng;
use crate::support::workload::{Mix, USUAL};
use crate::support::world::{Setup, World};

const MULTIPLEXING: [&str; 6] = [
    "binding",
    "round-robin",
    "weighted-round-robin",
    "weighted-round-robin:4,1,2",
    "window-round-robin:3",
    "earliest",
];
const STRIPING: [&str; 6] = ["binding", "even", "weighted", "weighted:4,1,2", "adaptive", "earliest"];

pub fn setup(seed: u64) -> Setup {
    let mut rng = Rng(seed);
    let multiplexing: Multiplexing = MULTIPLEXING[(seed % 6) as usize].parse().unwrap();
    let striping: Striping = STRIPING[(seed / 6 % 6) as usize].parse().unwrap();
    let rails = (0..rng.range(1, 4)).map(|_| Rail::moody(&mut rng)).collect();
    let grant = *rng.pick(&[65_536, 100_000, 4 << 20]);
    let config = Config {
        multiplexing,
        striping,
        eager_limit: *rng.pick(&[Some(0), Some(100), Some(4096), Some(65_536), Some(1 << 20), None, None]),
        grant,
        max_grant: grant * *rng.pick(&[1, 1, 10]),
        rail_timeout_ns: 60_000_000_000,
        memory: *rng.pick(&[0, 1 << 20, 512 << 20]),
        max_announced: *rng.pick(&[0, 50, MAX_ANNOUNCED]),
        ..Config::default()
    };
    println!("seed {seed}: {config:?}");
    Setup { seed, nodes: rng.range(2, 5) as usize, rails, config, phantom: false }
}

/// `FISHPLATE_TEST_SEEDS=from-end` tries others.
pub fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("FISHPLATE_TEST_SEEDS") else { return usual };
    let (from, end) = text.split_once('-').expect("FISHPLATE_TEST_SEEDS is from-end");
    from.parse().unwrap()..end.parse().unwrap()
}

/// One run; its trace. `part`: in the middle, somebody loses somebody.
fn run(seed: u64, part: bool) -> u64 {
    let mut world = World::new(setup(seed));
    world.mess_about(Mix { commands: USUAL.commands / 2, ..USUAL });
    if part {
        let a = world.rng.below(world.nodes.len() as u64 - 1) as usize;
        let b = world.rng.range(a as u64 + 1, world.nodes.len() as u64) as usize;
        world.part(a, b);
    }
    world.mess_about(Mix { commands: USUAL.commands / 2, ..USUAL });
    world.finish();
    let config = &world.setup.config;
    if config.max_grant <= 100_000 && config.max_announced <= 100 {
        world.check_credit();
    }
    world.trace
}

#[test]
fn every_pair_of_policies_keeps_the_invariants() {
    for seed in seeds(0..72) {
        run(seed, false);
    }
}

#[test]
fn a_lost_peer_ends_its_own_operations_and_no_others() {
    for seed in seeds(0..72) {
        run(seed, true);
    }
}

/// Hundreds of messages without a receive, then as many receives without a message, so that both are searched by hash.
#[test]
fn crowds_of_messages_and_of_receives_keep_the_invariants() {
    for seed in seeds(0..36) {
        let mut world = World::new(setup(seed));
        world.mess_about(Mix { receives: 2, multi_receives: 0, peeks: 8, ..USUAL });
        world.mess_about(Mix { commands: 2 * USUAL.commands, receives: 85, multi_receives: 2, peeks: 2, ..USUAL });
        world.mess_about(Mix { receives: 5, multi_receives: 0, ..USUAL });
        world.finish();
    }
}

#[test]
fn a_seed_gives_the_same_trace_again() {
    for seed in seeds(0..72).step_by(5) {
        assert_eq!(run(seed, seed % 2 == 0), run(seed, seed % 2 == 0), "seed {seed}: two runs differ");
    }
}
