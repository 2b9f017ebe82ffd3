//! Paper against simulation.

use super::experiments::Values;
use super::published::{Check, Fact, Kind};

/// Verdict of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The row.
    pub fact: Fact,
    /// Its checks.
    pub checks: Vec<JudgedCheck>,
    /// Values that were found, by name.
    pub values: Values,
}

/// Verdict of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedCheck {
    /// The check.
    pub check: Check,
    /// The simulated value; `None` if the programs do not yield such a value.
    pub simulated: Option<f64>,
    /// The published value.
    pub expected: Option<f64>,
    /// Whether it holds.
    pub holds: bool,
}

impl JudgedCheck {
    /// Relative to the paper's number.
    pub fn deviation(&self) -> Option<f64> {
        self.check.near.zip(self.simulated).map(|(paper, simulated)| simulated / paper - 1.0)
    }

    /// The statement of the paper.
    pub fn paper(&self) -> String {
        let check = &self.check;
        let percent = 100.0 * check.tolerance();
        if let Some(near) = check.near {
            return number(near);
        }
        if let Some(least) = check.least {
            return format!("{} or more", number(least));
        }
        if let Some(most) = check.most {
            return format!("{} or less", number(most));
        }
        let expected = self.expected.map_or("?".into(), number);
        match (&check.above, &check.comparable) {
            (Some(other), _) => format!("above {other} ({expected})"),
            (_, Some(other)) => format!("within {percent:.0} % of {other} ({expected})"),
            _ => "nothing".into(),
        }
    }
}

impl Judged {
    /// Whether all of it holds.
    pub fn holds(&self) -> bool {
        self.checks.iter().all(|check| check.holds)
    }
}

/// Compares what was found with what was published.
pub fn judge(fact: &Fact, values: Values) -> Judged {
    let checks = fact.checks.iter().map(|check| judge_check(check, &values)).collect();
    Judged { fact: fact.clone(), checks, values }
}

fn judge_check(check: &Check, values: &Values) -> JudgedCheck {
    let simulated = values.get(&check.what).copied();
    let other = |name: &Option<String>| name.as_ref().and_then(|name| values.get(name).copied());
    let expected = check.near.or(check.least).or(check.most).or(other(&check.above)).or(other(&check.comparable));
    let holds = simulated.zip(expected).is_some_and(|(simulated, expected)| check.holds_of(simulated, expected));
    JudgedCheck { check: check.clone(), simulated, expected, holds }
}

/// How many of several hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Those that hold.
    pub holding: usize,
    /// All.
    pub all: usize,
}

/// How many hold of a kind, by construction or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    /// Rows.
    pub rows: Tally,
    /// Numbers that are within their tolerance.
    pub numbers: Tally,
}

impl Tally {
    fn of(held: impl Iterator<Item = bool>) -> Tally {
        held.fold(Tally::default(), |tally, holds| Tally {
            holding: tally.holding + usize::from(holds),
            all: tally.all + 1,
        })
    }
}

/// Rows and numbers of a kind, only those that are `given`, or only the others.
pub fn tally(rows: &[Judged], kind: Kind, given: bool) -> Tallies {
    let of_kind = || rows.iter().filter(|row| row.fact.kind == kind);
    let of_rows = of_kind().filter(|row| row.fact.is_given() == given).map(Judged::holds);
    let numbers =
        of_kind().flat_map(|row| &row.checks).filter(|one| one.check.near.is_some() && one.check.given == given);
    Tallies { rows: Tally::of(of_rows), numbers: Tally::of(numbers.map(|check| check.holds)) }
}

/// For people.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}
