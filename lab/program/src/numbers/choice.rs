//! What a table shows of a record.

use anyhow::{Result, bail};
use serde::Deserialize;

use crate::output::page::units;
use crate::record::Record;

/// A table: what of which record it shows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Name of the record.
    pub record: String,
    pub view: View,
    /// Names, in the order of the table; empty: all, in the order of the record.
    #[serde(default)]
    pub benchmarks: Vec<String>,
    /// As `benchmarks`.
    #[serde(default)]
    pub links: Vec<String>,
    /// As `benchmarks`.
    #[serde(default)]
    pub stacks: Vec<String>,
    /// In claims those that the ratio is to: stacks, or what is computed; empty: all.
    #[serde(default)]
    pub peers: Vec<String>,
    /// Message sizes as in tables: `64 KiB`; empty: all.
    #[serde(default)]
    pub sizes: Vec<String>,
    /// Of several metrics those that are shown, the second in parentheses; empty: the only one.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Each link has columns of its own, in place of rows.
    #[serde(default)]
    pub links_across: bool,
}

/// What a table shows.
#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// Medians, a column a stack.
    Values,
    /// Ratios of a plan's claims.
    Claims,
    /// Verdicts on the statements of an experiment.
    Verdicts,
}

impl View {
    /// What the cells are.
    pub fn words(self) -> &'static str {
        match self {
            View::Values => "medians over the rounds",
            View::Claims => "medians over the rounds, of ratios with the least and the greatest",
            View::Verdicts => "verdicts",
        }
    }
}

impl Choice {
    /// Says what the record does not have.
    ///
    /// # Errors
    /// With the names that it has.
    pub fn check(&self, record: &Record) -> Result<()> {
        let manifest = &record.manifest;
        let stacks: Vec<&String> = manifest.stacks.iter().map(|stack| &stack.name).collect();
        let benchmarks: Vec<&String> = manifest.benchmarks.iter().map(|benchmark| &benchmark.name).collect();
        let links: Vec<&String> = manifest.links.iter().collect();
        for (kind, chosen, has) in
            [("benchmark", &self.benchmarks, benchmarks), ("link", &self.links, links), ("stack", &self.stacks, stacks)]
        {
            if let Some(name) = chosen.iter().find(|name| !has.contains(name)) {
                let has = has.into_iter().cloned().collect::<Vec<_>>().join(", ");
                bail!("it has no {kind} \"{name}\": it has {has}");
            }
        }
        let has_size =
            |size: &&String| record.samples.iter().any(|one| units::size(one.size_bytes.unwrap_or(0)) == **size);
        if let Some(size) = self.sizes.iter().find(|size| !has_size(size)) {
            bail!("it has no values of \"{size}\"");
        }
        let has_metric = |metric: &&String| record.samples.iter().any(|one| one.metric == **metric);
        match self.metrics.iter().find(|metric| !has_metric(metric)) {
            Some(metric) => bail!("it has no metric \"{metric}\""),
            None => Ok(()),
        }
    }

    /// Whether the table shows this size.
    pub fn has_size(&self, size: u64) -> bool {
        has(&self.sizes, &units::size(size))
    }
}

/// Whether a name is chosen; all are where none is.
pub fn has(chosen: &[String], name: &str) -> bool {
    chosen.is_empty() || chosen.iter().any(|one| one == name)
}

/// Position of a name among the chosen ones, or among all of the record where none is; `None`: it is left out.
pub fn position<'a>(chosen: &[String], mut all: impl Iterator<Item = &'a String>, name: &str) -> Option<usize> {
    if chosen.is_empty() { all.position(|known| known == name) } else { chosen.iter().position(|known| known == name) }
}
