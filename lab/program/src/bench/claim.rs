//! A claim of a benchmark: the ratio of its first stack to others, and the bound that has to hold.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// A peer that is computed: what the rates and the round trip of a link allow.
pub const BOUND: &str = "bound";
/// A peer that is computed: what plain streams got over all rails of a link at once.
pub const SUM: &str = "sum";

/// A peer that is chosen: the best of the histories that sizes are measured after. Also the option of samples that names
/// their history.
pub const HISTORY: &str = "history";

/// Programs of which the least time, or the greatest rate, is known.
const BOUNDED: [&str; 3] = ["latency", "bandwidth", "exchange"];

/// A claim as a plan describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Claim {
    /// Stacks, [`BOUND`], [`SUM`] or [`HISTORY`]: the ratio to each of them has to keep to the limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<String>,
    /// Only the ratio to the best of them counts, by the median.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub best_of: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Stacks, or [`SUM`], to which the ratio is printed without a limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<String>,
}

/// Which ratios hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Limit {
    /// Whether a ratio keeps to it.
    pub fn holds(self, ratio: f64) -> bool {
        match self {
            Limit::AtMost(most) => ratio <= most,
            Limit::AtLeast(least) => ratio >= least,
        }
    }
}

impl Claim {
    /// The limit, if there is one.
    pub fn limit(&self) -> Option<Limit> {
        self.at_most.map(Limit::AtMost).or(self.at_least.map(Limit::AtLeast))
    }

    /// Says what is wrong with it as the claim of the benchmark `name`, which runs `program` over `stacks`, maybe after
    /// `histories`.
    pub fn check(&self, name: &str, program: &str, stacks: &[String], histories: bool) -> Result<()> {
        ensure!(!stacks.is_empty(), "benchmark {name}: `holds` is about the first of its `stacks`, and it has none");
        let peers = || self.against.iter().chain(&self.told);
        ensure!(peers().next().is_some(), "benchmark {name}: `holds` compares with nothing: `against` or `told`");
        for peer in peers().filter(|peer| ![BOUND, SUM, HISTORY].contains(&peer.as_str())) {
            ensure!(
                stacks[1..].contains(peer),
                "benchmark {name}: `holds` compares {} with {peer}, which is not among its other stacks: {}",
                stacks[0],
                stacks[1..].join(", ")
            );
        }
        ensure!(
            !peers().any(|peer| peer == BOUND) || BOUNDED.contains(&program),
            "benchmark {name}: there is no `bound` of {program}, only of {}",
            BOUNDED.join(", ")
        );
        ensure!(
            !peers().any(|peer| peer == SUM) || program == "bandwidth",
            "benchmark {name}: `sum` is a bandwidth, and {program} has none"
        );
        ensure!(
            histories || !peers().any(|peer| peer == HISTORY),
            "benchmark {name}: `history` is the best of its histories, and it has none: `histories = true`"
        );
        ensure!(
            !histories || self.against.iter().all(|peer| peer == HISTORY),
            "benchmark {name}: with `histories`, `holds` is `against` `history` alone"
        );
        let limits = [self.at_most, self.at_least].iter().flatten().count();
        ensure!(limits <= 1, "benchmark {name}: `holds` has either `at_most` or `at_least`");
        ensure!(
            (limits == 1) != self.against.is_empty(),
            "benchmark {name}: `against` needs a limit, and a limit needs `against`: `at_most` or `at_least`"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_where_they_are_reached() {
        assert_eq!(Claim::default().limit(), None);
        assert_eq!(Claim { at_least: Some(0.9), ..Claim::default() }.limit(), Some(Limit::AtLeast(0.9)));
        assert!(Limit::AtLeast(0.9).holds(0.9) && !Limit::AtLeast(0.9).holds(0.89));
        assert!(Limit::AtMost(1.02).holds(1.0) && !Limit::AtMost(1.02).holds(1.03));
    }
}
