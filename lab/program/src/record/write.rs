//! Writing a record: each line at once, whole, and at the end of the file.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fishplate_guest::output_file;

use super::read::{Record, read};
use super::schema::{Line, Manifest, Sample};

/// A process that was killed lets go of its lock at once, but one that a writer forks has a copy of it until it runs its
/// own program: a moment.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(25);

/// A record that lines are appended to. Holds a lock: there is one writer at a time.
pub struct Writer {
    file: File,
    path: PathBuf,
}

impl Writer {
    /// Begins a new record with its manifest.
    ///
    /// # Errors
    /// When the file exists already, or cannot be written.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<Writer> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        let file = file.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => anyhow::Error::msg("it exists already: resume it, or choose another name"),
            _ => error.into(),
        });
        let file = file.with_context(|| format!("cannot begin the record {}", path.display()))?;
        let mut writer = Writer { file, path: path.to_path_buf() };
        writer.lock()?;
        writer.append(&Line::Manifest(Box::new(manifest.clone())))?;
        Ok(writer)
    }

    /// Goes on with a record: says what it has, and cuts a torn last line off.
    ///
    /// # Errors
    /// When it cannot be read or written, or another process is writing to it.
    pub fn resume(path: &Path) -> Result<(Writer, Record)> {
        let file = output_file::append_existing(path);
        let file = file.with_context(|| format!("cannot go on with the record {}", path.display()))?;
        let writer = Writer { file, path: path.to_path_buf() };
        writer.lock()?;
        let record = read(path)?;
        if record.torn.is_some() {
            let cut = writer.file.set_len(record.whole_bytes);
            cut.with_context(|| format!("cannot cut the torn last line off {}", path.display()))?;
        }
        Ok((writer, record))
    }

    /// Appends a line in one write. It is with the system when this returns: killing the process does not lose it.
    ///
    /// # Errors
    /// If the file cannot be written, as on a full disk. No part of the line stays in the file then.
    pub fn append(&mut self, line: &Line) -> Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let problem = || format!("cannot append to the record {}", self.path.display());
        let before = self.file.metadata().with_context(problem)?.len();
        let written = self.file.write_all(text.as_bytes());
        if written.is_err() {
            // Should even this fail, readers see a torn last line.
            let _ = self.file.set_len(before);
        }
        written.with_context(problem)
    }

    fn lock(&self) -> Result<()> {
        for attempt in 0..LOCK_ATTEMPTS {
            if self.file.try_lock().is_ok() {
                return Ok(());
            }
            if attempt + 1 < LOCK_ATTEMPTS {
                std::thread::sleep(LOCK_PAUSE);
            }
        }
        bail!("another process is writing to the record {}", self.path.display())
    }
}

impl Record {
    /// Writes, in place of `file`, the manifest without the option `without`, the links, and these samples, without
    /// percentiles and options that were not given.
    ///
    /// # Errors
    /// When it is the record itself, or cannot be written.
    pub fn keep<'a>(
        &'a self,
        file: &Path,
        without: Option<&str>,
        samples: impl Iterator<Item = &'a Sample>,
    ) -> Result<()> {
        let is_source =
            fs::canonicalize(file).is_ok_and(|file| fs::canonicalize(&self.file).is_ok_and(|one| one == file));
        ensure!(!is_source, "{} is the record itself: keep one from elsewhere", file.display());
        if file.exists() {
            fs::remove_file(file).with_context(|| format!("cannot replace {}", file.display()))?;
        }
        let mut manifest = self.manifest.clone();
        manifest.options.retain(|name, _| Some(name.as_str()) != without);
        let mut writer = Writer::create(file, &manifest)?;
        self.links.iter().try_for_each(|link| writer.append(&Line::Link(link.clone())))?;
        for sample in samples {
            let options = sample.options_given().map(|(name, value)| (name.clone(), value.clone())).collect();
            writer.append(&Line::Sample(Sample { percentiles: None, options, ..sample.clone() }))?;
        }
        Ok(())
    }
}

#[cfg(test)]
impl Writer {
    /// A writer whose disk is full.
    pub fn to_full_disk() -> Writer {
        let path = PathBuf::from("/dev/full");
        Writer { file: OpenOptions::new().append(true).open(&path).unwrap(), path }
    }
}
