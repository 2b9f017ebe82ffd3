//! A benchmark of a plan: a program of `bench/` or `apps/`, or an application of others, with options.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::applications::{self, Application};
use crate::lab::schedule::Schedule;

/// Ranks that a program can be started with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ranks {
    Two,
    Even,
    TwoOrMore,
    OneOrMore,
    PowerOfTwo,
    Square,
}

/// What a program needs beside MPI.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    OneSided,
    Threads,
    /// A place for files.
    Files,
    /// Both.
    FilesAndThreads,
    /// It measures what lies below MPI.
    NoMpi,
    /// It is a whole application, of `apps/`.
    App,
    /// The same, and it reads files.
    AppWithFiles,
    /// It is an application of others.
    Setup,
}

/// What has to be known of a program in order to run it.
struct Traits {
    name: &'static str,
    ranks: Ranks,
    needs: Needs,
    /// Sizes that it measures unless told; none where there is no choice.
    sizes: Option<&'static str>,
}

const fn traits(name: &'static str, ranks: Ranks, needs: Needs, sizes: Option<&'static str>) -> Traits {
    Traits { name, ranks, needs, sizes }
}

/// All programs (docs/benchmarks.md, docs/apps.md).
const PROGRAMS: [Traits; 40] = [
    traits("latency", Ranks::Two, Needs::Nothing, Some("1:4M")),
    traits("bandwidth", Ranks::Two, Needs::Nothing, Some("1:4M")),
    traits("bibandwidth", Ranks::Two, Needs::Nothing, Some("1:4M")),
    traits("message_rate", Ranks::Even, Needs::Nothing, Some("1:4K")),
    traits("nhop", Ranks::TwoOrMore, Needs::Nothing, Some("8")),
    traits("displaced_ring", Ranks::TwoOrMore, Needs::Nothing, Some("1M")),
    traits("exchange", Ranks::TwoOrMore, Needs::Nothing, Some("8:4M")),
    traits("overlap", Ranks::Two, Needs::Nothing, Some("8:4M")),
    traits("latency_mt", Ranks::Two, Needs::Threads, Some("1:4M")),
    traits("bandwidth_mt", Ranks::Two, Needs::Threads, Some("1:4M")),
    traits("stress", Ranks::TwoOrMore, Needs::Nothing, None),
    traits("put_latency", Ranks::Two, Needs::OneSided, Some("1:4M")),
    traits("get_latency", Ranks::Two, Needs::OneSided, Some("1:4M")),
    traits("accumulate_latency", Ranks::Two, Needs::OneSided, Some("4:4M")),
    traits("put_bandwidth", Ranks::Two, Needs::OneSided, Some("1:4M")),
    traits("get_bandwidth", Ranks::Two, Needs::OneSided, Some("1:4M")),
    traits("put_bibandwidth", Ranks::Two, Needs::OneSided, Some("1:4M")),
    traits("get_bibandwidth", Ranks::Two, Needs::OneSided, Some("1:4M")),
    traits("bcast", Ranks::TwoOrMore, Needs::Nothing, Some("1:1M")),
    traits("allreduce", Ranks::TwoOrMore, Needs::Nothing, Some("4:1M")),
    traits("allgather", Ranks::TwoOrMore, Needs::Nothing, Some("1:1M")),
    traits("alltoall", Ranks::TwoOrMore, Needs::Nothing, Some("1:1M")),
    traits("barrier", Ranks::TwoOrMore, Needs::Nothing, None),
    traits("reduce", Ranks::TwoOrMore, Needs::Nothing, Some("4:1M")),
    traits("io_contiguous", Ranks::OneOrMore, Needs::Files, Some("256K")),
    traits("io_tile", Ranks::OneOrMore, Needs::Files, None),
    traits("io_threads", Ranks::OneOrMore, Needs::FilesAndThreads, Some("256K")),
    traits("io_metadata", Ranks::OneOrMore, Needs::Files, None),
    traits("sockets_latency", Ranks::Two, Needs::NoMpi, Some("1:4M")),
    traits("sockets_bandwidth", Ranks::Two, Needs::NoMpi, Some("1:4M")),
    traits("ep", Ranks::OneOrMore, Needs::App, None),
    traits("is", Ranks::OneOrMore, Needs::App, None),
    traits("cg", Ranks::PowerOfTwo, Needs::App, None),
    traits("mg", Ranks::PowerOfTwo, Needs::App, None),
    traits("ft", Ranks::PowerOfTwo, Needs::App, None),
    traits("lu", Ranks::PowerOfTwo, Needs::App, None),
    traits("bt", Ranks::Square, Needs::App, None),
    traits("sp", Ranks::Square, Needs::App, None),
    traits("visualization", Ranks::OneOrMore, Needs::App, None),
    traits("sequence_search", Ranks::OneOrMore, Needs::AppWithFiles, None),
];

