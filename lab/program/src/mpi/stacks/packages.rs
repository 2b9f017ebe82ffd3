//! Packages of PyPI that `fishplate setup` puts into a folder of their own.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use serde::Deserialize;

use super::folders::cache_folder;

/// Name of the file that marks a folder as complete and lists its contents: packages, or inputs of an application.
pub const STAMP: &str = "fishplate-complete";

/// All that are fetched, with the hashes of their files.
const HASHES: &str = include_str!("../../../stacks/packages.txt");

/// Packages that belong together.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packages {
    /// pip's requirements, with all that they depend on; the first names the folder.
    pub requirements: Vec<String>,
    /// Under which conditions they may be used.
    pub licence: String,
    /// Size of the download in megabytes, from PyPI for x86-64.
    pub download_mb: u32,
}

impl Packages {
    /// Their folder, whether or not it is there.
    pub fn folder(&self) -> Result<PathBuf> {
        Ok(cache_folder()?.join(self.folder_name()))
    }

    /// Name of their folder: the first with its version.
    pub fn folder_name(&self) -> String {
        self.requirements[0].replace("==", "-")
    }

    /// Whether they are complete and of these versions.
    pub fn are_complete(&self) -> Result<bool> {
        Ok(fs::read_to_string(self.folder()?.join(STAMP)).unwrap_or_default() == self.stamp())
    }

    /// The requirements with the hashes that their files may have, as pip reads them. Pip takes nothing that has none.
    pub fn hashed(&self) -> String {
        let block = |requirement: &String| {
            let is_named = |line: &&str| line.split_whitespace().next() == Some(requirement);
            let mut lines = HASHES.lines().skip_while(|line| !is_named(line));
            let first = lines.next().unwrap_or(requirement);
            let hashes = lines.take_while(|line| line.trim_start().starts_with("--hash="));
            [first].into_iter().chain(hashes).map(|line| format!("{line}\n")).collect::<String>()
        };
        self.requirements.iter().map(block).collect()
    }

    /// Text of their stamp.
    pub fn stamp(&self) -> String {
        self.requirements.join("\n") + "\n"
    }

    /// Whether each is pinned, with hashes.
    #[cfg(test)]
    pub fn have_hashes(&self) -> bool {
        let hashed = self.hashed();
        let starts = |line: &str| self.requirements.iter().any(|requirement| line == format!("{requirement} \\"));
        let [pinned, others] = [true, false].map(|is| hashed.lines().filter(|line| starts(line) == is).count());
        pinned == self.requirements.len() && others >= pinned && !hashed.trim_end().ends_with('\\')
    }
}
