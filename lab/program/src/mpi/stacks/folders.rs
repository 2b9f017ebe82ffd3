//! Folders of the user.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folder of installed stacks.
pub fn cache_folder() -> Result<PathBuf> {
    let folder = user_folder("FISHPLATE_CACHE", "XDG_CACHE_HOME", ".cache");
    absolute(&folder.context("no folder for MPI stacks: set FISHPLATE_CACHE or HOME")?)
}

/// The folder `name` of those in which users keep descriptions of their own, if it is there.
pub fn own_folder(name: &str) -> Option<PathBuf> {
    let folder = user_folder("FISHPLATE_CONFIG", "XDG_CONFIG_HOME", ".config").map(|folder| folder.join(name));
    folder.filter(|folder| folder.is_dir())
}

/// The folder that `ours` names, or a folder `fishplate` in the one that `general` names or in `fallback` at home.
fn user_folder(ours: &str, general: &str, fallback: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(ours)
        .or_else(|| set(general).map(|folder| folder.join("fishplate")))
        .or_else(|| set("HOME").map(|home| home.join(fallback).join("fishplate")))
}

/// `path` as seen from anywhere.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot make an absolute path of {}", path.display()))
}
