//! What the policies reach beside what the table of goodput says (`tests/snapshots/throughput.txt`).

use fishplate_engine::Config;
use fishplate_sim::transport::{HostId, Rail, Scenario};

use crate::network::{ANY_TAG, GIGABIT, pair, rail, tagged};

const FAST: f64 = GIGABIT;
const SLOW: f64 = GIGABIT / 4.0;
const DELAY_NS: u64 = 30_000;
const LONG: u64 = 4 << 20;

struct Run {
    scenario: Scenario,
    len: u64,
}

impl Run {
    fn new(striping: &str, rails: &[f64], rate_known: bool, len: u64) -> Run {
        let rails = rails.iter().map(|rate| Rail { rate_known, ..rail(*rate, DELAY_NS) }).collect();
        let config = Config { striping: striping.parse().unwrap(), ..Config::default() };
        Run { scenario: pair(rails, config), len }
    }

    /// Bytes per second of `count` messages, `window` of them in flight at any time.
    fn rate(&mut self, count: u64, window: u64) -> f64 {
        let scenario = &mut self.scenario;
        let (start, before) = (scenario.now(), scenario.ended_sends());
        for at in 0..count {
            scenario.receive(HostId(1), ANY_TAG, self.len);
            scenario.send(HostId(0), tagged(1, 1, self.len));
            scenario.run_until(|scenario| scenario.ended_sends() - before + window > at + 1);
        }
        scenario.run_until(|scenario| scenario.ended_sends() - before == count);
        (count * self.len) as f64 / (scenario.now() - start).as_s()
    }
}

/// Share of the sum of the rails that long messages reach.
fn share(striping: &str, rails: &[f64], rate_known: bool) -> f64 {
    let mut run = Run::new(striping, rails, rate_known, LONG);
    run.rate(10, 4);
    run.rate(40, 4) / rails.iter().sum::<f64>()
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

/// A short message stays where the last one went, unless it gains more than that: the processor time of a piece.
const CHANGE_NS: f64 = 12_000.0;

#[test]
fn more_rails_never_make_it_slower() {
    for len in [1, 1000, 16 << 10, 64 << 10, 65 << 10, 256 << 10, 1 << 20, 4 << 20] {
        for window in [1, 16] {
            let count = (16 << 20) / len.max(256 << 10) + 40;
            let message_ns = |rails: &[f64]| {
                let mut run = Run::new("earliest", rails, true, len);
                // Warm-up, as benchmarks have it: rails are tried to learn their rates.
                run.rate(100, window);
                len as f64 / run.rate(count, window) * 1e9
            };
            let alone_ns = message_ns(&[FAST]);
            let most_ns = alone_ns / 0.98 + CHANGE_NS / window as f64;
            for others in [&[SLOW][..], &[FAST], &[FAST, FAST], &[FAST / 10.0], &[SLOW, 12.5e6]] {
                let rails = [&[FAST], others].concat();
                let ns = message_ns(&rails);
                assert!(
                    ns <= most_ns,
                    "{len} bytes, window {window}, {rails:?}: {ns} ns, over the best alone {alone_ns}"
                );
            }
        }
    }
}
