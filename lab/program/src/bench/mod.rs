//! `fishplate bench`: stacks x links x benchmarks, in turn, into a record (docs/guide/bench.md).
//!
//! A [`plan`] says what; [`matrix`] in which order; a [`site`] is where: an emulated link ([`emulated_link`]) or a
//! network that is there. [`session`] measures cell after cell, each by [`execute`], in one run or in one for each
//! [`history`]; all of it goes to a record at once.

mod application_run;
mod benchmark;
mod claim;
pub mod conditions;
mod duration;
pub mod emulated_link;
pub mod execute;
mod failover;
mod history;
pub mod link;
pub mod matrix;
pub mod plan;
mod prepared_stack;
pub mod profiled;
mod program;
mod programs;
pub mod progress;
pub mod sample;
mod sample_recorder;
pub mod selection;
mod session;
pub mod site;
mod storage_traffic;
pub mod verdict;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::mpi::stacks::Catalog;
use crate::record::write::Writer;
use crate::record::{self, Manifest, Record};
use crate::storage::Asked;
use crate::system::child_process::Signals;
use crate::tell;
use emulated_link::EmulationSetup;
use execute::Executor;
pub use plan::Plan;
use prepared_stack::PreparedStack;
use programs::Programs;
pub use selection::Selection;
pub use session::Summary;
use session::{Session, first_link};
use site::Site;

/// Under which name the manifest's options have the plan.
pub const PLAN: &str = "plan";

/// Seconds that each value is measured in a quick run.
const QUICK_SECONDS: f64 = 0.05;

/// A plan that comes with the program, complete, with the stacks that it can name. A quick one has one round with little
/// time for each value.
pub fn ready_plan(name: &str, quick: bool) -> Result<(Plan, Catalog)> {
    let mut plan = Plan::load(Path::new(name))?;
    if quick {
        plan.rounds = 1;
        plan.benchmarks.iter_mut().for_each(|benchmark| benchmark.set_seconds(QUICK_SECONDS));
    }
    let catalog = plan.catalog()?;
    plan.complete(&catalog)?;
    Ok((plan, catalog))
}

/// A measurement that is to be made.
pub struct Bench {
    pub plan: Plan,
    /// All stacks that are known.
    pub catalog: Catalog,
    /// Where values go.
    pub record: PathBuf,
    /// Goes on with that record.
    pub resume: bool,
    /// Where the programs' sources are, if the user said so.
    pub sources: Option<PathBuf>,
}

/// The plan of a record that is to be gone on with.
///
/// # Errors
/// When it was not written by `fishplate bench`.
pub fn plan_of(record: &Record) -> Result<Plan> {
    let file = record.file.display();
    let plan = record.manifest.options.get(PLAN);
    let plan = plan.with_context(|| format!("{file} was not written by `fishplate bench`: it has no plan"))?;
    serde_json::from_value(plan.clone()).with_context(|| format!("{file}: the plan in it is malformed"))
}

/// Says whether a record can be begun. `instead` is what there is to do with one that exists.
///
/// # Errors
/// When it exists, or its folder does not.
pub fn check_new(record: &Path, instead: &str) -> Result<()> {
    let file = record.display();
    ensure!(!record.exists(), "{file} exists already: {instead}");
    let folder = record.parent().filter(|folder| !folder.as_os_str().is_empty());
    ensure!(folder.is_none_or(Path::is_dir), "cannot begin the record {file}: its folder is not there");
    Ok(())
}

impl Bench {
    /// Whether hosts and rails are emulated.
    pub fn is_emulated(&self) -> bool {
        self.plan.network.is_none()
    }

    /// Says what would be a pity to find out later.
    pub fn check(&self) -> Result<()> {
        Programs::find(self.sources.as_deref())?;
        self.plan.benchmarks.iter().try_for_each(|benchmark| self.check_application(benchmark))?;
        self.plan.links.iter().filter_map(|link| link.storage.as_ref()).try_for_each(Asked::check_ready)?;
        if !self.resume {
            let file = self.record.display();
            check_new(&self.record, &format!("--resume {file} goes on with it"))?;
        }
        Ok(())
    }

    /// Whether the application that a benchmark is, if it is one, is there, and one of the stacks can run it.
    fn check_application(&self, benchmark: &benchmark::Benchmark) -> Result<()> {
        let Some(application) = benchmark.program.application() else { return Ok(()) };
        let about = || format!("benchmark {}", benchmark.name);
        application.check_ready().with_context(about)?;
        let stacks = self.plan.stacks.iter().map(|name| self.catalog.find(name)).collect::<Result<Vec<_>>>()?;
        let misfits = stacks.iter().filter(|stack| stack.mpi).map(|stack| application.misfit(stack));
        match misfits.collect::<Option<Vec<String>>>().unwrap_or_default().first() {
            Some(reason) => Err(anyhow::anyhow!("{reason}")).with_context(about),
            None => Ok(()),
        }
    }

