//! Packages of PyPI that `fishplate setup` puts into a folder of their own.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use super::folders::cache_folder;

/// Name of the file that marks a folder as complete and says what is in it: packages, or inputs of an application.
pub const STAMP: &str = "fishplate-complete";

/// Packages that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Packages {
    /// As commands call them.
    pub name: &'static str,
    /// As people call them.
    pub title: &'static str,
    /// pip's requirements; the first names the folder.
    pub requirements: &'static [String],
    /// Under which conditions they may be used.
    pub licence: &'static str,
    /// Size of the download in megabytes, from PyPI for x86-64.
    pub download_mb: u32,
    /// pip shall not look for what they depend on.
    pub without_dependencies: bool,
}

impl Packages {
    /// Their folder, whether or not it is there.
    pub fn folder(&self) -> Result<PathBuf> {
        Ok(cache_folder()?.join(self.requirements[0].replace("==", "-")))
    }

    /// Whether they are complete and of these versions.
    pub fn are_complete(&self) -> Result<bool> {
        Ok(fs::read_to_string(self.folder()?.join(STAMP)).unwrap_or_default() == self.stamp())
    }

    /// What their stamp says.
    pub fn stamp(&self) -> String {
        self.requirements.join("\n") + "\n"
    }
}
