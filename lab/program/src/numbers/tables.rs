//! The tables of the documentation, as `docs/records/tables.toml` describes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use serde::Deserialize;

use super::choice::{Choice, View};
use super::{claims, values};
use crate::experiments::{self, Experiment};
use crate::output::text;
use crate::record::{self, Record};

/// The file, in the folder of records.
const FILE: &str = "tables.toml";

pub struct Tables {
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
        Ok(format!("{table}\n{}. {}.\n", text::capitalized(&told.join("; ")), record.conditions()))
    }
}
