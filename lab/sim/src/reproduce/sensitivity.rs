//! Sensitivity to assumptions: each is set to both ends of its range. Reports the rows that change, and the change of numbers.

use super::experiments::Experiments;
use super::judge::{Judged, JudgedCheck, judge};
use super::published::Fact;
use super::rows::{ROWS, Row};
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
    /// The assumed value.
    pub assumed: f64,
    /// The value that it was set to.
    pub value: f64,
    /// Rows that change.
    pub flips: Vec<Flip>,
}

/// How far a value that is not as published moves over the ranges of all assumptions, one at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// The row.
    pub id: String,
    /// The check, with the value that the assumptions as they are give.
    pub check: JudgedCheck,
    /// The least value, and which assumption gives it: `path = value`.
    pub least: (f64, String),
    /// The greatest value.
    pub greatest: (f64, String),
}

/// Which rows are looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen<'a> {
    /// Of this paper only.
    pub paper: Option<&'a str>,
    /// This one only.
    pub row: Option<&'a str>,
}

impl Chosen<'_> {
    fn has(&self, row: &Row) -> bool {
        self.paper.is_none_or(|paper| paper == row.paper) && self.row.is_none_or(|id| id == row.id)
    }
}

/// Varies every assumption of the testbeds of the chosen rows over its range. `told` is called for each.
///
/// # Errors
/// When a row cannot be simulated.
pub fn sensitivity(
    facts: &[Fact],
    chosen: Chosen,
    seed: u64,
    mut told: impl FnMut(&Varied),
) -> Result<(Vec<Varied>, Vec<Reach>), String> {
    let (mut all, mut reaches) = (Vec::new(), Vec::<Reach>::new());
    for (testbed, text) in SHIPPED {
        let rows: Vec<_> = ROWS
            .iter()
            .filter(|row| testbed.starts_with(row.paper) && chosen.has(row))
            .filter_map(|row| Some((row, facts.iter().find(|fact| fact.id == row.id)?)))
            .collect();
        if rows.is_empty() {
            continue;
        }
        let judged = |experiments: &Experiments| -> Result<Vec<Judged>, String> {
            rows.iter().map(|(row, fact)| Ok(judge(fact, row.find(experiments)?))).collect()
        };
        let usual = judged(&Experiments::new(seed))?;
        merge(&mut reaches, &usual, "as assumed");
        for (path, parameter) in Description::parse(text)?.parameters()? {
            for end in parameter.range.into_iter().flatten().filter(|end| *end != parameter.value) {
                let changed = judged(&Experiments::changed(testbed, &path, end, seed))?;
                merge(&mut reaches, &changed, &format!("{testbed} {path} = {end}"));
                let differ = usual.iter().zip(&changed).filter(|(before, now)| before.holds() != now.holds());
                let flips = differ.map(|(_, now)| Flip { id: now.fact.id.clone(), holds: now.holds() }).collect();
                let varied = Varied { testbed, path: path.clone(), assumed: parameter.value, value: end, flips };
                told(&varied);
                all.push(varied);
            }
        }
    }
    Ok((all, reaches))
}

/// Widens the ranges of the values that do not hold as assumed; the first call sets them.
fn merge(reaches: &mut Vec<Reach>, rows: &[Judged], with: &str) {
    for (row, check) in rows.iter().flat_map(|row| row.checks.iter().map(move |check| (row, check))) {
        let Some(value) = check.simulated else { continue };
        let known = reaches.iter_mut().find(|reach| reach.id == row.fact.id && reach.check.check == check.check);
        match known {
            Some(reach) if value < reach.least.0 => reach.least = (value, with.into()),
            Some(reach) if value > reach.greatest.0 => reach.greatest = (value, with.into()),
            None if !check.holds && with == "as assumed" => {
                let end = || (value, with.to_string());
                reaches.push(Reach { id: row.fact.id.clone(), check: check.clone(), least: end(), greatest: end() });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::published::{FACTS, read};
    use super::*;

    #[test]
    fn a_number_that_misses_is_told_with_how_far_assumptions_move_it() {
        let facts = read(FACTS).unwrap();
        let fact = facts.iter().find(|fact| fact.id == "M12").unwrap();
        let judged = |communication: f64| {
            let values = [("communication saved at most, %", communication), ("run time saved at most, %", 22.0)];
            vec![judge(fact, values.map(|(name, value)| (name.to_string(), value)).into())]
        };
        let mut reaches = Vec::new();
        for (value, with) in [(48.0, "as assumed"), (40.0, "a = 1"), (50.0, "b = 2"), (45.0, "c = 3")] {
            merge(&mut reaches, &judged(value), with);
        }
        let [reach] = reaches.as_slice() else { panic!("the other number holds: {reaches:?}") };
        assert_eq!(
            (reach.check.simulated, &reach.least, &reach.greatest),
            (Some(48.0), &(40.0, "a = 1".into()), &(50.0, "b = 2".into()))
        );
    }
}
