//! The packages of a storage: where `fishplate setup` puts them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::description::Description;
use crate::mpi::stacks::{cache_folder, packages::STAMP};

/// Debian's library that makes a program's TCP multipath, where it is preloaded.
pub const MULTIPATH: &str = "usr/lib/x86_64-linux-gnu/mptcpize/libmptcpwrap.so.0.0.1";

/// The folder of a storage's packages, whether or not it is there.
pub fn folder(described: &Description) -> Result<PathBuf> {
    Ok(cache_folder()?.join(format!("storage-{}", described.name)))
}

/// Prefix of the packages' stamp.
pub fn stamp(described: &Description) -> String {
    format!("{}\n", described.packages.join(" "))
}

/// Whether they are complete, as they are described now.
pub fn are_complete(described: &Description) -> Result<bool> {
    let stamp = fs::read_to_string(folder(described)?.join(STAMP)).unwrap_or_default();
    Ok(described.packages.is_empty() || stamp.starts_with(&self::stamp(described)))
}

/// Version of the first, where they are complete.
pub fn version(described: &Description) -> Option<String> {
    let first = described.packages.first()?;
    let stamp = fs::read_to_string(folder(described).ok()?.join(STAMP)).ok()?;
    let found = stamp.lines().skip(1).find_map(|line| line.strip_prefix(first.as_str())?.strip_prefix('='));
    found.map(String::from)
}

/// Says what to do where they are not.
///
/// # Errors
/// With that.
pub fn check(described: &Description) -> Result<()> {
    let Description { name, .. } = described;
    ensure!(are_complete(described)?, "storage {name} is not set up here: `{}` does that", described.how_to_get());
    Ok(())
}
