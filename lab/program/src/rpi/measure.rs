//! Running the program on each network in turn, each run profiled, into a record.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::asked::{Asked, OPTION};
use super::networks::{Network, Place};
use crate::bench::conditions;
use crate::bench::emulated_link::EmulationSetup;
use crate::bench::execute::Executor;
use crate::bench::matrix;
use crate::bench::plan::Plan;
use crate::bench::profiled::{self, Profiled};
use crate::bench::progress::Progress;
use crate::bench::site::{Site, Work};
use crate::mpi::{interposer, provider_library};
use crate::output::page::units;
use crate::profile::times::Times;
use crate::record::write::Writer;
use crate::record::{self, Cell, Completed, Line, Manifest};
use crate::system::child_process::Signals;

/// Number of consecutive failures after which a network is skipped.
const MAX_FAILURES: u32 = 2;

/// The program to be run.
pub struct Measurement {
    pub asked: Asked,
    pub networks: Vec<Network>,
    /// How many hosts emulated networks have, and what their losses are.
    pub plan: Plan,
    /// How often the program runs on each.
    pub repeats: u32,
    /// How long it may take.
    pub timeout: Duration,
    /// File of the times.
    pub record: PathBuf,
}

/// A measurement that is going on.
struct Running<'a> {
    what: &'a Measurement,
    /// Setup of emulated hosts.
    setup: Option<EmulationSetup>,
    signals: &'a Signals,
    writer: Writer,
    /// Links that were measured.
    known: BTreeMap<String, record::Link>,
}

impl Measurement {
    /// Whether hosts and rails are emulated.
    pub fn is_emulated(&self) -> bool {
        self.networks.iter().any(|network| matches!(network.place, Place::Emulated(_)))
    }

    /// Says what would be a pity to find out later.
    ///
    /// # Errors
    /// Describes the missing prerequisite.
    pub fn check(&self) -> Result<()> {
        self.networks.iter().try_for_each(|network| network.stack.check_launcher())?;
        interposer::profiling(&provider_library::provider_folder()?)?;
        for network in &self.networks {
            if let Place::Emulated(link) = &network.place {
                link.check(self.plan.hosts)?;
            }
        }
        Ok(())
    }

    /// Runs the program, and returns how often it failed. `folder` is that of the testbed, where there is one.
    ///
    /// # Errors
    /// When it cannot go on, or was interrupted ([`crate::bench::execute::Interrupted`]).
    pub fn run(&self, folder: Option<PathBuf>, signals: &Signals) -> Result<u32> {
        let writer = Writer::create(&self.record, &self.manifest()?)?;
        let setup = folder.map(|folder| EmulationSetup { folder, sockets: None, multipath: false });
        let mut running = Running { what: self, setup, signals, writer, known: BTreeMap::new() };
        let progress = Progress::start(self.networks.len() as u64 * u64::from(self.repeats));
        let mut failed = vec![0; self.networks.len()];
        let mut failures = 0;
        for round in 0..self.repeats {
            for turn in matrix::turns(self.networks.len(), round) {
                let network = &self.networks[turn];
                let name = format!("{}, run {} of {}", network.name, round + 1, self.repeats);
                progress.show(&name);
                if failed[turn] >= MAX_FAILURES {
                    progress.done(&format!("{name}: not tried again"));
                    continue;
                }
                match running.once(network, round)? {
                    Ok(times) => {
                        failed[turn] = 0;
                        progress.done(&format!("{name}: {}", shown(&times)));
                    }
                    Err(why) => {
                        failed[turn] += 1;
                        failures += 1;
                        progress.failed(&format!("{name}: failed: {why}"));
                    }
                }
            }
        }
        progress.finish();
        Ok(failures)
    }

    fn manifest(&self) -> Result<Manifest> {
        let mut stacks: Vec<record::Stack> = Vec::new();
        for network in &self.networks {
            if stacks.iter().all(|stack| stack.name != network.stack.name) {
                stacks.push(record::Stack { name: network.stack.name.clone(), version: String::new() });
            }
        }
        let program = self.asked.program();
        Ok(Manifest {
            title: Some(format!("Gain of {program} from better networks")),
            stacks,
            links: self.networks.iter().map(|network| network.name.clone()).collect(),
            benchmarks: vec![record::Benchmark { name: program, ..Default::default() }],
            rounds: self.repeats,
            seeds: BTreeMap::from([("links".to_string(), self.plan.seed)]),
            options: BTreeMap::from([(OPTION.to_string(), serde_json::to_value(&self.asked)?)]),
            ..conditions::manifest()
        })
    }
}

impl Running<'_> {
    /// Runs the program once. The inner result says why it failed.
    fn once(&mut self, network: &Network, round: u32) -> Result<Result<Times, String>> {
        let site = self.open(network)?;
        let command = &self.what.asked.command;
        let profiled = Profiled::prepare(site.folder(), command)?;
        let (ranks, variables) = (self.what.asked.ranks, profiled.variables()?);
        let work = Work { ranks, ranks_by_host: Vec::new(), variables, program: command.clone(), folder: None };
        let invocation = site.run(&network.stack, work)?;
        let executor = Executor { signals: self.signals, folder: site.folder().to_path_buf() };
        let start = Instant::now();
        let program = self.what.asked.program();
        let ended = executor.run(&program, site.command(&invocation)?, self.what.timeout, &mut |_: &str| Ok(()))?;
        let seconds = (start.elapsed().as_secs_f64() * 1e3).round() / 1e3;
        let profile = profiled.end()?;
        let times = || profile.and_then(|profile| Times::of(&profile)).map_err(|problem| format!("{problem:#}"));
        let result = ended.and_then(|()| times());
        self.tell(network, round, seconds, &result)?;
        Ok(result)
    }

    /// The hosts of a network. Those of an emulated one are made anew each time, and measured the first time.
    fn open(&mut self, network: &Network) -> Result<Site> {
        let known = self.known.get(&network.name);
        let site = match &network.place {
            Place::Real(real) => Site::real(real, &self.what.record)?,
            Place::Emulated(link) => Site::emulate(&self.what.plan, link, self.setup.as_ref(), known)?,
        };
        if self.known.insert(network.name.clone(), site.link().clone()).is_none() {
            self.writer.append(&Line::Link(site.link().clone()))?;
        }
        Ok(site)
    }

    /// Adds a run to the record.
    fn tell(&mut self, network: &Network, round: u32, seconds: f64, result: &Result<Times, String>) -> Result<()> {
        let (stack, link) = (network.stack.name.clone(), network.name.clone());
        let cell = Cell { stack, link, benchmark: self.what.asked.program(), round };
        let times = match result {
            Ok(times) => times,
            Err(why) => return self.writer.append(&cell.skipped(format!("run {}: {why}", round + 1))),
        };
        for sample in profiled::samples(times, &cell, self.what.asked.ranks, &BTreeMap::new()) {
            self.writer.append(&Line::Sample(sample))?;
        }
        let load = conditions::load();
        self.writer.append(&Line::Cell(Completed { cell, load, emulator_cpu: None, seconds }))
    }
}

fn shown(times: &Times) -> String {
    let Times { run, communication, .. } = times;
    format!("{} s, of which {} s in MPI", units::digits(*run), units::digits(*communication))
}