/// What there is to know here of an application of others.
const APPLICATION: Traits = traits("application", Ranks::OneOrMore, Needs::Setup, None);

/// Name of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Program(String);

/// Ranks of a benchmark unless the plan says otherwise.
const DEFAULT_RANKS: u32 = 2;
/// The same of a program without a plan that needs a square number.
const DEFAULT_SQUARE_RANKS: u32 = 4;

/// What charts of `io_threads` have along the horizontal axis.
const THREADS: &str = "threads";

/// A benchmark as a plan describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// What it is called; unless given, as its program.
    #[serde(default)]
    pub name: String,
    /// Its program.
    pub program: Program,
    /// Options of the program.
    #[serde(default)]
    pub options: Options,
    /// Number of ranks.
    #[serde(default = "default_ranks")]
    pub ranks: u32,
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
    /// Seconds that it may take, when not as long as others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<f64>,
    /// Stacks that it is not measured with, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exclude: BTreeMap<String, String>,
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

fn default_ranks() -> u32 {
    DEFAULT_RANKS
}

impl Program {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether it uses one-sided communication.
    pub fn is_one_sided(&self) -> bool {
        self.traits().needs == Needs::OneSided
    }

    /// Whether it needs MPI_THREAD_MULTIPLE.
    pub fn is_threaded(&self) -> bool {
        matches!(self.traits().needs, Needs::Threads | Needs::FilesAndThreads)
    }

    /// Whether it measures files.
    pub fn is_of_files(&self) -> bool {
        matches!(self.traits().needs, Needs::Files | Needs::FilesAndThreads)
    }

    /// Whether it reads files from a storage, if there is one: it measures files, or has a database.
    pub fn uses_storage(&self) -> bool {
        self.is_of_files() || self.traits().needs == Needs::AppWithFiles
    }

    /// Whether it measures what lies below MPI.
    pub fn is_below_mpi(&self) -> bool {
        self.traits().needs == Needs::NoMpi
    }

    /// Whether it is an application of `apps/`: it has a class of problems, and ends when that is solved.
    pub fn is_app(&self) -> bool {
        matches!(self.traits().needs, Needs::App | Needs::AppWithFiles)
    }

    /// The application of others that it is, if it is one.
    pub fn application(&self) -> Option<&'static Application> {
        applications::all().iter().find(|application| application.name == self.0)
    }

    /// The command of `sockets` that measures the same below MPI.
    pub fn sockets_command(&self) -> Option<&str> {
        let name = self.0.strip_prefix("sockets_").unwrap_or(&self.0);
        Some(name).filter(|name| ["latency", "bandwidth"].contains(name))
    }

    /// Sizes that it measures unless told; none where there is no choice.
    pub fn default_sizes(&self) -> Option<&'static str> {
        self.traits().sizes
    }

    fn traits(&self) -> &'static Traits {
        // Every value was made by `try_from`, which knows these and applications.
        PROGRAMS.iter().find(|program| program.name == self.0).unwrap_or(&APPLICATION)
    }
}

impl TryFrom<String> for Program {
    type Error = String;

    fn try_from(name: String) -> Result<Program, String> {
        let applications = applications::all().iter().map(|application| application.name.as_str());
        let known: Vec<&str> = PROGRAMS.iter().map(|program| program.name).chain(applications).collect();
        if known.contains(&name.as_str()) {
            return Ok(Program(name));
        }
        Err(format!("no benchmark program \"{name}\"; there are {}", known.join(", ")))
    }
}

impl From<Program> for String {
    fn from(program: Program) -> String {
        program.0
    }
}

impl Benchmark {
    /// A program with options, called like the program.
    pub fn of(program: Program, options: Vec<String>) -> Benchmark {
        let ranks = match program.traits() {
            Traits { ranks: Ranks::Square, .. } => DEFAULT_SQUARE_RANKS,
            // Its threads are what it is about.
            Traits { needs: Needs::FilesAndThreads, .. } => 1,
            _ => DEFAULT_RANKS,
        };
        let axis = (program.traits().needs == Needs::FilesAndThreads).then(|| THREADS.to_string());
        Benchmark {
            name: program.0.clone(),
            program,
            options: Options(options),
            ranks,
            title: None,
            axis,
            axis_unit: None,
            links: Vec::new(),
            stacks: Vec::new(),
            schedule: None,
            timeout_s: None,
            exclude: BTreeMap::new(),
        }
    }

    /// Name for people, where there is another than its own.
    pub fn title(&self) -> Option<String> {
        let chosen = || Some(self.program.application()?.choose(&self.options.0).ok()?.title());
        self.title.clone().or_else(chosen)
    }

