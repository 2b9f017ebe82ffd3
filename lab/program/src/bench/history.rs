//! What was sent before must not matter: a size is measured in runs of its own that begin with other sizes, in an order
//! that each round draws anew.

use anyhow::{Result, ensure};
use fishplate_sim::events::Random;

use super::benchmark::Benchmark;

/// Sizes that come before the one in question.
const HISTORIES: [(&str, &[&str]); COUNT] = [
    ("nothing", &[]),
    ("small", &["8", "1K"]),
    ("large", &["1M", "4M"]),
    ("middle", &["64K", "128K"]),
    ("up", &["1K", "16K", "256K"]),
    ("down", &["1M", "64K", "2K"]),
    ("mixed", &["256K", "8", "64K", "2M"]),
    ("again", &[ITSELF; 4]),
];
const COUNT: usize = 8;
/// Stands for the size in question.
const ITSELF: &str = "";
/// So often the size itself is measured after that; the last time counts, when its own messages have been many.
const TURNS: usize = 2;

/// A run of a program in a cell.
pub struct Run {
    pub benchmark: Benchmark,
    /// What it begins with, where its last value alone counts.
    pub history: Option<&'static str>,
}

/// The runs of a benchmark in a round, in order: one, or one for each size and history.
pub fn runs(benchmark: &Benchmark, seed: u64, round: u32) -> Vec<Run> {
    if !benchmark.histories {
        return vec![Run { benchmark: benchmark.clone(), history: None }];
    }
    let of_size = |size: &str| {
        let mut histories = HISTORIES;
        Random::stream(seed, &format!("{} {size} {round}", benchmark.name)).shuffle(&mut histories);
        histories.map(|(name, before)| {
            let sizes = before.iter().chain(&[ITSELF; TURNS]).map(|known| if *known == ITSELF { size } else { known });
            let mut benchmark = benchmark.clone();
            benchmark.options.set("--sizes", &sizes.collect::<Vec<_>>().join(","));
            Run { benchmark, history: Some(name) }
        })
    };
    benchmark.options.value("--sizes").unwrap_or_default().split(',').flat_map(of_size).collect()
}

/// Names of the histories.
pub fn names() -> [&'static str; COUNT] {
    HISTORIES.map(|(name, _)| name)
}

/// A stack after a history, as claims name it.
pub fn after(stack: &str, history: &str) -> String {
    format!("{stack} after {history}")
}

/// Says what of a benchmark keeps its sizes from being measured after histories.
pub fn check(benchmark: &Benchmark) -> Result<()> {
    let Benchmark { name, program, options, .. } = benchmark;
    ensure!(
        program.has_one_value_a_size() && !benchmark.is_over_time(),
        "benchmark {name}: `histories` are for programs with one value for each size, which {program} has not",
        program = program.name()
    );
    let sizes = options.value("--sizes");
    ensure!(
        sizes.is_some_and(|sizes| !sizes.contains(':')),
        "benchmark {name}: `histories` needs single sizes among its options, such as --sizes 16K,64K"
    );
    ensure!(
        options.value("--shuffle").is_none(),
        "benchmark {name}: leave --shuffle out of its options: `histories` have an order of their own"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::program::Program;

    #[test]
    fn each_size_has_a_run_for_each_history_in_an_order_of_the_round() {
        let options = "--sizes 32K,256K --seconds 1".split(' ').map(String::from).collect();
        let program = Program::try_from("latency".to_string()).unwrap();
        let benchmark = Benchmark { histories: true, ..Benchmark::of(program, options) };
        let order = |seed, round| {
            let runs = runs(&benchmark, seed, round);
            let shown = |run: &Run| format!("{} {}", run.history.unwrap(), run.benchmark.options.0.join(" "));
            runs.iter().map(shown).collect::<Vec<_>>()
        };
        let found = order(1, 0);
        assert_eq!(found.len(), 2 * COUNT);
        assert!(found[..COUNT].contains(&"nothing --seconds 1 --sizes 32K,32K".into()), "{found:?}");
        assert!(found[..COUNT].contains(&"down --seconds 1 --sizes 1M,64K,2K,32K,32K".into()), "{found:?}");
        assert!(
            found[COUNT..].contains(&"again --seconds 1 --sizes 256K,256K,256K,256K,256K,256K".into()),
            "{found:?}"
        );
        assert_eq!(found, order(1, 0));
        assert!(found != order(1, 1) && found != order(2, 0));
    }
}
