//! Measured tables of the documentation, made of the records in `docs/records` (docs/reference/numbers.md).
//!
//! A [`page`] has blocks that name [`tables`]; a [`choice`] says of which record each is made and what it shows, as
//! [`values`], [`claims`], or the verdicts of an experiment. [`pictures`] draws what `fishplate demo` has measured.
//! `make numbers` calls this by `fishplate write-numbers`.

mod choice;
mod claims;
mod grid;
mod page;
mod pictures;
mod tables;
mod values;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::bench;
use crate::experiments::Experiment;
use crate::record;
use tables::Tables;

/// Where records are in the repository.
const RECORDS: &str = "docs/records";
/// Where pages are: these, and those of folders of `docs`.
const PAGES: [&str; 2] = ["README.md", "CONTRIBUTING.md"];

/// A page or a picture that differs from its records.
pub struct Changed {
    pub file: PathBuf,
    pub text: String,
    /// What differs, a line each.
    pub changes: Vec<String>,
}

/// The pages and pictures of the repository in the folder `root` that differ from their records.
///
/// # Errors
/// When a block, a table or a record is wrong, with its place; when no page shows a table.
pub fn changed(root: &Path) -> Result<Vec<Changed>> {
    let tables = Tables::read(&root.join(RECORDS))?;
    let mut shown = BTreeSet::new();
    let mut changed = pictures::changed(root)?;
    for file in pages(root)? {
        let before = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let filled = page::fill(&name, &before, |table| {
            shown.insert(table.to_string());
            tables.render(table)
        })?;
        let changes = filled.blocks.iter().flat_map(|block| page::changes(&format!("{name}, {}", block.table), block));
        let changes: Vec<String> = changes.collect();
        if filled.text != before {
            changed.push(Changed { file, text: filled.text, changes });
        }
    }
    match tables.names().find(|name| !shown.contains(*name)) {
        Some(unused) => bail!("{}: no page shows the table \"{unused}\"", tables.file.display()),
        None => Ok(changed),
    }
}

/// Puts a small record into the repository, under the name of its file.
///
/// # Errors
/// When it is none of `fishplate bench`, `fishplate lab run` or `fishplate demo`, or cannot be written.
pub fn keep(root: &Path, record: &Path) -> Result<PathBuf> {
    let name = record.file_name().with_context(|| format!("{} is no file", record.display()))?;
    if record.extension().is_some_and(|ending| ending == "json") {
        return pictures::keep(root, record);
    }
    let record = record::read(record)?;
    let kept = root.join(RECORDS).join(name);
    match Experiment::of(&record) {
        // No rule reads the plan.
        Some(experiment) => {
            let decisive = experiment.decisive(&record);
            record.keep(&kept, Some(bench::PLAN), decisive.into_iter().map(|position| &record.samples[position]))?;
        }
        None => {
            bench::plan_of(&record)?;
            record.keep(&kept, None, record.samples.iter())?;
        }
    }
    Ok(kept)
}

/// The arguments of the program that measured the record of that name, and the new record that they write into `folder`.
///
/// # Errors
/// When there is no such record, or it does not tell.
pub fn command(root: &Path, name: &str, folder: &Path) -> Result<(Vec<String>, PathBuf)> {
    let text = |path: &Path| path.display().to_string();
    if name == pictures::NAME {
        let (kept, page) = (folder.join("demo.json"), folder.join("demo.html"));
        let words = ["demo", "--keep-json", &text(&kept), "--output", &text(&page)];
        return Ok((words.map(String::from).to_vec(), kept));
    }
    let file = root.join(RECORDS).join(format!("{name}.jsonl"));
    let mut words = record::read(&file)?.command();
    ensure!(!words.is_empty(), "{}: it does not tell the command that measured it", file.display());
    let measured = folder.join(format!("{name}.jsonl"));
    words.extend(["--record".into(), text(&measured)]);
    Ok((words, measured))
}

fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let read = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        Ok(entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?)
    };
    let mut pages: Vec<PathBuf> = PAGES.iter().map(|name| root.join(name)).filter(|file| file.exists()).collect();
    for folder in read(&root.join("docs"))?.into_iter().filter(|path| path.is_dir()) {
        pages.extend(read(&folder)?.into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "md")));
    }
    pages.sort();
    Ok(pages)
}
