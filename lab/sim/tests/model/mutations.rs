//! Every oracle is alive: it sees a planted bug.

use std::collections::BTreeSet;

use fishplate_sim::transport::{Mutation, draw, draw_shared, run};

/// Seeds in which a bug has to show; not all of them do what it needs.
const SEEDS: u64 = 300;

#[test]
fn every_planted_bug_is_seen_by_its_oracle() {
    for mutation in Mutation::ALL {
        let mut seen = BTreeSet::new();
        for seed in 0..SEEDS {
            let mut setup = if seed % 2 == 0 { draw(seed) } else { draw_shared(seed) };
            setup.mutation = Some(*mutation);
            if let Some(violation) = run(setup, false).violation {
                seen.insert(violation.oracle);
            }
            if seen.contains(mutation.oracle()) {
                break;
            }
        }
        assert!(seen.contains(mutation.oracle()), "{mutation}: seen by {seen:?}, not by {}", mutation.oracle());
    }
}
