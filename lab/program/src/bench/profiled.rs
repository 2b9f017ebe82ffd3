//! A run of a program with the library in front of MPI that records what its ranks do.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::conditions;
use crate::mpi::{interposer, provider_library};
use crate::profile::times::{NAMES, Times};
use crate::profile::{self, Profile, launch};
use crate::record::{Cell, Sample};

/// A run that is profiled.
pub struct Profiled {
    folder: PathBuf,
}

impl Profiled {
    /// Before it starts; ranks will write into a folder in `scratch`.
    ///
    /// # Errors
    /// When that cannot be made.
    pub fn prepare(scratch: &Path, command: &[String]) -> Result<Profiled> {
        let launch = launch::Launch { command: command.to_vec(), started: conditions::now() };
        Ok(Profiled { folder: launch::prepare(&scratch.join("program"), &launch)? })
    }

    /// Variables for the program.
    ///
    /// # Errors
    /// When the library is not there.
    pub fn variables(&self) -> Result<Vec<(String, String)>> {
        let folder = self.folder.to_string_lossy().into_owned();
        let provider = provider_library::provider_folder()?;
        let folder = (fishplate_profile::VARIABLE.to_string(), folder);
        Ok(std::iter::once(folder).chain(interposer::profiling(&provider)?).collect())
    }

    /// After its end: what was recorded, or why that cannot be read.
    ///
    /// # Errors
    /// When the ranks' folder cannot be removed.
    pub fn end(self) -> Result<Result<Profile>> {
        let profile = profile::of_folder(&self.folder, None);
        fs::remove_dir_all(&self.folder).with_context(|| format!("cannot remove {}", self.folder.display()))?;
        Ok(profile)
    }
}

/// The times of one run in `cell` as samples, in the order of [`NAMES`].
pub fn samples(times: &Times, cell: &Cell, ranks: u32, options: &BTreeMap<String, Value>) -> Vec<Sample> {
    let sample = |(metric, value): (&str, f64)| Sample {
        stack: cell.stack.clone(),
        link: cell.link.clone(),
        benchmark: cell.benchmark.clone(),
        round: cell.round,
        ranks,
        metric: metric.into(),
        unit: "s".into(),
        value,
        options: options.clone(),
        ..Sample::default()
    };
    NAMES.into_iter().zip(times.values()).map(sample).collect()
}
