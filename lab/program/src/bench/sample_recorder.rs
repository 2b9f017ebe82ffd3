//! What happens while a benchmark program runs: its samples go to the record, and rails change as its schedule says.

use std::time::Duration;

use anyhow::{Context, Result};

use super::benchmark::Benchmark;
use super::claim::HISTORY;
use super::execute::Listener;
use super::history::Run;
use super::matrix::Cell;
use super::sample::{self, BenchLine};
use crate::lab::Lab;
use crate::lab::schedule::{RunningSchedule, Schedule};
use crate::record::write::Writer;
use crate::record::{Line, Sample};

/// How soon the first line of a program is seen whose schedule waits for it.
const FIRST_LINE: Duration = Duration::from_millis(10);

/// Tells the measurements of a size that is listed several times apart.
const TURN: &str = "turn";

/// One cell while its program runs.
pub struct SampleRecorder<'a> {
    cell: &'a Cell,
    benchmark: &'a Benchmark,
    writer: &'a mut Writer,
    /// Where rails can change.
    lab: Option<&'a mut Lab>,
    /// A schedule that has not begun.
    waiting: Option<Schedule>,
    running: RunningSchedule,
    /// The history that the program begins with, if its last value alone counts, and what that is so far.
    history: Option<&'static str>,
    last: Option<Sample>,
    /// The last sample, for people.
    summary: Option<String>,
}

impl<'a> SampleRecorder<'a> {
    /// Of a program that is about to start.
    pub fn new(cell: &'a Cell, run: &'a Run, writer: &'a mut Writer, lab: Option<&'a mut Lab>) -> SampleRecorder<'a> {
        let Run { benchmark, history } = run;
        let (mut waiting, mut running) = (benchmark.schedule.clone(), RunningSchedule::default());
        if benchmark.schedule_repeats {
            running = waiting.take().map(Schedule::begin_repeatedly).unwrap_or_default();
        }
        let (history, last, summary) = (*history, None, None);
        SampleRecorder { cell, benchmark, writer, lab, waiting, running, history, last, summary }
    }

    /// After the program's end, which was a good one or not: rails are as before. Returns its last sample.
    pub fn finish(self, good: bool) -> Result<Option<String>> {
        if let (Some(lab), Some(_)) = (self.lab, &self.benchmark.schedule) {
            lab.restore().context("cannot undo the changes of a schedule")?;
        }
        if let (Some(mut sample), Some(history), true) = (self.last, self.history, good) {
            sample.options.remove(TURN);
            sample.options.insert(HISTORY.into(), history.into());
            self.writer.append(&Line::Sample(sample))?;
        }
        Ok(self.summary)
    }
}

impl Listener for SampleRecorder<'_> {
    fn line(&mut self, line: &str) -> Result<()> {
        let Some(line) = BenchLine::parse(line) else { return Ok(()) };
        // Starting takes each stack its own time, which the changes do not count.
        if let Some(schedule) = self.waiting.take() {
            self.running = schedule.begin();
        }
        let sized = self.benchmark.program.default_sizes().is_some();
        for value in line.also() {
            let sample = value.sample(self.cell, self.benchmark.ranks, sized);
            self.writer.append(&Line::Sample(sample))?;
        }
        let sample = line.sample(self.cell, self.benchmark.ranks, sized);
        self.summary = Some(sample::shown(&sample));
        if self.history.is_some() {
            self.last = Some(sample);
            return Ok(());
        }
        self.writer.append(&Line::Sample(sample))
    }

    fn tick(&mut self) -> Result<Duration> {
        let Some(lab) = &mut self.lab else { return Ok(Duration::MAX) };
        while let Some(entry) = self.running.due() {
            lab.set(&entry.target, &entry.change).with_context(|| format!("schedule: rail {}", entry.target))?;
        }
        let until_begun = self.waiting.as_ref().map(|_| FIRST_LINE);
        Ok(until_begun.or(self.running.wait()).unwrap_or(Duration::MAX))
    }
}
