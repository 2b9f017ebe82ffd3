//! What happens while a benchmark program runs: its samples go to the record, and rails change as its schedule says.

use std::time::Duration;

use anyhow::{Context, Result};

use super::benchmark::Benchmark;
use super::execute::Listener;
use super::matrix::Cell;
use super::sample::{self, BenchLine};
use crate::lab::Lab;
use crate::lab::schedule::{RunningSchedule, Schedule};
use crate::record::Line;
use crate::record::write::Writer;

/// How soon the first line of a program is seen whose schedule waits for it.
const FIRST_LINE: Duration = Duration::from_millis(10);

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
    /// The last sample, for people.
    summary: Option<String>,
}

impl<'a> SampleRecorder<'a> {
    /// Of a program that is about to start.
    pub fn new(
        cell: &'a Cell,
        benchmark: &'a Benchmark,
        writer: &'a mut Writer,
        lab: Option<&'a mut Lab>,
    ) -> SampleRecorder<'a> {
        let waiting = benchmark.schedule.clone();
        SampleRecorder { cell, benchmark, writer, lab, waiting, running: RunningSchedule::default(), summary: None }
    }

    /// After the program's end: rails are as before. Returns its last sample.
    pub fn finish(self) -> Result<Option<String>> {
        if let (Some(lab), Some(_)) = (self.lab, &self.benchmark.schedule) {
            lab.restore().context("cannot undo the changes of a schedule")?;
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
