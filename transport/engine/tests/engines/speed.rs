//! What the policies reach, in simulated time over rails that behave as sockets do.

use fishplate_engine::{Config, Envelope, Pattern};

use crate::support::oracle::Outgoing;
use crate::support::pipe::Rail;
use crate::support::workload::ANY_TAG;
use crate::support::world::{Setup, World};

const FAST: f64 = 125e6;
const SLOW: f64 = 31.25e6;
const DELAY_NS: u64 = 30_000;
const LONG: u64 = 4 << 20;

struct Run {
    world: World,
    len: u64,
}

impl Run {
    fn new(striping: &str, rails: &[f64], told: bool, len: u64) -> Run {
        let rails = rails.iter().map(|rate| Rail { told, ..Rail::steady(*rate, DELAY_NS) }).collect();
        let config = Config { striping: striping.parse().unwrap(), ..Config::default() };
        Run { world: World::new(Setup { seed: 1, nodes: 2, rails, config, phantom: true }), len }
    }

    /// Bytes per second of `count` messages, `window` of them in flight at any time.
    fn rate(&mut self, count: u64, window: u64) -> f64 {
        let world = &mut self.world;
        let (start, before) = (world.now, world.oracle.ended_sends);
        for at in 0..count {
            world.recv(1, Pattern { space: ANY_TAG, source: None }, self.len, None);
            let envelope = Envelope::Tagged(1);
            world.send(0, Outgoing { to: 1, envelope, len: self.len, inject: false, notify: true });
            world.run_until(|world| world.oracle.ended_sends - before + window > at + 1);
        }
        world.run_until(|world| world.oracle.ended_sends - before == count);
        (count * self.len) as f64 / (world.now - start) as f64 * 1e9
    }
}

/// Share of the sum of the rails that long messages reach.
fn share(striping: &str, rails: &[f64], told: bool) -> f64 {
    let mut run = Run::new(striping, rails, told, LONG);
    run.rate(10, 4);
    run.rate(40, 4) / rails.iter().sum::<f64>()
}

#[test]
fn weights_and_late_binding_reach_the_sum_of_unequal_rails() {
    for striping in ["weighted:4,1", "weighted", "earliest"] {
        let share = share(striping, &[FAST, SLOW], true);
        assert!(share >= 0.95, "{striping}: {share}");
    }
}

#[test]
fn even_stripes_collapse_to_the_slow_rail() {
    let collapsed = 2.0 * SLOW / (FAST + SLOW);
    let share = share("even", &[FAST, SLOW], true);
    assert!((share / collapsed - 1.0).abs() < 0.1, "{share} instead of {collapsed}");
}

#[test]
fn adaptive_stripes_find_the_weights_within_50_messages() {
    for window in [1, 4] {
        let weighted = Run::new("weighted:4,1", &[FAST, SLOW], true, LONG).rate(30, window);
        let mut run = Run::new("adaptive", &[FAST, SLOW], true, LONG);
        run.rate(50, window);
        let adaptive = run.rate(30, window);
        assert!(adaptive >= 0.9 * weighted, "window {window}: {} of weighted", adaptive / weighted);
    }
}

#[test]
fn late_binding_reaches_the_sum_of_equal_and_of_three_rails() {
    for rails in [&[FAST, FAST][..], &[FAST, FAST, FAST], &[75e6, 37.5e6, 12.5e6]] {
        let share = share("earliest", rails, true);
        assert!(share >= 0.95, "{rails:?}: {share}");
    }
}

#[test]
fn late_binding_learns_the_rates() {
    let share = share("earliest", &[FAST, SLOW], false);
    assert!(share >= 0.95, "{share}");
}

#[test]
fn more_rails_never_make_it_slower() {
    for len in [1, 1000, 16 << 10, 64 << 10, 65 << 10, 256 << 10, 1 << 20, 4 << 20] {
        for window in [1, 16] {
            let count = (16 << 20) / len.max(256 << 10) + 40;
            let rate = |rails: &[f64]| {
                let mut run = Run::new("earliest", rails, true, len);
                // Warm-up, as benchmarks have it: rails are tried to learn their rates.
                run.rate(100, window);
                run.rate(count, window)
            };
            let alone = rate(&[FAST]);
            for others in [&[SLOW][..], &[FAST], &[FAST, FAST], &[FAST / 10.0], &[SLOW, 12.5e6]] {
                let rails = [&[FAST], others].concat();
                let ratio = rate(&rails) / alone;
                assert!(ratio >= 0.98, "{len} bytes, window {window}, {rails:?}: {ratio} of the best alone");
            }
        }
    }
}
