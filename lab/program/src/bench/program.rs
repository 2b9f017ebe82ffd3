//! A program that can be measured: of `bench/` or `apps/`, or an application of others.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::applications::{self, Application};

/// Name of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Program(String);

/// Ranks that a program can be started with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ranks {
    Two,
    Even,
    TwoOrMore,
    OneOrMore,
    PowerOfTwo,
    Square,
}

impl Ranks {
    /// Whether this number is valid.
    pub fn allow(self, ranks: u32) -> bool {
        match self {
            Ranks::Two => ranks == 2,
            Ranks::Even => ranks >= 2 && ranks.is_multiple_of(2),
            Ranks::TwoOrMore => ranks >= 2,
            Ranks::OneOrMore => ranks >= 1,
            Ranks::PowerOfTwo => ranks.is_power_of_two(),
            Ranks::Square => ranks > 0 && ranks.isqrt().pow(2) == ranks,
        }
    }
}

impl fmt::Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ranks::Two => "exactly 2 ranks",
            Ranks::Even => "an even number of ranks",
            Ranks::TwoOrMore => "at least 2 ranks",
            Ranks::OneOrMore => "at least 1 rank",
            Ranks::PowerOfTwo => "a power of two of ranks",
            Ranks::Square => "a square number of ranks",
        })
    }
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

/// All programs (docs/reference/benchmarks.md, docs/reference/apps.md).
const PROGRAMS: [Traits; 43] = [
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
    traits("fetch_and_op", Ranks::TwoOrMore, Needs::OneSided, None),
    traits("compare_and_swap", Ranks::TwoOrMore, Needs::OneSided, None),
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
    traits("startup", Ranks::TwoOrMore, Needs::Nothing, None),
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

impl Program {
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Numbers of ranks that it can be started with.
    pub fn ranks(&self) -> Ranks {
        self.traits().ranks
    }

    /// Whether it uses one-sided communication.
    pub fn is_one_sided(&self) -> bool {
        self.traits().needs == Needs::OneSided
    }

    /// Whether it needs MPI_THREAD_MULTIPLE.
    pub fn is_threaded(&self) -> bool {
        matches!(self.traits().needs, Needs::Threads | Needs::FilesAndThreads)
    }

    /// Whether it measures one number of threads after the other.
    pub fn is_by_threads(&self) -> bool {
        self.traits().needs == Needs::FilesAndThreads
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

    /// Whether it prints one value for each size: not one for each peer, distance or operation.
    pub fn has_one_value_a_size(&self) -> bool {
        let several = self.is_of_files() || ["nhop", "displaced_ring"].contains(&self.name());
        self.default_sizes().is_some() && !several
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
