//! `fishplate lab verdicts`: published statements judged by records of ready experiments.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};

use crate::experiments::{self, Experiment};
use crate::output::terminal;
use crate::record::write::Writer;
use crate::record::{self, Line, Record, Sample};

#[derive(clap::Args)]
pub struct Args {
    /// Records of `fishplate lab run`.
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,

    /// Write the values that decide into records in this folder, as EXPERIMENT.jsonl; print nothing
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// The command.
pub fn run(args: &Args) -> Result<()> {
    let mut sections = Vec::new();
    for file in &args.records {
        let record = record::read(file)?;
        let experiment = Experiment::of(&record)
            .ok_or_else(|| anyhow!("{}: no record of {}", file.display(), experiments::names().join(", ")))?;
        match &args.keep {
            Some(folder) => keep(experiment, &record, folder)?,
            None => sections.push(experiments::markdown(experiment, &record)),
        }
    }
    terminal::print(&sections.join("\n"));
    Ok(())
}

/// Writes the manifest without the plan, the links, and the samples that decide, without fields that no rule reads.
fn keep(experiment: &Experiment, record: &Record, folder: &Path) -> Result<()> {
    let file = folder.join(format!("{}.jsonl", experiment.name()));
    let is_source =
        fs::canonicalize(&file).is_ok_and(|file| fs::canonicalize(&record.file).is_ok_and(|one| one == file));
    ensure!(!is_source, "--keep: {} is the record itself: choose another folder", file.display());
    if file.exists() {
        fs::remove_file(&file).with_context(|| format!("cannot replace {}", file.display()))?;
    }
    let mut manifest = record.manifest.clone();
    manifest.options.retain(|name, _| name != "plan");
    let mut writer = Writer::create(&file, &manifest)?;
    record.links.iter().try_for_each(|link| writer.append(&Line::Link(link.clone())))?;
    for position in experiment.decisive(record) {
        let sample = Sample { percentiles: None, ..record.samples[position].clone() };
        writer.append(&Line::Sample(sample))?;
    }
    Ok(())
}
