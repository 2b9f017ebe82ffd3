//! `fishplate simulate --history`: a pattern takes as long whatever was sent before.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use fishplate_sim::history::{Before, Case, Pattern, Row, Selection, header, judge, summary};

use crate::simulation::sizes;

/// Which cells.
#[derive(clap::Args)]
#[group(skip)]
pub struct Args {
    /// Print the table of histories instead: times of patterns after different earlier traffic, the worst first
    #[arg(long)]
    pub history: bool,

    /// Print only these cells of that table: pattern=exchange,ping-pong, rails=1000+250,1000+1000 (0: unlimited; any rates),
    /// sizes=16K:1M, delays=0,1000 (us one way), before=nothing,small
    #[arg(long, requires = "history", value_name = "KEY=LIST")]
    only: Vec<String>,
}

/// Measures the cells. The table, and what the program ends with.
pub fn table(args: &Args, seed: u64) -> Result<(String, ExitCode)> {
    let selection = selection(&args.only)?;
    let mut rows = measure(&selection.cases(), &selection.before(), seed)?;
    let summary = summary(&mut rows);
    let mut text = format!("{summary}\n{}\n", header());
    rows.iter().for_each(|row| text.push_str(&format!("{row}\n")));
    Ok((text, if summary.misses == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
}

/// As many at a time as there are processors. Each cell is a run of its own.
fn measure(cases: &[Case], histories: &[Before], seed: u64) -> Result<Vec<Row>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<Row>, String> {
        let mut rows = Vec::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            rows.extend(judge(case, histories, seed)?);
        }
        Ok(rows)
    };
    let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(cases.len());
    let mut rows = thread::scope(|scope| -> Result<Vec<Row>> {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let mut rows = Vec::new();
        for worker in running {
            let found = worker.join().map_err(|_| anyhow!("a simulation panicked"))?;
            rows.extend(found.map_err(|error| anyhow!(error))?);
        }
        Ok(rows)
    })?;
    // In an order that does not depend on which worker was first.
    rows.sort_by(|a, b| (&a.case, a.before).cmp(&(&b.case, b.before)));
    Ok(rows)
}

fn selection(only: &[String]) -> Result<Selection> {
    let mut selection = Selection::default();
    for one in only {
        let (key, list) = one.split_once('=').with_context(|| format!("--only: {one:?} is not KEY=LIST"))?;
        let parts = || list.split(',');
        match key {
            "pattern" => selection.patterns = parts().map(|name| named(Pattern::ALL, name)).collect::<Result<_>>()?,
            "before" => selection.before = parts().map(|name| named(Before::ALL, name)).collect::<Result<_>>()?,
            "rails" => selection.rails = parts().map(rates).collect::<Result<_>>()?,
            "sizes" => selection.sizes = sizes::parse(list)?,
            "delays" => selection.delays_us = parts().map(number).collect::<Result<_>>()?,
            _ => bail!("--only: there is no {key}; there are pattern, rails, sizes, delays, before"),
        }
    }
    Ok(selection)
}

fn named<T: Copy>(all: &[(&str, T)], name: &str) -> Result<T> {
    let found = all.iter().find(|(known, _)| *known == name).map(|(_, found)| *found);
    found.with_context(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("--only: there is no {name}; there are {}", names.join(", "))
    })
}

fn rates(text: &str) -> Result<Vec<u32>> {
    text.split('+').map(number).collect()
}

fn number(text: &str) -> Result<u32> {
    text.parse().with_context(|| format!("--only: {text:?} is not a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(only: &[&str]) -> Result<Selection> {
        selection(&only.iter().map(|one| one.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn cells_are_chosen_by_what_they_are_of() {
        let found = chosen(&["pattern=exchange", "rails=1000+250,0", "sizes=16K:64K", "before=small"]).unwrap();
        assert_eq!((found.cases().len(), found.before()), (6, vec![Before::Small]));
        assert_eq!(found.cases()[0].place(), "1000+250");
    }

    #[test]
    fn unknown_values_are_answered_with_the_known_ones() {
        let error = |only: &str| chosen(&[only]).unwrap_err().to_string();
        assert_eq!(error("exchange"), "--only: \"exchange\" is not KEY=LIST");
        assert!(error("rail=1000").ends_with("there are pattern, rails, sizes, delays, before"));
        assert!(error("before=none").starts_with("--only: there is no none; there are nothing, small"));
        assert_eq!(error("rails=1000+x"), "--only: \"x\" is not a whole number");
    }
}
