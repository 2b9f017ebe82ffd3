//! The folder that ranks write into while a program runs, as it was when it ended.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use fishplate_profile::read::{self, Current, Rank, Series, State};
use fishplate_profile::series_file::STEP_NS;

use super::launch::{self, Launch};

/// All that was recorded.
#[derive(Default)]
pub struct Raw {
    /// The command that was started.
    pub launch: Launch,
    /// Processes that called MPI, in the order in which they began.
    pub ranks: Vec<RawRank>,
    pub hosts: Vec<Series>,
    /// Files that could not be read, and why.
    pub unreadable: Vec<String>,
}

/// How a command ended.
pub struct Ended {
    /// Exit status as reported by a shell.
    pub code: u8,
    /// When: time of day.
    pub realtime_ns: u64,
}

/// The files of a process.
pub struct RawRank {
    pub counts: Rank,
    pub series: Option<Series>,
    /// When it was last seen, by its own clock.
    pub ended_ns: u64,
}

/// Reads the folder.
///
/// # Errors
/// If it cannot be listed. Errors in single files are noted.
pub fn read(folder: &Path, ended: Option<&Ended>) -> Result<Raw> {
    let problem = || format!("cannot read the folder {}", folder.display());
    let entries = fs::read_dir(folder).with_context(problem)?.collect::<Result<Vec<_>, _>>().with_context(problem)?;
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    files.sort();
    let mut raw = Raw { launch: launch::read(folder), ..Raw::default() };
    for file in files {
        match file.extension().and_then(OsStr::to_str) {
            Some("rank") => {
                let series = file.with_extension("time");
                let series = series.exists().then(|| raw.read(&series, read::series)).flatten();
                if let Some(counts) = raw.read(&file, read::rank) {
                    let ended_ns = counts.last_ns;
                    raw.ranks.push(RawRank { counts, series, ended_ns });
                }
            }
            Some("rails") => {
                let series = raw.read(&file, read::series);
                raw.hosts.extend(series);
            }
            _ => {}
        }
    }
    raw.ranks.sort_by_key(|rank| rank.counts.started_realtime_ns);
    // Hosts are looked at while a rank of theirs is there.
    let ended_realtime_ns = ended.map(|ended| ended.realtime_ns).or(raw.hosts.iter().map(end_of).max());
    raw.ranks.iter_mut().for_each(|rank| rank.finish(ended_realtime_ns.unwrap_or(0)));
    Ok(raw)
}

impl Raw {
    fn read<T>(&mut self, file: &Path, read: impl Fn(&[u8]) -> Result<T, read::Error>) -> Option<T> {
        let read = fs::read(file).map_err(|error| error.to_string()).and_then(|b| read(&b).map_err(|e| e.to_string()));
        let name = file.file_name().unwrap_or_default().display();
        read.map_err(|error| self.unreadable.push(format!("{name}: {error}"))).ok()
    }
}

/// Time of day at the end of a series.
fn end_of(series: &Series) -> u64 {
    let steps = series.columns.first().map_or(0, Vec::len) as u64;
    series.first_step.saturating_add(steps).saturating_mul(STEP_NS)
}

impl RawRank {
    /// Sees to a rank that did not call MPI_Finalize: it has lasted until `ended_realtime_ns`, or the end of what it has
    /// recorded over time; and the call that it was in then is to be counted.
    fn finish(&mut self, ended_realtime_ns: u64) {
        if self.counts.state != State::Running {
            return;
        }
        let ended_realtime_ns = self.series.as_ref().map_or(0, end_of).max(ended_realtime_ns);
        let counts = &mut self.counts;
        let ran_ns = ended_realtime_ns.saturating_sub(counts.started_realtime_ns);
        self.ended_ns = counts.started_ns.saturating_add(ran_ns).max(counts.last_ns);
        self.finish_call();
    }

    /// Adds the call that it was in when it ended to the counts: they have only calls that returned.
    fn finish_call(&mut self) {
        let ended_ns = self.ended_ns;
        let counts = &mut self.counts;
        let Some(Current { call, since_ns, caller }) = counts.current else { return };
        let time_ns = ended_ns.saturating_sub(since_ns.max(counts.started_ns));
        counts.in_mpi_ns = counts.in_mpi_ns.saturating_add(time_ns);
        let own = read::Counts { count: 1, time_ns, longest_ns: time_ns, ..read::Counts::default() };
        counts.calls[call].add(&own);
        match counts.sites.iter_mut().find(|site| site.call == call && site.caller == caller) {
            Some(site) => site.counts.add(&own),
            None => counts.sites.push(read::Site { call, caller, counts: own }),
        }
    }
}
