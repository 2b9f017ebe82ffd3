//! Measuring the cells of a plan, one after the other, each into the record as it comes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::application_run::{ApplicationRun, Measured};
use super::benchmark::Benchmark;
use super::conditions;
use super::duration::{self, Estimate};
use super::execute::Executor;
use super::history::{self, Run};
use super::matrix;
use super::plan::Plan;
use super::prepared_stack::PreparedStack;
use super::progress::Progress;
use super::sample;
use super::sample_recorder::SampleRecorder;
use super::site::Site;
use super::storage_traffic::{Counting, Traffic};
use crate::counters::stats_file;
use crate::lab::Lab;
use crate::profile::rails_over_time::RailsOverTime;
use crate::record::write::Writer;
use crate::record::{self, Cell, Completed, Line, RailShare, Rails, Record, Skipped};
use crate::system::child_process::Signals;
use crate::tell;

/// Number of consecutive failures after which a cell is skipped in later rounds of a run.
const MAX_FAILURES: u32 = 2;

/// How a program ended, its result for people, and what went over its rails in steps of time, where that is known.
type Outcome = (Result<(), String>, Option<String>, Option<RailsOverTime>);

/// Makes the site of a link; one that was measured before is not measured again.
pub type Open<'a> = dyn Fn(&str, Option<&record::Link>) -> Result<Site> + 'a;

/// What a session has to do and what is known already.
pub struct Session<'a> {
    pub plan: &'a Plan,
    /// The stacks of the plan, in its order.
    pub prepared_stacks: Vec<PreparedStack>,
    /// Signals that interrupt it.
    pub signals: &'a Signals,
    pub writer: Writer,
    /// Cells that are complete.
    pub complete: BTreeSet<Cell>,
    /// What the record says of cells that are not measured, with the reasons.
    pub reported: BTreeSet<Skipped>,
    /// How long cells take.
    pub estimate: Estimate,
}

#[derive(Default)]
pub struct Summary {
    /// Cells measured now.
    pub measured: usize,
    /// Cells that failed now.
    pub failed: usize,
    /// Stacks with benchmarks on links that cannot be measured.
    pub skipped: usize,
}

/// A cell to measure.
struct Task<'a> {
    cell: Cell,
    benchmark: &'a Benchmark,
    prepared: &'a PreparedStack,
}

/// What the record has already.
pub fn resumed(record: &Record) -> (BTreeSet<Cell>, BTreeSet<Skipped>, Estimate) {
    let mut estimate = Estimate::default();
    record.cells.iter().for_each(|completed| estimate.took(completed));
    let complete = record.cells.iter().map(|completed| completed.cell.clone());
    (complete.collect(), record.skipped.iter().cloned().collect(), estimate)
}

