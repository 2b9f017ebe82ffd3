//! Traces in the formats of others: programs in GOAL; time-independent traces of SimGrid's, a file for each rank, and one with
//! their names.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use fishplate_sim::replay::{Computation, export};
use fishplate_sim::testbed::Machine;
use fishplate_trace::ti::{self, write};
use fishplate_trace::{Trace, goal};

use super::facts;
use crate::simulation::{self, emulated};
use crate::system::{output_file, whole_file};

/// The files of a trace, with their names; nothing where `text`, that of `path`, is something else.
///
/// # Errors
/// When a file cannot be read that `text` names.
pub fn time_independent_files(path: &Path, text: &str) -> Result<Option<Vec<(String, String)>>> {
    if ti::is_trace(text) {
        return Ok(Some(vec![(path.display().to_string(), text.to_string())]));
    }
    let names = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    // A path as SimGrid reads it, or a file beside the one that names it.
    let find = |name: &str| {
        let beside = path.with_file_name(name);
        if beside.exists() { beside } else { name.into() }
    };
    let is_list = names().next().is_some_and(|name| find(name).is_file());
    if !is_list {
        return Ok(None);
    }
    let read = |name: &str| {
        let text = fs::read_to_string(find(name)).with_context(|| format!("{}: {name}", path.display()))?;
        Ok((name.to_string(), text))
    };
    names().map(read).collect::<Result<Vec<_>>>().map(Some)
}

/// Writes `output`, and beside it a file for each rank.
///
/// # Errors
/// When these traces cannot express a call, or a file cannot be written.
pub fn time_independent(trace: &Trace, output: &Path) -> Result<()> {
    let stem = output.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let with_idle = !facts::is_oversubscribed(trace);
    let mut names = String::new();
    let mut files = Vec::new();
    for (rank, text) in trace.ranks.iter().zip(write::ranks(trace, with_idle)?) {
        let name = format!("{stem}.{}.txt", rank.header.rank);
        names += &format!("{name}\n");
        files.push((output.with_file_name(name), text));
    }
    files.push((output.to_path_buf(), names));
    files.into_iter().try_for_each(|(file, text)| output_file::put(&file, text))
}

/// Of the simulation that expands collective operations.
const SEED: u64 = 1;

/// Writes it as a program in GOAL.
///
/// # Errors
/// When GOAL cannot express a call, or the file cannot be written.
pub fn goal(trace: Trace, output: &Path) -> Result<()> {
    let testbed = simulation::changed(emulated::TESTBED, &[])?;
    let ranks = trace.ranks.len() as u32;
    let machine = Machine::new(testbed, (ranks, facts::ranks_per_host(&trace)), SEED);
    let with_idle = !facts::is_oversubscribed(&trace);
    let computation = Computation { with_idle, scale: 1.0, processors: None };
    let program = export::goal(&machine, &Arc::new(trace), computation).map_err(|error| anyhow!("{error}"))?;
    whole_file::write(output, |mut to| Ok(goal::write(&program, &mut to)?))
}
