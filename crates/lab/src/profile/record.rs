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
    let problem = || format!("cannot write {}", file.display());
    let name = file.file_name().context("it has no name").with_context(problem)?;
    write_whole_by(&file.with_file_name(format!("{}.part", name.display())), file, write)
}

/// The same by way of `part`, in the same folder: so that several processes can write the same file at once.
///
/// # Errors
/// When it cannot be written, with the reason.
pub fn write_whole_by(part: &Path, file: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let put = || -> Result<()> {
        let mut writer = BufWriter::new(File::create(part)?);
        write(&mut writer)?;
        writer.flush()?;
        writer.get_ref().sync_all()?;
        Ok(fs::rename(part, file)?)
    };
    // A part is of no use, and the disk may be full.
    let put = put().inspect_err(|_| drop(fs::remove_file(part)));
    put.with_context(|| format!("cannot write {}", file.display()))
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
