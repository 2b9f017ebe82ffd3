//! The registry of labs that are up: a folder of the user, with a folder for each lab.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::unistd::getuid;

/// File that a lab keeps locked for as long as it lives.
const LOCK: &str = "lock";
/// How long a lab may take to end: its processes get a second.
const END_LIMIT: Duration = Duration::from_secs(10);

/// The place of one lab, up or not.
pub struct Slot {
    /// Name of the lab.
    pub name: String,
    pub folder: PathBuf,
}

impl Slot {
    /// Of a lab of this name.
    pub fn new(name: &str) -> Result<Slot> {
        let fits =
            name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) && (1..=32).contains(&name.len());
        ensure!(fits, "\"{name}\" is no name of a lab: 1 to 32 letters, digits, - and _");
        Ok(Slot { name: name.to_string(), folder: base()?.join(name) })
    }

    /// All that there are.
    pub fn all() -> Result<Vec<Slot>> {
        let entries = match fs::read_dir(base()?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.context("cannot list labs")?,
        };
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names.iter().map(|name| Slot::new(name)).collect()
    }

    /// Socket of its daemon.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("control")
    }

    /// Error of its daemon.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Takes the place for a new lab. The lab lives for as long as somebody has the file open.
    pub fn take(&self) -> Result<File> {
        let problem = || format!("cannot make {}", self.folder.display());
        if self.folder.exists() {
            let name = &self.name;
            ensure!(
                !self.is_up(),
                "lab {name} is up already: `fishplate lab down {name}` ends it, --name makes another"
            );
            self.clear()?;
        }
        // The folder around it may have gone with the last lab.
        DirBuilder::new().mode(0o700).recursive(true).create(&self.folder).with_context(problem)?;
        self.folder.parent().map_or(Ok(()), check_mine)?;
        let file = File::create(self.folder.join(LOCK)).with_context(problem)?;
        file.try_lock().with_context(|| format!("lab {} is coming up just now", self.name))?;
        Ok(file)
    }

    /// Whether its daemon lives.
    pub fn is_up(&self) -> bool {
        let file = File::open(self.folder.join(LOCK));
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Waits until its daemon is gone, and removes its folder; the one around it as well if there is no other lab.
    pub fn clear(&self) -> Result<()> {
        let limit = Instant::now() + END_LIMIT;
        while self.is_up() {
            ensure!(Instant::now() < limit, "lab {} does not end", self.name);
            std::thread::sleep(Duration::from_millis(10));
        }
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.folder.display()))
            }
            _ => {
                self.folder.parent().into_iter().for_each(|labs| drop(fs::remove_dir(labs)));
                Ok(())
            }
        }
    }

    /// Describes the problem if it is not up.
    pub fn expect_up(&self) -> Result<()> {
        let name = &self.name;
        if self.is_up() {
            return Ok(());
        }
        if self.folder.exists() {
            bail!("lab {name} was killed: `fishplate lab down {name}` clears up, `fishplate lab up` makes it anew");
        }
        let up: Vec<String> = Slot::all()?.into_iter().filter(Slot::is_up).map(|slot| slot.name).collect();
        let others = if up.is_empty() { "none is".to_string() } else { format!("up: {}", up.join(", ")) };
        bail!("no lab {name} is up ({others}); `fishplate lab up` makes one")
    }
}

/// The user's own folder of labs, which is there while there are any.
fn base() -> Result<PathBuf> {
    let folder = match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute()) {
        Some(runtime) => runtime.join("fishplate-labs"),
        None => std::env::temp_dir().join(format!("fishplate-labs-{}", getuid())),
    };
    if fs::symlink_metadata(&folder).is_ok() {
        check_mine(&folder)?;
    }
    Ok(folder)
}

fn check_mine(folder: &Path) -> Result<()> {
    let metadata = fs::symlink_metadata(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mine = metadata.is_dir() && metadata.uid() == getuid().as_raw() && metadata.mode() & 0o077 == 0;
    ensure!(mine, "{} is not a folder of this user alone: remove it, or set XDG_RUNTIME_DIR", folder.display());
    Ok(())
}
