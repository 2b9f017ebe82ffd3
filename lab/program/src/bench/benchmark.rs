//! A benchmark of a plan: a program of `bench/` or `apps/`, or an application of others, with options.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::claim::Claim;
use super::failover::{self, Limits};
use super::program::{Program, Ranks};
use crate::lab::schedule::Schedule;

/// Ranks of a benchmark unless the plan says otherwise.
const DEFAULT_RANKS: u32 = 2;
/// The same of a program without a plan that needs a square number.
const DEFAULT_SQUARE_RANKS: u32 = 4;

/// What charts have along the horizontal axis where one number of threads is measured after the other.
const THREADS: &str = "threads";

/// A benchmark as a plan describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// What it is called; unless given, as its program.
    #[serde(default)]
    pub name: String,
    pub program: Program,
    /// Options of the program.
    #[serde(default)]
    pub options: Options,
    #[serde(default = "default_ranks")]
    pub ranks: u32,
    /// How many of them each host has; empty: as many as others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks_by_host: Vec<u32>,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What its charts have along the horizontal axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<String>,
    /// Unit of an axis that is an option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis_unit: Option<String>,
    /// Links that it is measured on; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// Stacks that it is measured with; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<String>,
    /// Changes of rails while it runs, counted from its first line of results. Afterwards rails are as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// Its schedule counts from its start, and begins again with the last change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub schedule_repeats: bool,
    /// Each size is measured after several histories of other sizes, in runs of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub histories: bool,
    /// Seconds that it may take, when not as long as others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
    /// Stacks that it is not measured with, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exclude: BTreeMap<String, String>,
    /// How long the rail may be missed that its schedule cuts first, and heals last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<Limits>,
    /// The claim that its values are held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<Claim>,
}

fn default_ranks() -> u32 {
    DEFAULT_RANKS
}

impl Benchmark {
    /// A program with options, called like the program.
    pub fn of(program: Program, options: Vec<String>) -> Benchmark {
        let by_threads = program.is_by_threads();
        let ranks = match program.ranks() {
            Ranks::Square => DEFAULT_SQUARE_RANKS,
            // Its threads are what it is about.
            _ if by_threads => 1,
            _ => DEFAULT_RANKS,
        };
        let axis = by_threads.then(|| THREADS.to_string());
        Benchmark {
            name: program.name().to_string(),
            program,
            options: Options(options),
            ranks,
            ranks_by_host: Vec::new(),
            title: None,
            axis,
            axis_unit: None,
            links: Vec::new(),
            stacks: Vec::new(),
            schedule: None,
            schedule_repeats: false,
            histories: false,
            timeout_s: None,
            exclude: BTreeMap::new(),
            failover: None,
            holds: None,
        }
    }

    /// Name for people, where there is another than its own.
    pub fn title(&self) -> Option<String> {
        let chosen = || Some(self.program.application()?.choose(&self.options.0).ok()?.title());
        self.title.clone().or_else(chosen)
    }

    /// Says what its program cannot do.
    pub fn check(&self) -> Result<()> {
        let (program, needed) = (self.program.name(), self.program.ranks());
        ensure!(needed.allow(self.ranks), "benchmark {}: {program} needs {needed}, not {}", self.name, self.ranks);
        let (by_host, sum) =
            (&self.ranks_by_host, self.ranks_by_host.iter().map(|ranks| u64::from(*ranks)).sum::<u64>());
        ensure!(
            by_host.is_empty() || (sum == u64::from(self.ranks) && !by_host.contains(&0)),
            "benchmark {}: `ranks_by_host` are numbers above 0 whose sum is `ranks`: {sum} there, {} here",
            self.name,
            self.ranks
        );
        if let Some(application) = self.program.application() {
            application.choose(&self.options.0).with_context(|| format!("benchmark {}", self.name))?;
            ensure!(
                self.schedule.is_none() || self.schedule_repeats,
                "benchmark {}: a schedule waits for the first line of results, and {program} has none",
                self.name
            );
        }
        let length = self.schedule.as_ref().map(Schedule::length);
        ensure!(
            !self.schedule_repeats || length.is_some_and(|length| !length.is_zero()),
            "benchmark {}: `schedule_repeats` needs a `schedule` whose last change is after 0s, when it begins again",
            self.name
        );
        let given = |option: &str| self.options.0.iter().any(|word| word == option);
        for (ours, instead) in [("--json", "it is always given"), ("--check", "`checked = true` in the plan does that")]
        {
            ensure!(!given(ours), "benchmark {}: leave {ours} out of its options: {instead}", self.name);
        }
        if self.failover.is_some() {
            self.check_failover()?;
        }
        let claim = self.holds.as_ref();
        claim.map_or(Ok(()), |claim| claim.check(&self.name, self.program.name(), &self.stacks, self.histories))
    }

    /// Says what keeps it from telling how long a rail is missed.
    fn check_failover(&self) -> Result<()> {
        let name = &self.name;
        ensure!(
            self.program.name() == "bandwidth" && self.is_over_time(),
            "benchmark {name}: `failover` is for bandwidth with --interval, such as --interval 0.01 --duration 5.5"
        );
        let first = self.schedule.as_ref().and_then(|schedule| schedule.entries.first());
        let late = first.is_some_and(|entry| entry.at.as_secs_f64() >= failover::BEFORE_S);
        ensure!(
            late && !self.schedule_repeats,
            "benchmark {name}: `failover` needs a `schedule` that cuts a rail after {} s or later, and does not repeat",
            failover::BEFORE_S
        );
        ensure!(self.holds.is_none(), "benchmark {name}: `failover` has limits of its own: leave `holds` out");
        Ok(())
    }

