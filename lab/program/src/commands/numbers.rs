//! `fishplate write-numbers`: the measured tables and pictures of the documentation, made of the records in the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use super::bench::SOME_MISSED;
use crate::numbers;
use crate::system::output_file;
use crate::{say, tell};

/// Where new records are until they are complete.
const MEASURED: &str = "build/numbers";

/// Writes the measured tables of the documentation, and prints what changed.
#[derive(clap::Args)]
pub struct Args {
    /// The repository
    #[arg(default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,

    /// Write nothing; fail if a table differs from its record
    #[arg(long)]
    check: bool,

    /// First put a small one of this record into the repository
    #[arg(long, value_name = "RECORD", conflicts_with = "check")]
    keep: Option<PathBuf>,

    /// First measure the record of this name again, by the command that it tells
    #[arg(long, value_name = "NAME", conflicts_with_all = ["check", "keep"])]
    measure: Option<String>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let measured = args.measure.as_ref().map(|name| measure(&args.folder, name)).transpose()?;
    if let Some(record) = args.keep.as_ref().or(measured.as_ref()) {
        say!("record: {}", numbers::keep(&args.folder, record)?.display());
    }
    let changed = numbers::changed(&args.folder)?;
    if !args.check {
        changed.iter().try_for_each(|page| output_file::put(&page.file, &page.text))?;
    }
    changed.iter().flat_map(|page| &page.changes).for_each(|change| say!("{change}"));
    match (args.check, changed.is_empty()) {
        (true, false) => {
            tell!("fishplate: tables or pictures differ from their records: `make numbers` writes them anew");
            return Ok(ExitCode::FAILURE);
        }
        (false, true) => say!("all tables and pictures are those of the records"),
        _ => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures anew what a record of the repository has.
fn measure(root: &Path, name: &str) -> Result<PathBuf> {
    let folder = root.join(MEASURED);
    output_file::make_folder(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (words, record) = numbers::command(root, name, &folder)?;
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let ended = Command::new(program)
        .args(&words)
        .status()
        .with_context(|| format!("cannot run fishplate {}", words.join(" ")))?;
    // Where a claim was missed, all was measured.
    if !ended.success() && ended.code() != Some(SOME_MISSED.into()) {
        bail!("fishplate {}: {ended}; the record in the repository stays as it was", words.join(" "));
    }
    Ok(record)
}
