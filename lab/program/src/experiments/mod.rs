//! Ready experiments: a plan each, and the published statements that its values are held against
//! (docs/papers/experiments.md). `fishplate lab run` calls this.

mod endapps;
mod judgement;
mod medians;
mod multirail;
mod pecnit;
mod print;
#[cfg(test)]
mod test_records;
mod wan;

use std::collections::BTreeSet;

use anyhow::Result;

use crate::bench::{Plan, ready_plan};
use crate::mpi::stacks::Catalog;
use crate::record::{Record, Statement};
use judgement::Fact;
pub use print::markdown;

pub struct Experiment {
    /// Its name, which is that of its plan.
    name: &'static str,
    facts: &'static [Fact],
}

const EXPERIMENTS: [Experiment; 4] = [
    Experiment { name: "multirail-2004", facts: multirail::FACTS },
    Experiment { name: "wan-2008", facts: wan::FACTS },
    Experiment { name: "endapps-2006", facts: endapps::FACTS },
    Experiment { name: "pecnit-2007", facts: pecnit::FACTS },
];

pub fn names() -> Vec<&'static str> {
    EXPERIMENTS.iter().map(|experiment| experiment.name).collect()
}

/// The one that is called so.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

impl Experiment {
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The measurements, and all stacks.
    pub fn plan(&self, quick: bool) -> Result<(Plan, Catalog)> {
        ready_plan(self.name, quick)
    }

    /// The one that a record's title names.
    pub fn of(record: &Record) -> Option<&'static Experiment> {
        let title = record.manifest.title.as_deref()?.split(':').next()?;
        find(title)
    }

    /// Verdicts on the published statements.
    pub fn statements(&self, record: &Record) -> Vec<Statement> {
        self.facts.iter().map(|fact| fact.judge(record).0).collect()
    }

    /// Positions of the samples that the statements rest on.
    pub fn decisive(&self, record: &Record) -> BTreeSet<usize> {
        self.facts.iter().flat_map(|fact| fact.judge(record).1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::judgement::Null;
    use super::*;
    use crate::record::Verdict;

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

    /// Values without the effect that a statement claims, and otherwise as published: its rule refuses them. Rules that hold by
    /// links alone are listed apart.
    #[test]
    fn every_rule_refuses_its_null_hypothesis() {
        for (name, published) in [
            ("multirail-2004", multirail::tests::as_published()),
            ("wan-2008", wan::tests::as_published()),
            ("endapps-2006", endapps::tests::as_published()),
            ("pecnit-2007", pecnit::tests::as_published()),
        ] {
            let mut tested = 0;
            for null in [Null::Alike, Null::Apart, Null::BandwidthAlone] {
                let refused = test_records::verdicts(name, &test_records::under(null, &published));
                for fact in find(name).unwrap().facts.iter().filter(|fact| fact.null == null) {
                    assert!(refused.contains(&(fact.id.to_string(), false)), "{}: {null:?}", fact.id);
                    tested += 1;
                }
            }
            let given = find(name).unwrap().facts.iter().filter(|fact| matches!(fact.null, Null::Given(_))).count();
            assert_eq!(tested + given, test_records::verdicts(name, &published).len(), "{name}");
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
