//! What assumptions matter: each is set to the ends of its range, and rows that change are told.

use super::experiments::Experiments;
use super::judge::judge;
use super::published::Fact;
use super::rows::ROWS;
use crate::testbed::{Description, SHIPPED};

/// A row that holds with one value and not with another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flip {
    /// The row.
    pub id: String,
    /// Whether it holds now.
    pub holds: bool,
}

/// An assumption at one end of its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Varied {
    /// Testbed.
    pub testbed: &'static str,
    /// Parameter.
    pub path: String,
    /// What it is assumed to be.
    pub assumed: f64,
    /// What it was set to.
    pub value: f64,
    /// Rows that change.
    pub flips: Vec<Flip>,
}

/// Varies every assumption of the testbeds of `paper` (all: nothing) over its range. `told` hears of each.
///
/// # Errors
/// When a row cannot be simulated.
pub fn sensitivity(
    facts: &[Fact],
    paper: Option<&str>,
    seed: u64,
    mut told: impl FnMut(&Varied),
) -> Result<Vec<Varied>, String> {
    let mut all = Vec::new();
    for (testbed, text) in SHIPPED {
        let rows: Vec<_> = ROWS
            .iter()
            .filter(|row| testbed.starts_with(row.paper) && paper.is_none_or(|paper| paper == row.paper))
            .filter_map(|row| Some((row, facts.iter().find(|fact| fact.id == row.id)?)))
            .collect();
        if rows.is_empty() {
            continue;
        }
        let holds = |experiments: &Experiments| -> Result<Vec<bool>, String> {
            rows.iter().map(|(row, fact)| Ok(judge(fact, (row.find)(experiments)?).holds())).collect()
        };
        let usual = holds(&Experiments::new(seed))?;
        for (path, parameter) in Description::parse(text)?.parameters()? {
            for end in parameter.range.into_iter().flatten().filter(|end| *end != parameter.value) {
                let changed = holds(&Experiments::changed(testbed, &path, end, seed))?;
                let differ = rows.iter().zip(usual.iter().zip(&changed)).filter(|(_, (before, now))| before != now);
                let flips = differ.map(|((row, _), (_, now))| Flip { id: row.id.into(), holds: *now }).collect();
                let varied = Varied { testbed, path: path.clone(), assumed: parameter.value, value: end, flips };
                told(&varied);
                all.push(varied);
            }
        }
    }
    Ok(all)
}