impl Session<'_> {
    /// Measures all cells that are not complete. `first` is the site of the first link that has some; `open` makes those
    /// of later ones.
    pub fn run(&mut self, first: Site, open: &Open) -> Result<Summary> {
        let mut summary = Summary { skipped: self.skip_what_cannot_be()?, ..Summary::default() };
        for prepared in &self.prepared_stacks {
            self.estimate.startup(&prepared.stack.name, prepared.startup);
        }
        let prepared_stacks = std::mem::take(&mut self.prepared_stacks);
        let tasks = tasks(self.plan, &prepared_stacks, &self.complete);
        tell!("{} cells to measure, about {}", tasks.len(), self.time_of(&tasks));
        let progress = Progress::start(tasks.len() as u64);
        let mut site = first;
        let mut here = tasks.first().map(|task| task.cell.link.clone()).unwrap_or_default();
        let mut measured = BTreeMap::from([(here.clone(), site.link().clone())]);
        self.writer.append(&Line::Link(site.link().clone()))?;
        let mut failures: BTreeMap<Cell, u32> = BTreeMap::new();
        for (number, task) in tasks.iter().enumerate() {
            if task.cell.link != here {
                here.clone_from(&task.cell.link);
                drop(site);
                site = self.arrive(&here, open, &mut measured)?;
            }
            let name = name(&task.cell, self.plan);
            progress.show(&format!("{} left: {name}", self.time_of(&tasks[number..])));
            let failed = failures.entry(task.cell.first()).or_default();
            if *failed >= MAX_FAILURES {
                progress.done(&format!("{name}: not tried again"));
                continue;
            }
            match self.measure(&mut site, task)? {
                Ok(shown) => {
                    *failed = 0;
                    summary.measured += 1;
                    progress.done(&format!("{name}: {shown}"));
                }
                Err(why) => {
                    *failed += 1;
                    summary.failed += 1;
                    progress.failed(&format!("{name}: failed: {why}"));
                    site = site.renew(self.plan)?;
                }
            }
        }
        progress.finish();
        Ok(summary)
    }

    /// How long these take, for people.
    fn time_of(&self, tasks: &[Task]) -> String {
        duration::shown(tasks.iter().map(|task| self.estimate.of(&task.cell, task.benchmark)).sum())
    }

    /// The site of another link, which is added to the record if it is not among those measured.
    fn arrive(&mut self, link: &str, open: &Open, measured: &mut BTreeMap<String, record::Link>) -> Result<Site> {
        let known = measured.get(link);
        let site = open(link, known)?;
        if known.is_none() {
            measured.insert(link.to_string(), site.link().clone());
            self.writer.append(&Line::Link(site.link().clone()))?;
        }
        Ok(site)
    }

    /// Tells the record what cannot be measured, unless it knows; returns how many that are.
    fn skip_what_cannot_be(&mut self) -> Result<usize> {
        let mut count = 0;
        for link in self.plan.link_names() {
            for benchmark in &self.plan.benchmarks {
                for prepared in &self.prepared_stacks {
                    let Some(reason) = obstacle(self.plan, &link, benchmark, prepared) else { continue };
                    count += 1;
                    let (stack, link, benchmark) = (prepared.stack.name.clone(), link.clone(), benchmark.name.clone());
                    let skipped = Skipped { stack, link, benchmark, reason };
                    if self.reported.insert(skipped.clone()) {
                        self.writer.append(&Line::Skipped(skipped))?;
                    }
                }
            }
        }
        Ok(count)
    }

    /// Measures a cell. The inner result says a value, or why it failed.
    fn measure(&mut self, site: &mut Site, task: &Task) -> Result<Result<String, String>> {
        let counters: PathBuf = site.folder().join("counters.jsonl");
        // It may not be there.
        let _ = fs::remove_file(&counters);
        site.emulator_cpu();
        let counting = site.lab().filter(|_| task.benchmark.program.uses_storage());
        let counting = counting.and_then(|lab| Counting::begin(lab));
        let start = Instant::now();
        let (ended, summary, over_time) = self.run_all(site, task, &counters)?;
        let traffic = counting.and_then(Counting::finish);
        let failures = site.lab().map(Lab::storage_failures).unwrap_or_default();
        let ended = with_failures(ended, &failures);
        let emulator_cpu = site.emulator_cpu();
        let seconds = (start.elapsed().as_secs_f64() * 1e3).round() / 1e3;
        let cell = task.cell.clone();
        let failure = match (ended, summary) {
            (Ok(()), Some(summary)) => {
                match traffic {
                    Some(Traffic { rails, step_s }) => {
                        self.writer.append(&Line::Rails(Rails { cell: cell.clone(), rails, step_s: Some(step_s) }))?;
                    }
                    None => self.append_rails(&cell, &counters, over_time)?,
                }
                let completed = Completed { cell, load: conditions::load(), emulator_cpu, seconds };
                self.estimate.took(&completed);
                self.writer.append(&Line::Cell(completed))?;
                return Ok(Ok(format!("{summary} ({seconds:.1} s)")));
            }
            (Ok(()), None) => format!("{} printed no results", task.benchmark.program.name()),
            (Err(failure), _) => failure,
        };
        self.writer.append(&cell.skipped(format!("round {}: {failure}", cell.round + 1)))?;
        Ok(Err(failure))
    }

    /// Runs the program of a cell as often as its benchmark says, up to the first failure.
    fn run_all(&mut self, site: &mut Site, task: &Task, counters: &Path) -> Result<Outcome> {
        let mut outcome = (Ok(()), None, None);
        for run in history::runs(task.benchmark, self.plan.seed, task.cell.round) {
            outcome = self.run_once(site, task, &run, counters)?;
            if outcome.0.is_err() || outcome.1.is_none() {
                break;
            }
        }
        Ok(outcome)
    }

    fn run_once(&mut self, site: &mut Site, task: &Task, run: &Run, counters: &Path) -> Result<Outcome> {
        let (stack, benchmark) = (&task.prepared.stack, &run.benchmark);
        let counted = stack.fishplate.then_some(counters);
        let (application, invocation) = match ApplicationRun::prepare(site, stack, benchmark, counted)? {
            Some((application, invocation)) => (Some(application), invocation),
            None => {
                let programs = &task.prepared.programs;
                (None, site.invocation(stack, programs, benchmark, self.plan.checked, counted)?)
            }
        };
        let limit = Duration::from_secs_f64(benchmark.timeout_s.unwrap_or(self.plan.timeout_s));
        let executor = Executor { signals: self.signals, folder: site.folder().to_path_buf() };
        let command = site.command(&invocation)?;
        let mut recorder = SampleRecorder::new(&task.cell, run, &mut self.writer, site.lab());
        let ended = executor.run(benchmark.program.name(), command, limit, &mut recorder)?;
        let summary = recorder.finish(ended.is_ok())?;
        match application {
            Some(application) => self.take_times(application.end(ended, &task.cell)?),
            None => Ok((ended, summary, None)),
        }
    }

    /// Puts the samples of an application into the record. Returns how it ended, its run time for people, and what went
    /// over its rails.
    fn take_times(&mut self, measured: Result<Measured, String>) -> Result<Outcome> {
        let Measured { samples, over_time } = match measured {
            Ok(measured) => measured,
            Err(failure) => return Ok((Err(failure), None, None)),
        };
        let summary = samples.first().map(sample::shown);
        for sample in samples {
            self.writer.append(&Line::Sample(sample))?;
        }
        Ok((Ok(()), summary, over_time))
    }

    /// What each rail carried in a cell, where the stack counts that.
    fn append_rails(&mut self, cell: &Cell, counters: &Path, over_time: Option<RailsOverTime>) -> Result<()> {
        let summary = stats_file::summarize(&stats_file::read(counters, 0).context("counters of the rails")?);
        if summary.rails.is_empty() {
            return Ok(());
        }
        let (step_s, mut steps) = over_time.map(|over_time| (over_time.step_s, over_time.sent)).unzip();
        let mut sent = |name: &str| steps.as_mut().and_then(|steps| steps.remove(name)).unwrap_or_default();
        let share = |rail: stats_file::Rail| RailShare {
            sent_over_time: sent(&rail.name),
            name: rail.name,
            bytes: rail.bytes,
            messages: rail.messages,
            share: rail.share,
            retransmitted: rail.retransmitted,
            rate_bytes_per_s: rail.rate,
        };
        let rails = summary.rails.into_iter().map(share).collect();
        self.writer.append(&Line::Rails(Rails { cell: cell.clone(), rails, step_s }))
    }
}

