//! `fishplate simulate --many-ranks`: the ranks of a host share its rails, and each knows them for itself.

use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use fishplate_sim::many_ranks::{Case, HEADER, Knows, Pattern, Selection, measure};

use super::simulate_cells::{all, key_and_list, named, number, on_all_processors, rates};
use crate::simulation::sizes;

/// Measures the cells. The table, and what the program ends with.
pub fn table(only: &[String], seed: u64) -> Result<(String, ExitCode)> {
    let rows = on_all_processors(&selection(only)?.cases(), |case| measure(case, seed))?;
    let mut text = format!("{HEADER}\n");
    rows.iter().for_each(|row| text.push_str(&format!("{row}\n")));
    text.push_str(&format!("{} events\n", rows.iter().map(|row| row.events).sum::<u64>()));
    Ok((text, ExitCode::SUCCESS))
}

fn selection(only: &[String]) -> Result<Selection> {
    let mut selection = Selection::default();
    for one in only {
        let (key, list) = key_and_list(one)?;
        match key {
            "pattern" => selection.patterns = all(list, |name| named(Pattern::ALL, name))?,
            "hosts" => selection.hosts = all(list, hosts)?,
            "rails" => selection.rails = all(list, rates)?,
            "sizes" => selection.sizes = sizes::parse(list)?,
            "knows" => selection.knows = all(list, |name| named(Knows::ALL, name))?,
            _ => bail!("--only: there is no {key}; there are pattern, hosts, rails, sizes, knows"),
        }
    }
    selection.cases().iter().try_for_each(check)?;
    Ok(selection)
}

/// `64x16`: hosts, and ranks on each.
fn hosts(text: &str) -> Result<(u32, u32)> {
    let (hosts, ranks) = text.split_once('x').with_context(|| format!("--only: {text:?} is not HOSTSxRANKS"))?;
    Ok((number(hosts)?, number(ranks)?))
}

fn check(case: &Case) -> Result<()> {
    let (hosts, rails) = (case.hosts(), case.place());
    ensure!(case.hosts >= 2 && case.hosts.is_multiple_of(2), "--only: {hosts}: hosts are an even number, from 2 on");
    ensure!(case.per_host >= 1 && case.ranks() <= 1 << 16, "--only: {hosts}: there are 1 to 65536 ranks");
    ensure!(case.rails.iter().all(|rate| *rate >= 2), "--only: {rails}: a rail has 2 Mbit/s at least");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(only: &[&str]) -> Result<Selection> {
        selection(&only.iter().map(|one| one.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn cells_are_chosen_by_what_they_are_of() {
        let found = chosen(&["pattern=halo", "hosts=4x8", "rails=1000+250", "sizes=16K:64K", "knows=told"]).unwrap();
        assert_eq!(found.cases().len(), 3);
        assert_eq!(found.cases()[0].hosts(), "4x8");
    }

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        let error = |only: &str| chosen(&[only]).unwrap_err().to_string();
        assert_eq!(error("hosts=16"), "--only: \"16\" is not HOSTSxRANKS");
        assert!(error("hosts=3x4").contains("even number"));
        assert!(error("rails=1000+1").contains("2 Mbit/s at least"));
        assert!(error("before=nothing").ends_with("there are pattern, hosts, rails, sizes, knows"));
    }
}
