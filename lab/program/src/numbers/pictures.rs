//! The picture of README.md: the chart of `fishplate demo`, drawn from its results in `docs/records`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::{Changed, RECORDS};
use crate::demo::Results;
use crate::system::output_file;

/// Name of the record.
pub const NAME: &str = "demo";
/// Where the picture for a light background is in the repository.
const PICTURE: &str = "docs/demo.svg";

/// The results in the repository in the folder `root`.
pub fn record(root: &Path) -> PathBuf {
    root.join(RECORDS).join(format!("{NAME}.json"))
}

/// The pictures that differ from their record; none where there is no record.
///
/// # Errors
/// When the record cannot be read.
pub fn changed(root: &Path) -> Result<Vec<Changed>> {
    if !record(root).exists() {
        return Ok(Vec::new());
    }
    let pictures = Results::read(&record(root))?.pictures(&root.join(PICTURE));
    let differs = |(file, text): &(PathBuf, String)| fs::read_to_string(file).ok().as_ref() != Some(text);
    let told = |(file, text): (PathBuf, String)| {
        let name = file.strip_prefix(root).unwrap_or(&file).display();
        Changed { changes: vec![format!("{name}: drawn from {RECORDS}/{NAME}.json")], file, text }
    };
    Ok(pictures.into_iter().filter(differs).map(told).collect())
}

/// Puts results into the repository.
///
/// # Errors
/// When they are none, a stack has failed, or they cannot be written.
pub fn keep(root: &Path, results: &Path) -> Result<PathBuf> {
    let read = Results::read(results)?;
    if let Some(failed) = read.stacks.iter().find(|stack| stack.failure.is_some()) {
        bail!("{}: {} has failed", results.display(), failed.name);
    }
    let kept = record(root);
    output_file::put(&kept, serde_json::to_string(&read)? + "\n")?;
    Ok(kept)
}