/// The link with cells to measure that comes first, if there are any.
pub fn first_link(plan: &Plan, prepared_stacks: &[PreparedStack], complete: &BTreeSet<Cell>) -> Option<String> {
    tasks(plan, prepared_stacks, complete).first().map(|task| task.cell.link.clone())
}

/// What is to be measured, in order.
fn tasks<'a>(plan: &'a Plan, prepared_stacks: &'a [PreparedStack], complete: &BTreeSet<Cell>) -> Vec<Task<'a>> {
    let mut all = Vec::new();
    for (link, round) in visits(plan) {
        for benchmark in &plan.benchmarks {
            for turn in matrix::turns(prepared_stacks.len(), round) {
                let prepared = &prepared_stacks[turn];
                let (stack, name) = (prepared.stack.name.clone(), benchmark.name.clone());
                let cell = Cell { stack, link: link.clone(), benchmark: name, round };
                if !complete.contains(&cell) && obstacle(plan, &link, benchmark, prepared).is_none() {
                    all.push(Task { cell, benchmark, prepared });
                }
            }
        }
    }
    all
}

/// Links with rounds, in order.
fn visits(plan: &Plan) -> Vec<(String, u32)> {
    let links = plan.link_names();
    let of_link = |link: &String| (0..plan.rounds).map(|round| (link.clone(), round)).collect::<Vec<_>>();
    let of_round = |round| links.iter().map(|link| (link.clone(), round)).collect::<Vec<_>>();
    if plan.links_in_turn {
        (0..plan.rounds).flat_map(of_round).collect()
    } else {
        links.iter().flat_map(of_link).collect()
    }
}

fn obstacle(plan: &Plan, link: &str, benchmark: &Benchmark, prepared: &PreparedStack) -> Option<String> {
    matrix::obstacle(plan, link, benchmark, &prepared.stack).or_else(|| prepared.failure.clone())
}

/// How a program ended, where parts of the storage may have failed meanwhile.
fn with_failures(ended: Result<(), String>, failures: &[String]) -> Result<(), String> {
    if failures.is_empty() {
        return ended;
    }
    let storage = failures.join("; ");
    Err(ended.err().map_or(storage.clone(), |failure| format!("{storage}; {failure}")))
}

fn name(cell: &Cell, plan: &Plan) -> String {
    format!("{}, round {} of {}: {}: {}", cell.link, cell.round + 1, plan.rounds, cell.benchmark, cell.stack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_their_rounds_one_after_the_other_or_in_turn() {
        let link = |name: &str| format!("[[links]]\nname = \"{name}\"\nrails = [{{ rate_mbit = 10 }}]\n");
        let plan = |more: &str| Plan::parse(&format!("rounds = 2\n{more}{}{}", link("a"), link("b")), "plan").unwrap();
        let order = |plan: &Plan| visits(plan).iter().map(|(link, round)| format!("{link}{round}")).collect::<Vec<_>>();
        assert_eq!(order(&plan("")), ["a0", "a1", "b0", "b1"]);
        assert_eq!(order(&plan("links_in_turn = true\n")), ["a0", "b0", "a1", "b1"]);
    }
}
