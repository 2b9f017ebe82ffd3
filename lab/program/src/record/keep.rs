//! Small records, of what tables need.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::write::Writer;
use super::{Line, Record, Sample};

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
