//! `fishplate simulate --history`: a pattern takes as long whatever was sent before. `fishplate simulate --many-ranks`: the
//! ranks of a host share its rails, and each knows them for itself. `--only KEY=LIST` chooses the cells of both tables.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{iter, thread};

use anyhow::{Context, Result, anyhow, bail, ensure};
use fishplate_sim::{history, many_ranks};

use crate::simulation::sizes;

/// Group of the options that ask for a table.
pub const TABLE: &str = "table";

/// Measures the cells, each case for each history in a run of its own. The table, and what the program ends with.
pub fn history(only: &[String], seed: u64) -> Result<(String, ExitCode)> {
    let selection = of_history(only)?;
    let histories = selection.before();
    let rows = on_all_processors(&selection.cases(), |case| history::judge(case, &histories, seed))?;
    let mut rows = rows.concat();
    let summary = history::summary(&mut rows);
    let code = if summary.misses == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    Ok((format!("{summary}\n{}\n{}", history::header(), lines(&rows)), code))
}

/// Measures the cells. The table.
pub fn many_ranks(only: &[String], seed: u64) -> Result<String> {
    let rows = on_all_processors(&of_many_ranks(only)?.cases(), |case| many_ranks::measure(case, seed))?;
    let events: u64 = rows.iter().map(|row| row.events).sum();
    Ok(format!("{}\n{}{events} events\n", many_ranks::HEADER, lines(&rows)))
}

fn lines(rows: &[impl Display]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn of_history(only: &[String]) -> Result<history::Selection> {
    let mut selection = history::Selection::default();
    for one in only {
        let (key, list) = key_and_list(one)?;
        match key {
            "pattern" => selection.patterns = all(list, |name| named(history::Pattern::ALL, name))?,
            "before" => selection.before = all(list, |name| named(history::Before::ALL, name))?,
            "rails" => selection.rails = all(list, rates)?,
            "sizes" => selection.sizes = sizes::parse(list)?,
            "delays" => selection.delays_us = all(list, number)?,
            _ => bail!("--only: there is no {key}; there are pattern, rails, sizes, delays, before"),
        }
    }
    Ok(selection)
}

fn of_many_ranks(only: &[String]) -> Result<many_ranks::Selection> {
    let mut selection = many_ranks::Selection::default();
    for one in only {
        let (key, list) = key_and_list(one)?;
        match key {
            "pattern" => selection.patterns = all(list, |name| named(many_ranks::Pattern::ALL, name))?,
            "hosts" => selection.hosts = all(list, hosts)?,
            "rails" => selection.rails = all(list, rates)?,
            "sizes" => selection.sizes = sizes::parse(list)?,
            "knows" => selection.knows = all(list, |name| named(many_ranks::Knows::ALL, name))?,
            _ => bail!("--only: there is no {key}; there are pattern, hosts, rails, sizes, knows"),
        }
    }
    selection.cases().iter().try_for_each(check)?;
    Ok(selection)
}

fn check(case: &many_ranks::Case) -> Result<()> {
    let (hosts, rails) = (case.hosts(), case.place());
    ensure!(case.hosts >= 2 && case.hosts.is_multiple_of(2), "--only: {hosts}: hosts are an even number, from 2 on");
    ensure!(case.per_host >= 1 && case.ranks() <= 1 << 16, "--only: {hosts}: there are 1 to 65536 ranks");
    ensure!(case.rails.iter().all(|rate| *rate >= 2), "--only: {rails}: a rail has 2 Mbit/s at least");
    Ok(())
}

/// The two sides of `KEY=LIST`.
fn key_and_list(text: &str) -> Result<(&str, &str)> {
    text.split_once('=').with_context(|| format!("--only: {text:?} is not KEY=LIST"))
}

/// All parts of a list.
fn all<T>(list: &str, part: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    list.split(',').map(part).collect()
}

/// The one of that name.
fn named<T: Copy>(all: &[(&str, T)], name: &str) -> Result<T> {
    let found = all.iter().find(|(known, _)| *known == name).map(|(_, found)| *found);
    found.with_context(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("--only: there is no {name}; there are {}", names.join(", "))
    })
}

/// Rates such as `1000+250`.
fn rates(text: &str) -> Result<Vec<u32>> {
    text.split('+').map(number).collect()
}

/// `64x16`: hosts, and ranks on each.
fn hosts(text: &str) -> Result<(u32, u32)> {
    let (hosts, ranks) = text.split_once('x').with_context(|| format!("--only: {text:?} is not HOSTSxRANKS"))?;
    Ok((number(hosts)?, number(ranks)?))
}

fn number(text: &str) -> Result<u32> {
    text.parse().with_context(|| format!("--only: {text:?} is not a whole number"))
}

/// What `measure` finds of each case, in the order of cases; as many at a time as there are processors.
fn on_all_processors<C: Sync, R: Send>(
    cases: &[C],
    measure: impl Fn(&C) -> Result<R, String> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let take = || {
        let at = next.fetch_add(1, Ordering::Relaxed);
        Some((at, measure(cases.get(at)?)))
    };
    let work = || iter::from_fn(take).collect::<Vec<_>>();
    let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(cases.len());
    let found = thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|worker| worker.join()).collect::<Result<Vec<_>, _>>()
    });
    let found = found.map_err(|_| anyhow!("a simulation panicked"))?;
    let in_order: BTreeMap<usize, Result<R, String>> = found.into_iter().flatten().collect();
    in_order.into_values().map(|result| result.map_err(|error| anyhow!(error))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(only: &[&str]) -> Vec<String> {
        only.iter().map(|one| one.to_string()).collect()
    }

    #[test]
    fn cells_are_chosen_by_what_they_are_of() {
        let only = words(&["pattern=exchange", "rails=1000+250,0", "sizes=16K:64K", "before=small"]);
        let found = of_history(&only).unwrap();
        assert_eq!((found.cases().len(), found.before()), (6, vec![history::Before::Small]));
        assert_eq!(found.cases()[0].place(), "1000+250");
        let only = words(&["pattern=halo", "hosts=4x8", "rails=1000+250", "sizes=16K:64K", "knows=told"]);
        let cases = of_many_ranks(&only).unwrap().cases();
        assert_eq!((cases.len(), cases[0].hosts().as_str()), (3, "4x8"));
    }

    #[test]
    fn unknown_values_are_answered_with_the_known_ones() {
        let error = |only: &str| of_history(&words(&[only])).unwrap_err().to_string();
        assert_eq!(error("exchange"), "--only: \"exchange\" is not KEY=LIST");
        assert!(error("rail=1000").ends_with("there are pattern, rails, sizes, delays, before"));
        assert!(error("before=none").starts_with("--only: there is no none; there are nothing, small"));
        assert_eq!(error("rails=1000+x"), "--only: \"x\" is not a whole number");
    }

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        let error = |only: &str| of_many_ranks(&words(&[only])).unwrap_err().to_string();
        assert_eq!(error("hosts=16"), "--only: \"16\" is not HOSTSxRANKS");
        assert!(error("hosts=3x4").contains("even number"));
        assert!(error("rails=1000+1").contains("2 Mbit/s at least"));
        assert!(error("before=nothing").ends_with("there are pattern, hosts, rails, sizes, knows"));
    }
}