    /// Says what its program cannot do.
    pub fn check(&self) -> Result<()> {
        let (fits, allowed) = match self.program.traits().ranks {
            Ranks::Two => (self.ranks == 2, "exactly 2 ranks"),
            Ranks::Even => (self.ranks >= 2 && self.ranks.is_multiple_of(2), "an even number of ranks"),
            Ranks::TwoOrMore => (self.ranks >= 2, "at least 2 ranks"),
            Ranks::OneOrMore => (self.ranks >= 1, "at least 1 rank"),
            Ranks::PowerOfTwo => (self.ranks.is_power_of_two(), "a power of two of ranks"),
            Ranks::Square => (self.ranks > 0 && self.ranks.isqrt().pow(2) == self.ranks, "a square number of ranks"),
        };
        ensure!(fits, "benchmark {}: {} needs {allowed}, not {}", self.name, self.program.0, self.ranks);
        if let Some(application) = self.program.application() {
            application.choose(&self.options.0).with_context(|| format!("benchmark {}", self.name))?;
            ensure!(
                self.schedule.is_none(),
                "benchmark {}: a schedule waits for the first line of results, and {} has none",
                self.name,
                self.program.0
            );
        }
        let given = |option: &str| self.options.0.iter().any(|word| word == option);
        for (ours, instead) in [("--json", "it is always given"), ("--check", "`checked = true` in the plan does that")]
        {
            ensure!(!given(ours), "benchmark {}: leave {ours} out of its options: {instead}", self.name);
        }
        Ok(())
    }

    /// Whether it tells what arrived in each interval of a run: such runs have a duration and no more than one size.
    fn is_over_time(&self) -> bool {
        self.options.value("--interval").is_some()
    }

    /// Whether `--check` is an option: `stress` always checks, and `barrier` and `io_metadata` carry nothing.
    fn can_check(&self) -> bool {
        let has_sizes = self.program.default_sizes().is_some() || self.program.0 == "io_tile";
        has_sizes && !self.is_over_time()
    }

    /// Whether its options say where its files go.
    pub fn has_path(&self) -> bool {
        self.options.value("--path").is_some()
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
        if self.program.0 != "stress" && !has_end && !self.is_over_time() {
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

impl Options {
    /// The value of an option.
    pub fn value(&self, name: &str) -> Option<&str> {
        let place = self.place(name)?;
        self.0[place].split_once('=').map(|(_, value)| value).or_else(|| self.0.get(place + 1).map(String::as_str))
    }

    fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.0.extend([name.to_string(), value.to_string()]);
    }

    fn remove(&mut self, name: &str) {
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
    }

    #[test]
    fn what_cannot_be_checked_is_not_asked_to() {
        assert_eq!(benchmark("latency", "").arguments(true), ["--json", "--check"]);
        assert_eq!(benchmark("barrier", "").arguments(true), ["--json"]);
        assert_eq!(benchmark("stress", "").arguments(true), ["--json"]);
        assert_eq!(benchmark("io_tile", "").arguments(true), ["--json", "--check"]);
        assert_eq!(benchmark("io_metadata", "").arguments(true), ["--json"]);
    }

    #[test]
    fn ranks_fit_the_program() {
        let error = |program: &str, ranks| {
            let benchmark = Benchmark { ranks, ..benchmark(program, "") };
            benchmark.check().unwrap_err().to_string()
        };
        assert!(error("latency", 4).contains("benchmark latency: latency needs exactly 2 ranks, not 4"));
        assert!(error("message_rate", 3).contains("an even number"));
        assert!(error("bcast", 1).contains("at least 2"));
        assert!(error("cg", 3).contains("a power of two"));
        assert!(error("bt", 8).contains("a square number"));
        assert!(Benchmark { ranks: 9, ..benchmark("sp", "") }.check().is_ok());
        assert!(Benchmark { ranks: 1, ..benchmark("ep", "") }.check().is_ok());
        let error = |options: &str| format!("{:#}", benchmark("lammps", options).check().unwrap_err());
        assert!(error("--class A").starts_with("benchmark lammps: lammps has no option --class"));
        assert!(error("--input=rodo").contains("did you mean rhodo?"));
        let changing: Schedule = "1s r1=10".to_string().try_into().unwrap();
        let scheduled = Benchmark { schedule: Some(changing), ..benchmark("lammps", "") };
        assert!(scheduled.check().unwrap_err().to_string().contains("lammps has none"));
        let mut lammps = benchmark("lammps", "--steps 10");
        lammps.set_seconds(1.0);
        lammps.set_sizes("8");
        assert_eq!(lammps.options.0, ["--steps", "10"]);
        assert!(benchmark("bcast", "--json").check().unwrap_err().to_string().contains("--json"));
    }
}
