//! Ready experiments: a plan each, and the published statements that its values are held against
//! (docs/papers/experiments.md). `fishplate lab run` calls this.
//!
//! A [`statement`] compares [`medians`] of a record by its [`expression`]s.

mod expression;
mod medians;
mod print;
mod statement;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use anyhow::Result;

use crate::bench::{Plan, ready_plan};
use crate::mpi::stacks::Catalog;
use crate::record::{Record, Statement};
pub use print::markdown;
use statement::Published;

pub struct Experiment {
    /// Its name, which is that of its plan.
    name: &'static str,
    /// Description of the published statements.
    statements: &'static str,
}

const EXPERIMENTS: [Experiment; 4] = [
    Experiment { name: "multirail-2004", statements: include_str!("../../experiments/multirail-2004.toml") },
    Experiment { name: "wan-2008", statements: include_str!("../../experiments/wan-2008.toml") },
    Experiment { name: "endapps-2006", statements: include_str!("../../experiments/endapps-2006.toml") },
    Experiment { name: "pecnit-2007", statements: include_str!("../../experiments/pecnit-2007.toml") },
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

    fn published(&self) -> Published {
        toml::from_str(self.statements).expect("the embedded statements are checked by a test")
    }

    /// Verdicts on the published statements.
    pub fn statements(&self, record: &Record) -> Vec<Statement> {
        let published = self.published();
        published.facts.iter().map(|fact| published.judge(fact, record).0).collect()
    }

    /// Positions of the samples that the statements rest on.
    pub fn decisive(&self, record: &Record) -> BTreeSet<usize> {
        let published = self.published();
        published.facts.iter().flat_map(|fact| published.judge(fact, record).1).collect()
    }
}
