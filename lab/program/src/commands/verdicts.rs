//! `fishplate lab verdicts`: published statements judged by records of ready experiments.

use std::path::PathBuf;

use anyhow::{Result, anyhow};

use crate::experiments::{self, Experiment};
use crate::output::terminal;
use crate::record;

#[derive(clap::Args)]
pub struct Args {
    /// Records of `fishplate lab run`.
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
}

pub fn run(args: &Args) -> Result<()> {
    let mut sections = Vec::new();
    for file in &args.records {
        let record = record::read(file)?;
        let experiment = Experiment::of(&record)
            .ok_or_else(|| anyhow!("{}: no record of {}", file.display(), experiments::names().join(", ")))?;
        sections.push(format!("### {}\n\n{}", experiment.name(), experiments::markdown(experiment, &record)));
    }
    terminal::print(&sections.join("\n"));
    Ok(())
}
