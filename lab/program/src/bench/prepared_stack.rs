//! A stack of the plan: whether it can be used, which version it is, how long it takes to start.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::benchmark::Benchmark;
use super::conditions;
use super::execute::Executor;
use super::plan::Plan;
use super::program::Program;
use super::programs::{Folders, Programs};
use super::sample::BenchLine;
use super::site::Site;
use crate::mpi::stacks::Stack;

/// How often a stack may fail to start before it is given up: the first time something else may have gone wrong.
const ATTEMPTS: u32 = 2;
/// Makes MPICH and Intel MPI tell which libfabric they found.
const VERBOSE: [(&str, &str); 2] = [("MPIR_CVAR_DEBUG_SUMMARY", "1"), ("I_MPI_DEBUG", "1")];
/// What a benchmark program says when nothing but the number of ranks is wrong.
const ONE_RANK_ONLY: &str = "started with 1 rank";
/// What it says of an option that it does not take.
const REFUSED_OPTION: &str = "; allowed: ";

/// A stack that takes turns.
pub struct PreparedStack {
    pub stack: Stack,
    pub programs: Folders,
    /// What its library says of itself; empty: unknown.
    pub version: String,
    /// How long a program takes in which next to nothing is measured.
    pub startup: Duration,
    /// Why it cannot be used.
    pub failure: Option<String>,
}

impl PreparedStack {
    /// Compiles its programs.
    pub fn prepare(stack: Stack, programs: &Programs) -> PreparedStack {
        let ready = stack.check_launcher().and_then(|()| stack.check_compiler());
        let ready = ready.and_then(|()| programs.compile(&stack));
        let failure = ready.err().map(|problem| format!("{problem:#}").trim().replace('\n', " | "));
        let programs = programs.folders(&stack);
        PreparedStack { stack, programs, version: String::new(), startup: Duration::ZERO, failure }
    }

    /// Starts it once: its version, and how long that takes.
    pub fn probe(&mut self, site: &Site, executor: &Executor, plan: &Plan) -> Result<()> {
        if self.failure.is_some() {
            return Ok(());
        }
        if !self.stack.mpi {
            let machine = conditions::machine();
            self.version = format!("{}, {}", machine.kernel, conditions::congestion_control());
            return Ok(());
        }
        for attempt in 1..=ATTEMPTS {
            match self.start_once(site, executor, plan)? {
                Ok(()) => return Ok(()),
                Err(failure) if attempt == ATTEMPTS => self.failure = Some(format!("it does not start: {failure}")),
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn start_once(&mut self, site: &Site, executor: &Executor, plan: &Plan) -> Result<Result<(), String>> {
        let words = "--sizes 1 --iterations 1 --warmup 0".split(' ').map(String::from).collect();
        let Ok(program) = Program::try_from("latency".to_string()) else { bail!("there is no program latency") };
        let benchmark = Benchmark::of(program, words);
        let invocation = site.invocation(&self.stack, &self.programs, &benchmark, false, None)?;
        let mut command = site.command(&invocation)?;
        command.envs(VERBOSE);
        let mut output = StartupOutput::default();
        let start = Instant::now();
        let mut read = |line: &str| {
            output.read(line);
            Ok(())
        };
        let ended = executor.run("latency", command, Duration::from_secs_f64(plan.timeout_s), &mut read)?;
        self.startup = start.elapsed();
        self.version = output.version();
        Ok(ended)
    }

    /// Has the programs look at the options of the plan: each is started with too few ranks, which it only says if
    /// nothing else is wrong.
    pub fn check_options(&self, site: &Site, executor: &Executor, plan: &Plan) -> Result<()> {
        let mut checked: Vec<(&Program, &Vec<String>)> = Vec::new();
        // Options of others' applications are not theirs, and were looked at already.
        let own =
            |benchmark: &&Benchmark| !benchmark.program.is_below_mpi() && benchmark.program.application().is_none();
        // Those of files need a place, which other links may have.
        let has_place = |benchmark: &&Benchmark| !benchmark.needs_storage() || site.has_storage();
        for benchmark in plan.benchmarks.iter().filter(own).filter(has_place) {
            let this = (&benchmark.program, &benchmark.options.0);
            if checked.contains(&this) {
                continue;
            }
            checked.push(this);
            let mut alone = Benchmark { ranks: 1, ranks_by_host: Vec::new(), ..benchmark.clone() };
            if benchmark.program.is_app() {
                // One rank is enough for an application, which would begin.
                alone.options.0.push("--help".into());
            }
            let invocation = site.invocation(&self.stack, &self.programs, &alone, plan.checked, None)?;
            let limit = Duration::from_secs_f64(plan.timeout_s);
            let name = benchmark.program.name();
            let ended = executor.run(name, site.command(&invocation)?, limit, &mut |_: &str| Ok(()))?;
            if let Err(message) = ended
                && message.contains(REFUSED_OPTION)
                && !message.contains(ONE_RANK_ONLY)
            {
                let message = message.split(" | ").find(|line| line.contains(REFUSED_OPTION)).unwrap_or(&message);
                bail!(
                    "benchmark {}: {}",
                    benchmark.name,
                    message.trim_start_matches(|c| c != ':').trim_start_matches(": ")
                );
            }
        }
        Ok(())
    }
}

/// What a program printed of its version.
#[derive(Default)]
struct StartupOutput {
    library: Option<String>,
    fabric: Option<String>,
}

impl StartupOutput {
    fn read(&mut self, line: &str) {
        if let Some(library) = BenchLine::parse(line).and_then(|line| line.mpi_library) {
            self.library = library.split(", package").next().map(|name| name.trim().to_string());
        } else if let Some((_, version)) = line.split_once("FI_VERSION:").and_then(|(_, rest)| rest.rsplit_once(": ")) {
            // MPICH: two halves of a word of 32 bits, in hexadecimal.
            let number = u32::from_str_radix(version.trim(), 16).ok();
            self.fabric = number.map(|number| format!("{}.{}", number >> 16, number & 0xffff));
        } else if let Some((_, version)) = line.split_once("libfabric version: ") {
            self.fabric = Some(version.trim().to_string());
        }
    }

    fn version(self) -> String {
        let fabric = self.fabric.map(|version| format!("libfabric {version}"));
        self.library.into_iter().chain(fabric).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(lines: &[&str]) -> String {
        let mut output = StartupOutput::default();
        lines.iter().for_each(|line| output.read(line));
        output.version()
    }

    #[test]
    fn versions_are_what_libraries_say() {
        let line = r#"{"kind":"result","mpi_library":"NAME","size":1,"metric":"latency","unit":"us","value":1.0}"#;
        let mpich = "Required minimum FI_VERSION: 20005, current version: 20005";
        assert_eq!(
            version(&[mpich, &line.replace("NAME", "MPICH Version: 5.0.2")]),
            "MPICH Version: 5.0.2, libfabric 2.5"
        );
        let intel = "[0] MPI startup(): libfabric version: 2.1.0-impi";
        assert_eq!(version(&[intel]), "libfabric 2.1.0-impi");
        assert_eq!(version(&[&line.replace("NAME", "Open MPI v5.0.11, package: x, y")]), "Open MPI v5.0.11");
        assert_eq!(version(&["noise"]), "");
    }
}
