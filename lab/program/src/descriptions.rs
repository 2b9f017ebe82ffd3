//! Files in TOML that describe something: stacks, storages, plans.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use serde::de::DeserializeOwned;

/// The files at `place`: the file itself, or the `.toml` files of a folder.
///
/// # Errors
/// When the folder cannot be read.
pub fn files(place: &Path) -> Result<Vec<PathBuf>> {
    if !place.is_dir() {
        return Ok(vec![place.to_path_buf()]);
    }
    let problem = || format!("cannot read the folder {}", place.display());
    let entries = fs::read_dir(place).with_context(problem)?.collect::<Result<Vec<_>, _>>().with_context(problem)?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}

/// Parses the description in `text`, read from `file`.
///
/// # Errors
/// Names file and line of the error.
pub fn parse<T: DeserializeOwned>(text: &str, file: &str) -> Result<T> {
    let line = |at: usize| text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
    toml::from_str(text).map_err(|error: toml::de::Error| match error.span() {
        Some(span) => anyhow!("{file}, line {}: {}", line(span.start), error.message()),
        None => anyhow!("{file}: {}", error.message()),
    })
}
