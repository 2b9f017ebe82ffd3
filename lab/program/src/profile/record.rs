//! Profiles in files.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::schema::{Profile, SCHEMA};
use crate::system::whole_file;

/// Writes a profile: whole, or not at all.
///
/// # Errors
/// When it cannot be written, with the reason.
pub fn write(file: &Path, profile: &Profile) -> Result<()> {
    whole_file::write(file, |to| Ok(serde_json::to_writer(to, profile)?))
}

/// Reads a profile.
///
/// # Errors
/// When it cannot be read, or is none, with the reason.
pub fn read(file: &Path) -> Result<Profile> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let problem = || format!("cannot read the profile {}", file.display());
    let text = fs::read(file).with_context(problem)?;
    let head: Head = serde_json::from_slice(&text).context("it is none").with_context(problem)?;
    ensure!(head.schema == SCHEMA, "{}: its schema is \"{}\", not \"{SCHEMA}\"", problem(), head.schema);
    serde_json::from_slice(&text).with_context(problem)
}
