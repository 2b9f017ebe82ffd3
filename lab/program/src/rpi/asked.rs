//! The request, as stored in a record.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::record::Record;

/// Under which name the manifest's options have it.
pub const OPTION: &str = "rpi";

/// The programs and networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Program and arguments.
    pub command: Vec<String>,
    pub ranks: u32,
    /// Networks, in the order in which they were named.
    pub networks: Vec<AskedNetwork>,
    /// The network that the others are compared with.
    pub base: String,
    /// The network whose gain is 100 %.
    pub best: String,
    /// Whether a machine had more ranks than processors.
    pub oversubscribed: bool,
}

/// A network of the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskedNetwork {
    pub name: String,
    /// Description.
    pub what: String,
    /// The stack that ran on it.
    pub stack: String,
}

impl Asked {
    /// The program's name without its folder.
    pub fn program(&self) -> String {
        let first = self.command.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first).to_string()
    }

    /// The request of a record.
    ///
    /// # Errors
    /// When it was not written by `fishplate rpi`.
    pub fn of(record: &Record) -> Result<Asked> {
        let file = record.file.display();
        let asked = record.manifest.options.get(OPTION);
        let asked = asked.with_context(|| format!("{file} was not written by `fishplate rpi`"))?;
        serde_json::from_value(asked.clone()).with_context(|| format!("{file}: `{OPTION}` in it is malformed"))
    }
}
