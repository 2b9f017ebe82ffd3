//! One run of an application of others: its times are those of a profile.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::benchmark::Benchmark;
use super::profiled::{self, Profiled};
use super::site::{Site, Work, counting};
use crate::applications::Choice;
use crate::mpi::stacks::{Invocation, Stack};
use crate::profile::rails_over_time::{self, RailsOverTime};
use crate::profile::times::Times;
use crate::record::{Cell, Sample};

/// Times that are samples, of those that a profile has: run time, and time in MPI.
const TIMES: usize = 2;

pub struct ApplicationRun {
    choice: Choice,
    profiled: Profiled,
    ranks: u32,
}

/// What came of it.
pub struct Measured {
    /// Run time and time in MPI, in this order.
    pub samples: Vec<Sample>,
    /// What went over the rails, where the stack is Fishplate.
    pub over_time: Option<RailsOverTime>,
}

impl ApplicationRun {
    /// Before `stack` runs `benchmark` on `site`, and how that is to be done; nothing where it is no application of
    /// others. With counters if they go to `counters`.
    ///
    /// # Errors
    /// When the application is not there, or nothing can be recorded.
    pub fn prepare(
        site: &Site,
        stack: &Stack,
        benchmark: &Benchmark,
        counters: Option<&Path>,
    ) -> Result<Option<(ApplicationRun, Invocation)>> {
        let Some(application) = benchmark.program.application() else { return Ok(None) };
        let choice = application.choose(&benchmark.options.0)?;
        let started = choice.started(stack, site.folder())?;
        let profiled = Profiled::prepare(site.folder(), &started.words)?;
        let mut variables = started.variables;
        variables.extend(profiled.variables()?);
        variables.extend(counters.map(counting));
        let (ranks, ranks_by_host) = (benchmark.ranks, benchmark.ranks_by_host.clone());
        let work = Work { ranks, ranks_by_host, variables, program: started.words, folder: Some(started.folder) };
        let invocation = site.run(stack, work)?;
        Ok(Some((ApplicationRun { choice, profiled, ranks }, invocation)))
    }

    /// After its end, which `ended` says more of. The inner result says why there are no times.
    ///
    /// # Errors
    /// When what was recorded cannot be removed.
    pub fn end(self, ended: Result<(), String>, cell: &Cell) -> Result<Result<Measured, String>> {
        let profile = self.profiled.end()?;
        if let Err(failure) = ended {
            return Ok(Err(failure));
        }
        let read = profile.and_then(|profile| Ok((Times::of(&profile)?, rails_over_time::of(&profile))));
        Ok(match read {
            Ok((times, over_time)) => {
                Ok(Measured { samples: samples(&self.choice, self.ranks, &times, cell), over_time })
            }
            Err(problem) => Err(format!("{}: {problem:#}", self.choice.application.name)),
        })
    }
}

fn samples(choice: &Choice, ranks: u32, times: &Times, cell: &Cell) -> Vec<Sample> {
    let options = BTreeMap::from([
        ("input".to_string(), choice.name.into()),
        ("atoms".to_string(), choice.input.atoms.into()),
        ("steps".to_string(), choice.steps.into()),
    ]);
    let mut samples = profiled::samples(times, cell, ranks, &options);
    samples.truncate(TIMES);
    samples
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applications;

    #[test]
    fn run_time_and_time_in_mpi_are_told_with_what_was_run() {
        let choice = applications::find("lammps").unwrap().choose(&["--steps=5".into()]).unwrap();
        let cell = Cell { stack: "a".into(), link: "l".into(), benchmark: "md".into(), round: 2 };
        let times = Times { run: 3.0, communication: 1.0, late: 0.5, ..Times::default() };
        let samples = samples(&choice, 4, &times, &cell);
        let told: Vec<_> = samples.iter().map(|sample| (sample.metric.as_str(), sample.value)).collect();
        assert_eq!(told, [("run_time", 3.0), ("communication_time", 1.0)]);
        let options = serde_json::to_string(&samples[0].options).unwrap();
        assert_eq!(options, r#"{"atoms":32000,"input":"lj","steps":5}"#);
        assert_eq!((samples[0].ranks, samples[0].round), (4, 2));
    }
}
