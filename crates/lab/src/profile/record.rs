//! Profiles in files.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::schema::{Profile, SCHEMA};

/// Writes a profile: whole, or not at all.
///
/// # Errors
/// When it cannot be written, with the reason.
pub fn write(file: &Path, profile: &Profile) -> Result<()> {
    write_whole(file, |to| Ok(serde_json::to_writer(to, profile)?))
}

/// Puts a file in its place once all of it has been written.
///
/// # Errors
/// When it cannot be written, with the reason.
pub fn write_whole(file: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let name = file.file_name().context("it has no name").map(|name| format!("{}.part", name.display()));
    let part = name.map(|name| file.with_file_name(name));
    let written = part.and_then(|part| {
        let result = File::create(&part).map_err(Into::into).and_then(|created| {
            let mut writer = BufWriter::new(created);
            write(&mut writer)?;
            writer.flush()?;
            Ok(fs::rename(&part, file)?)
        });
        if result.is_err() {
            // A part is of no use, and the disk may be full.
            let _ = fs::remove_file(&part);
        }
        result
    });
    written.with_context(|| format!("cannot write {}", file.display()))
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
