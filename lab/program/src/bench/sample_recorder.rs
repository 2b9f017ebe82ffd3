//! What happens while a benchmark program runs: its samples go to the record, and rails change as its schedule says.

use std::time::Duration;

use anyhow::{Context, Result};

use super::benchmark::Benchmark;
use super::claim::HISTORY;
use super::execute::Listener;
use super::failover::{self, Cut};
use super::history::Run;
use super::sample::{self, BenchLine, TIME};
use crate::lab::Lab;
use crate::lab::schedule::{RunningSchedule, Schedule};
use crate::record::write::Writer;
use crate::record::{Cell, Line, Sample};

/// How soon the first line of a program is seen whose schedule waits for it, and all lines of one whose rail is missed.
const SOON: Duration = Duration::from_millis(2);

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
    /// The history that the program begins with, whose last value counts.
    history: Option<&'static str>,
    /// Where it is measured how long a rail is missed, by all values.
    cut: Option<Cut>,
    /// With either of them: the last sample so far.
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
        let cut = benchmark.failover.map(|_| Cut::begin());
        let (history, last, summary) = (*history, None, None);
        SampleRecorder { cell, benchmark, writer, lab, waiting, running, history, last, cut, summary }
    }

    /// After the program's end, which was a good one or not: rails are as before. Returns its last sample.
    pub fn finish(mut self, good: bool) -> Result<Option<String>> {
        if let (Some(lab), Some(_)) = (&mut self.lab, &self.benchmark.schedule) {
            lab.restore().context("cannot undo the changes of a schedule")?;
        }
        if let (Some(sample), true) = (self.last.take(), good) {
            self.append_last(sample)?;
        }
        Ok(self.summary)
    }

    /// What the program's last value tells when it has ended.
    fn append_last(&mut self, mut sample: Sample) -> Result<()> {
        if let Some(history) = self.history {
            sample.options.remove(TURN);
            sample.options.insert(HISTORY.into(), history.into());
            return self.writer.append(&Line::Sample(sample));
        }
        let times = self.cut.as_ref().map(Cut::times_ms).into_iter().flatten();
        sample.options.remove(TIME);
        for (metric, value) in failover::METRICS.into_iter().zip(times) {
            let Some(value) = value else { continue };
            let (metric, unit, value) = (metric.to_string(), "ms".to_string(), (value * 10.0).round() / 10.0);
            let sample = Sample { metric, unit, value, iterations: None, percentiles: None, ..sample.clone() };
            self.writer.append(&Line::Sample(sample))?;
        }
        Ok(())
    }
}

impl Listener for SampleRecorder<'_> {
    fn line(&mut self, line: &str) -> Result<()> {
        let Some(line) = BenchLine::parse(line) else { return Ok(()) };
        // Starting takes each stack its own time, which the changes do not count.
        if let Some(schedule) = self.waiting.take() {
            self.running = schedule.begin();
        }
        if let (Some(cut), Some(interval)) = (&mut self.cut, line.interval()) {
            cut.arrived(interval);
        }
        let sized = self.benchmark.program.default_sizes().is_some();
        for value in line.also() {
            let sample = value.sample(self.cell, self.benchmark.ranks, sized);
            self.writer.append(&Line::Sample(sample))?;
        }
        let sample = line.sample(self.cell, self.benchmark.ranks, sized);
        self.summary = Some(sample::shown(&sample));
        if self.history.is_none() && self.cut.is_none() {
            return self.writer.append(&Line::Sample(sample));
        }
        self.last = Some(sample);
        Ok(())
    }

    fn tick(&mut self) -> Result<Duration> {
        let Some(lab) = &mut self.lab else { return Ok(Duration::MAX) };
        while let Some(entry) = self.running.due() {
            if let Some(cut) = &mut self.cut {
                cut.changes();
            }
            lab.set(&entry.target, &entry.change).with_context(|| format!("schedule: rail {}", entry.target))?;
        }
        let soon = if self.waiting.is_some() || self.cut.is_some() { SOON } else { Duration::MAX };
        Ok(self.running.wait().unwrap_or(Duration::MAX).min(soon))
    }
}
