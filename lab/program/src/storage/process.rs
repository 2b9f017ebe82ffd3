//! One process of a storage on its host: it sees the storage's packages as if they were installed, and has a folder in
//! memory, which nobody else sees and which goes away with it.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use serde::{Deserialize, Serialize};

use crate::system::child_process;

/// Environment of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Folder of the storage's packages.
    pub packages: PathBuf,
    /// Mount point of its folder in memory.
    pub work: PathBuf,
    /// How large that can grow.
    pub size_mib: u64,
    /// Folders to make in it.
    pub folders: Vec<PathBuf>,
    /// Files to write in it.
    pub files: Vec<(PathBuf, String)>,
    /// Mount point of the storage, if it mounts it: visible to the whole host.
    pub mounts: Option<PathBuf>,
}

/// Turns this process into `command`, which is called `name`.
pub fn become_process(surroundings: &Surroundings, command: &[OsString]) -> Result<Infallible> {
    if let Some(folder) = &surroundings.mounts {
        share(folder)?;
    }
    unshare(CloneFlags::CLONE_NEWNS).context("cannot make a mount namespace")?;
    overlay(&surroundings.packages)?;
    let work = &surroundings.work;
    mount_memory(work, surroundings.size_mib)?;
    for folder in &surroundings.folders {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    for (file, text) in &surroundings.files {
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    std::env::set_current_dir(work).with_context(|| format!("cannot enter {}", work.display()))?;
    child_process::become_command(command)
}

/// A folder in memory at `folder`.
pub fn mount_memory(folder: &Path, size_mib: u64) -> Result<()> {
    let options = format!("size={size_mib}m,mode=0777");
    mount(Some("tmpfs"), folder, Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some(options.as_str()))
        .with_context(|| format!("cannot mount a tmpfs of {size_mib} MiB at {}", folder.display()))
}

/// Makes later mounts at `folder` in child namespaces visible in this namespace too (shared propagation).
fn share(folder: &Path) -> Result<()> {
    let problem = || format!("cannot share mounts at {}", folder.display());
    mount(Some(folder), folder, None::<&str>, MsFlags::MS_BIND, None::<&str>).with_context(problem)?;
    mount(None::<&str>, folder, None::<&str>, MsFlags::MS_SHARED, None::<&str>).with_context(problem)
}

/// Lays packages over `/usr`: programs find their libraries and modules at the paths that were compiled in.
fn overlay(packages: &Path) -> Result<()> {
    let usr = packages.join("usr");
    let shown = usr.display().to_string();
    ensure!(
        !shown.contains([':', ',', '\\']),
        "the folder {shown} has a colon, a comma or a backslash in its name: set FISHPLATE_CACHE"
    );
    let options = format!("lowerdir={shown}:/usr");
    mount(Some("overlay"), "/usr", Some("overlay"), MsFlags::empty(), Some(options.as_str()))
        .with_context(|| format!("cannot lay {shown} over /usr (does the kernel have overlayfs?)"))
}
