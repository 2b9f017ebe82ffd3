//! A short run of every target: the corpus, and seeded inputs until every end has been seen.

use std::collections::BTreeSet;

use fishplate_fuzz::{TARGETS, inputs};

/// Inputs of a target after which something is wrong with them if an end is missing.
const RUNS: u64 = 20_000;

#[test]
fn the_corpus_and_some_thousand_inputs_of_each_target_end_well_in_every_way() {
    for target in TARGETS {
        let examples = inputs::examples(target.name);
        assert!(!examples.is_empty(), "{}: no examples", target.name);
        let mut ends: BTreeSet<&str> = examples.iter().map(|example| (target.run)(example)).collect();
        for run in 0..RUNS {
            let all = target.ends.iter().all(|end| ends.contains(end));
            if all && run >= 1000 {
                break;
            }
            ends.insert((target.run)(&inputs::input(7, run, &examples)));
        }
        let missing: Vec<_> = target.ends.iter().filter(|end| !ends.contains(*end)).collect();
        assert!(missing.is_empty(), "{}: never seen: {missing:?}", target.name);
    }
}
