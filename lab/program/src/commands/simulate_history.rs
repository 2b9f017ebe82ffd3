//! `fishplate simulate --history`: a pattern takes as long whatever was sent before.

use std::process::ExitCode;

use anyhow::{Result, bail};
use fishplate_sim::history::{Before, Case, Pattern, Row, Selection, header, judge, summary};

use super::simulate_cells::{all, key_and_list, named, number, on_all_processors, rates};
use crate::simulation::sizes;

/// Measures the cells. The table, and what the program ends with.
pub fn table(only: &[String], seed: u64) -> Result<(String, ExitCode)> {
    let selection = selection(only)?;
    let mut rows = measure(&selection.cases(), &selection.before(), seed)?;
    let summary = summary(&mut rows);
    let mut text = format!("{summary}\n{}\n", header());
    rows.iter().for_each(|row| text.push_str(&format!("{row}\n")));
    Ok((text, if summary.misses == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
}

/// Each case is a run of its own for each history.
fn measure(cases: &[Case], histories: &[Before], seed: u64) -> Result<Vec<Row>> {
    Ok(on_all_processors(cases, |case| judge(case, histories, seed))?.into_iter().flatten().collect())
}

fn selection(only: &[String]) -> Result<Selection> {
    let mut selection = Selection::default();
    for one in only {
        let (key, list) = key_and_list(one)?;
        match key {
            "pattern" => selection.patterns = all(list, |name| named(Pattern::ALL, name))?,
            "before" => selection.before = all(list, |name| named(Before::ALL, name))?,
            "rails" => selection.rails = all(list, rates)?,
            "sizes" => selection.sizes = sizes::parse(list)?,
            "delays" => selection.delays_us = all(list, number)?,
            _ => bail!("--only: there is no {key}; there are pattern, rails, sizes, delays, before"),
        }
    }
    Ok(selection)
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
