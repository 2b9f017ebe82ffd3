//! Ready experiments: a plan each, and the published statements that its values are held against
//! (docs/papers/experiments.md). `fishplate lab run` calls this.

mod endapps;
mod judgement;
mod medians;
mod multirail;
mod pecnit;
#[cfg(test)]
mod test_records;
mod wan;

use anyhow::Result;

use crate::bench::{Plan, ready_plan};
use crate::mpi::stacks::Catalog;
use crate::record::{Record, Statement, Verdict};
use judgement::Fact;
use medians::Values;

/// An experiment.
pub struct Experiment {
    /// Its name, which is that of its plan.
    name: &'static str,
    facts: &'static [Fact],
}

/// All of them.
const EXPERIMENTS: [Experiment; 4] = [
    Experiment { name: "multirail-2004", facts: multirail::FACTS },
    Experiment { name: "wan-2008", facts: wan::FACTS },
    Experiment { name: "endapps-2006", facts: endapps::FACTS },
    Experiment { name: "pecnit-2007", facts: pecnit::FACTS },
];

/// Their names.
pub fn names() -> Vec<&'static str> {
    EXPERIMENTS.iter().map(|experiment| experiment.name).collect()
}

/// The one that is called so.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

/// A verdict in words.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "does not hold",
        Verdict::CannotBeTested => "cannot be tested",
    }
}

impl Experiment {
    /// What to measure, and all stacks.
    pub fn plan(&self, quick: bool) -> Result<(Plan, Catalog)> {
        ready_plan(self.name, quick)
    }

    /// What becomes of the published statements.
    pub fn statements(&self, record: &Record) -> Vec<Statement> {
        let values = Values::of(record);
        self.facts.iter().map(|fact| fact.judge(&values)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_sound_and_quick_ones_have_one_round() {
        for name in names() {
            let experiment = find(name).unwrap();
            let (plan, catalog) = experiment.plan(true).unwrap();
            assert_eq!(plan.rounds, 1);
            plan.stacks.iter().for_each(|stack| assert!(catalog.find(stack).is_ok(), "{stack}"));
            assert!(experiment.plan(false).unwrap().0.rounds > 1);
        }
    }

    #[test]
    fn without_values_nothing_is_judged() {
        for name in names() {
            let statements = find(name).unwrap().statements(&test_records::record(name, &[]));
            assert!(statements.iter().all(|statement| statement.verdict == Verdict::CannotBeTested), "{name}");
        }
    }
}
