//! Before the program runs: the folder that its ranks write into, and the variables that make them do so.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::system::{output_file, private_folder};
use crate::tell;

/// The file in it that says what was started.
const FILE: &str = "launch.json";
/// Most folders that killed profiles may leave beside each other.
const MAX_LEFT_BEHIND: usize = 100;

/// The command that was started.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Launch {
    pub command: Vec<String>,
    /// Start time in UTC, as in RFC 3339.
    pub started: String,
}

/// Makes the folder `NAME.ranks` beside the record, or one with a number where earlier ones were left there.
///
/// # Errors
/// If it cannot be created, or is not writable.
pub fn prepare(record: &Path, launch: &Launch) -> Result<PathBuf> {
    for number in 1..=MAX_LEFT_BEHIND {
        let more = if number == 1 { String::new() } else { format!("-{number}") };
        let folder = record.with_extension(format!("ranks{more}"));
        match private_folder::make_at(&folder) {
            Ok(()) => {
                let text = serde_json::to_vec(launch)?;
                output_file::put(&folder.join(FILE), text)?;
                return Ok(folder);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let folder = folder.display();
                tell!("fishplate: {folder} is of another run: `fishplate profile --read {folder}` reads it");
            }
            Err(error) => return Err(error).with_context(|| format!("cannot make the folder {}", folder.display())),
        }
    }
    bail!("{MAX_LEFT_BEHIND} runs have left their folders beside {}: remove them", record.display())
}

/// Reads the command that was started; `None` if unknown.
pub fn read(folder: &Path) -> Launch {
    let text = fs::read(folder.join(FILE)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