    /// Measures. `folder` is that of the testbed, where there is one.
    pub fn run(&self, folder: Option<PathBuf>, signals: &Signals) -> Result<Summary> {
        let kept = if self.resume { Some(self.go_on()?) } else { None };
        let (complete, reported, estimate) =
            kept.as_ref().map(|(_, record)| session::resumed(record)).unwrap_or_default();
        tell!("compiling the benchmark programs");
        let programs = Programs::find(self.sources.as_deref())?;
        let stacks = self.plan.stacks.iter().map(|name| self.catalog.find(name)).collect::<Result<Vec<_>>>()?;
        let mut prepared_stacks: Vec<_> =
            stacks.into_iter().map(|stack| PreparedStack::prepare(stack, &programs)).collect();
        let link = first_link(&self.plan, &prepared_stacks, &complete);
        let link = match (link, &kept) {
            (Some(link), _) => link,
            // What cannot be measured is worth a record too, but not a second time.
            (None, Some(_)) => return Ok(Summary::default()),
            (None, None) => self.plan.link_names()[0].clone(),
        };
        let surroundings = folder.map(|folder| surroundings(folder, &prepared_stacks));
        let open = |link: &str, known: Option<&record::Link>| self.open(link, known, surroundings.as_ref());
        let site = open(&link, None)?;
        self.probe_all(&mut prepared_stacks, &site, signals)?;
        let writer = match kept {
            Some((writer, record)) => {
                same_versions(&prepared_stacks, &record)?;
                writer
            }
            None => Writer::create(&self.record, &self.manifest(&prepared_stacks)?)?,
        };
        let plan = &self.plan;
        let mut session = Session { plan, prepared_stacks, signals, writer, complete, reported, estimate };
        let summary = session.run(site, &open);
        if summary.is_err() {
            let file = self.record.display();
            tell!("what was measured is in {file}; `fishplate bench --resume {file}` goes on");
        }
        summary
    }

    /// The record that is gone on with, if its plan is this one.
    fn go_on(&self) -> Result<(Writer, Record)> {
        let (writer, record) = Writer::resume(&self.record)?;
        if let Some(note) = record.torn_note() {
            tell!("fishplate: {note}");
        }
        if let Some(difference) = plan_of(&record)?.difference(&self.plan)? {
            anyhow::bail!("{} has another plan: {difference}", self.record.display());
        }
        Ok((writer, record))
    }

    fn open(&self, link: &str, known: Option<&record::Link>, surroundings: Option<&EmulationSetup>) -> Result<Site> {
        if let Some(network) = &self.plan.network {
            return Site::real(network, &self.record);
        }
        let asked = self.plan.links.iter().find(|asked| asked.name == link);
        let asked = asked.with_context(|| format!("no link {link} in the plan"))?;
        Site::emulate(&self.plan, asked, surroundings, known)
    }

    /// Starts each stack once, and has options checked by the first that works.
    fn probe_all(&self, prepared_stacks: &mut [PreparedStack], site: &Site, signals: &Signals) -> Result<()> {
        let executor = Executor { signals, folder: site.folder().to_path_buf() };
        for prepared in prepared_stacks.iter_mut() {
            prepared.probe(site, &executor, &self.plan)?;
            if let Some(failure) = &prepared.failure {
                tell!("{} is left out: {failure}", prepared.stack.name);
            }
        }
        let usable = prepared_stacks.iter().find(|prepared| prepared.stack.mpi && prepared.failure.is_none());
        usable.map_or(Ok(()), |prepared| prepared.check_options(site, &executor, &self.plan))
    }

    fn manifest(&self, prepared_stacks: &[PreparedStack]) -> Result<Manifest> {
        let plan = &self.plan;
        let stack = |prepared: &PreparedStack| record::Stack {
            name: prepared.stack.name.clone(),
            version: prepared.version.clone(),
        };
        let benchmark = |benchmark: &benchmark::Benchmark| record::Benchmark {
            name: benchmark.name.clone(),
            title: benchmark.title(),
            axis: benchmark.axis.clone(),
            axis_unit: benchmark.axis_unit.clone(),
        };
        let options = [
            (PLAN, serde_json::to_value(plan)?),
            (record::COMMAND, Value::from(conditions::command())),
            ("congestion_control", Value::from(conditions::congestion_control())),
            ("order", Value::from("stacks in turn: forth in even rounds, back in odd ones")),
        ];
        Ok(Manifest {
            title: plan.title.clone(),
            stacks: prepared_stacks.iter().map(stack).collect(),
            reference: plan.reference.clone(),
            links: plan.link_names(),
            benchmarks: plan.benchmarks.iter().map(benchmark).collect(),
            rounds: plan.rounds,
            // That of contents is the programs' own default, unless a benchmark's options say otherwise.
            seeds: BTreeMap::from([("contents".to_string(), 1), ("links".to_string(), plan.seed)]),
            options: options.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
            ..conditions::manifest()
        })
    }
}

fn surroundings(folder: PathBuf, prepared_stacks: &[PreparedStack]) -> EmulationSetup {
    let built = prepared_stacks.iter().find(|prepared| prepared.failure.is_none());
    let sockets = built.map(|prepared| prepared.programs.bench.join("sockets"));
    let multipath =
        prepared_stacks.iter().any(|prepared| prepared.stack.arguments.iter().any(|word| word == "--mptcp"));
    EmulationSetup { folder, sockets, multipath }
}

/// A record has one version of each stack.
fn same_versions(prepared_stacks: &[PreparedStack], record: &Record) -> Result<()> {
    for prepared in prepared_stacks {
        let name = &prepared.stack.name;
        let before = record.manifest.stacks.iter().find(|stack| stack.name == *name);
        let before = before.map(|stack| stack.version.as_str()).unwrap_or_default();
        let now = prepared.version.as_str();
        ensure!(
            before.is_empty() || now.is_empty() || before == now,
            "stack {name} is \"{now}\" now and was \"{before}\" in {}: begin another record",
            record.file.display()
        );
    }
    Ok(())
}