    /// Whether it claims anything.
    pub fn has_claim(&self) -> bool {
        self.holds.is_some() || self.failover.is_some()
    }

    /// Whether it is measured on a link.
    pub fn is_on(&self, link: &str) -> bool {
        self.links.is_empty() || self.links.iter().any(|name| name == link)
    }

    /// Whether it tells what arrived in each interval of a run: such runs have a duration and no more than one size.
    pub fn is_over_time(&self) -> bool {
        self.options.value("--interval").is_some()
    }

    /// Whether `--check` is an option: `stress` always checks, and `barrier` and `io_metadata` carry nothing.
    fn can_check(&self) -> bool {
        let has_sizes = self.program.default_sizes().is_some() || self.program.name() == "io_tile";
        has_sizes && !self.is_over_time()
    }

    /// Whether it has files, and its options do not say where these go.
    pub fn needs_storage(&self) -> bool {
        self.program.is_of_files() && self.options.value("--path").is_none()
    }

    /// Measures these sizes, where there is a choice.
    pub fn set_sizes(&mut self, sizes: &str) {
        if self.program.default_sizes().is_some() && !self.is_over_time() {
            self.options.set("--sizes", sizes);
        }
    }

    /// Measures each size for so long, where there is a choice.
    pub fn set_seconds(&mut self, seconds: f64) {
        let has_end = self.program.is_app() || self.program.application().is_some();
        if self.program.name() != "stress" && !has_end && !self.is_over_time() {
            self.options.remove("--iterations");
            self.options.set("--seconds", &seconds.to_string());
        }
    }

    /// Arguments of its program.
    pub fn arguments(&self, checked: bool) -> Vec<String> {
        let mut words = self.options.0.clone();
        words.push("--json".into());
        if checked && self.can_check() {
            words.push("--check".into());
        }
        words
    }
}

/// Words of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OneOrMany", into = "Vec<String>")]
pub struct Options(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged, expecting = "`options` is a text of words, or an array of words")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Options {
    pub fn value(&self, name: &str) -> Option<&str> {
        let place = self.place(name)?;
        self.0[place].split_once('=').map(|(_, value)| value).or_else(|| self.0.get(place + 1).map(String::as_str))
    }

    /// Gives an option another value.
    pub fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.0.extend([name.to_string(), value.to_string()]);
    }

    /// Takes an option out, with its value.
    pub fn remove(&mut self, name: &str) {
        while let Some(place) = self.place(name) {
            let words = if self.0[place] == name { 2 } else { 1 };
            self.0.drain(place..(place + words).min(self.0.len()));
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        let is = |word: &String| word == name || word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
        self.0.iter().position(is)
    }
}

impl From<OneOrMany> for Options {
    fn from(given: OneOrMany) -> Options {
        match given {
            OneOrMany::One(text) => Options(text.split_whitespace().map(String::from).collect()),
            OneOrMany::Many(words) => Options(words),
        }
    }
}

impl From<Options> for Vec<String> {
    fn from(options: Options) -> Vec<String> {
        options.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn benchmark(program: &str, options: &str) -> Benchmark {
        let options = options.split_whitespace().map(String::from).collect();
        Benchmark::of(Program::try_from(program.to_string()).unwrap(), options)
    }

    #[test]
    fn sizes_and_seconds_take_the_place_of_earlier_ones_where_there_is_a_choice() {
        let mut latency = benchmark("latency", "--sizes 1,2 --window=3 --iterations=9");
        latency.set_sizes("8");
        latency.set_seconds(0.5);
        assert_eq!(latency.options.0.join(" "), "--window=3 --sizes 8 --seconds 0.5");
        assert_eq!(latency.options.value("--window"), Some("3"));
        let mut stress = benchmark("stress", "");
        stress.set_sizes("8");
        stress.set_seconds(0.5);
        assert!(stress.options.0.is_empty());
        let mut app = benchmark("is", "--class W");
        app.set_sizes("8");
        app.set_seconds(0.5);
        assert_eq!(app.arguments(true).join(" "), "--class W --json");
        let mut over_time = benchmark("bandwidth", "--interval 1 --sizes 4");
        over_time.set_sizes("8");
        over_time.set_seconds(0.5);
        assert_eq!(over_time.arguments(true).join(" "), "--interval 1 --sizes 4 --json");
        let mut lammps = benchmark("lammps", "--steps 10");
        lammps.set_seconds(1.0);
        lammps.set_sizes("8");
        assert_eq!(lammps.options.0, ["--steps", "10"]);
    }

    #[test]
    fn what_cannot_be_checked_is_not_asked_to() {
        assert_eq!(benchmark("latency", "").arguments(true), ["--json", "--check"]);
        assert_eq!(benchmark("barrier", "").arguments(true), ["--json"]);
        assert_eq!(benchmark("stress", "").arguments(true), ["--json"]);
        assert_eq!(benchmark("io_tile", "").arguments(true), ["--json", "--check"]);
        assert_eq!(benchmark("io_metadata", "").arguments(true), ["--json"]);
    }
}
