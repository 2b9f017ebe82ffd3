//! The tables of the documentation, as `docs/records/tables.toml` describes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;

use super::{claims, values};
use crate::experiments::{self, Experiment};
use crate::output::page::units;
use crate::record::{self, Record};

/// The file, in the folder of records.
const FILE: &str = "tables.toml";

/// All tables.
pub struct Tables {
    /// Their file.
    pub file: PathBuf,
    described: Described,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    /// Names for people, of stacks, links, benchmarks, peers and units.
    names: BTreeMap<String, String>,
    #[serde(rename = "table", default)]
    tables: BTreeMap<String, Choice>,
}

/// A table: what of which record it shows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Name of the record.
    record: String,
    view: View,
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
enum View {
    /// Medians, a column a stack.
    Values,
    /// Ratios of a plan's claims.
    Claims,
    /// Verdicts on the statements of an experiment.
    Verdicts,
}

impl Tables {
    /// Reads the file in the folder of records.
    ///
    /// # Errors
    /// When it cannot be read, or is malformed, with the line.
    pub fn read(folder: &Path) -> Result<Tables> {
        let file = folder.join(FILE);
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let described = toml::from_str(&text).with_context(|| file.display().to_string())?;
        Ok(Tables { file, described })
    }

    /// Names of all tables.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.described.tables.keys()
    }

    /// A table as Markdown, with the conditions of the measurement.
    ///
    /// # Errors
    /// When there is no such table, its record is not there, or does not have what the table shows.
    pub fn render(&self, name: &str) -> Result<String> {
        let names = || self.names().cloned().collect::<Vec<_>>().join(", ");
        let choice = self.described.tables.get(name);
        let choice =
            choice.with_context(|| format!("no table \"{name}\" in {}: it has {}", self.file.display(), names()))?;
        let record = record::read(&self.file.with_file_name(format!("{}.jsonl", choice.record)))?;
        let rendered = choice.check(&record).and_then(|()| self.of(choice, &record));
        rendered.with_context(|| format!("table \"{name}\", {}", record.file.display()))
    }

    fn of(&self, choice: &Choice, record: &Record) -> Result<String> {
        let grid = match choice.view {
            View::Values => values::grid(choice, record)?,
            View::Claims => claims::grid(choice, record)?,
            View::Verdicts => {
                let experiment = Experiment::of(record)
                    .ok_or_else(|| anyhow!("no record of {}", experiments::names().join(", ")))?;
                return Ok(experiments::markdown(experiment, record));
            }
        };
        ensure!(!grid.rows.is_empty(), "the table has no rows");
        let (table, mut told) =
            grid.table(|name| self.described.names.get(name).map_or(name, String::as_str).to_string());
        told.push(choice.view.words().to_string());
        Ok(format!("{table}\n{}. {}.\n", capitalized(&told.join("; ")), record.conditions()))
    }
}

impl View {
    /// What the cells are.
    fn words(self) -> &'static str {
        match self {
            View::Values => "medians over the rounds",
            View::Claims => "medians over the rounds, of ratios with the least and the greatest",
            View::Verdicts => "verdicts",
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

impl Choice {
    /// Says what the record does not have.
    fn check(&self, record: &Record) -> Result<()> {
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

    /// Whether the table compares with this peer.
    pub fn has_peer(&self, peer: &str) -> bool {
        self.peers.is_empty() || self.peers.iter().any(|chosen| chosen == peer)
    }

    /// Whether the table shows this size.
    pub fn has_size(&self, size: u64) -> bool {
        self.sizes.is_empty() || self.sizes.contains(&units::size(size))
    }
}

/// Position of a name among the chosen ones, or among all of the record where none is; `None`: it is left out.
pub fn position<'a>(chosen: &[String], mut all: impl Iterator<Item = &'a String>, name: &str) -> Option<usize> {
    if chosen.is_empty() { all.position(|known| known == name) } else { chosen.iter().position(|known| known == name) }
}
