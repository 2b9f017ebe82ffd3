//! The table of published results. Only [`super::judge()`] reads it.

use serde::Deserialize;

/// How far a simulated number may be from the paper's, unless a check says otherwise.
const USUAL_TOLERANCE: f64 = 0.1;

/// The table that comes with the program.
pub const FACTS: &str = include_str!("../../facts.toml");

/// How a row may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Kind {
    /// Calibration: parameters were set by it.
    C,
    /// Prediction.
    P,
    /// Ordering or trend, predicted as well.
    O,
}

/// One published fact.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// `M4`.
    pub id: String,
    /// `multirail-2004`.
    pub paper: String,
    /// How it may be used.
    pub kind: Kind,
    /// In words.
    pub text: String,
    /// Why the checks that are `given` could hardly come out otherwise, if there are any: then they are counted apart.
    pub by_construction: Option<String>,
    /// Under which hypothesis the values would be those of the check's null values: nothing of what the row claims is there.
    pub null_is: Option<String>,
    /// Why the row does not hold, where that is known.
    pub why_not: Option<String>,
    /// The condition that must hold.
    pub checks: Vec<Check>,
}

/// One condition on a value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The value's name.
    pub what: String,
    /// The published number.
    pub near: Option<f64>,
    /// No less.
    pub least: Option<f64>,
    /// No more.
    pub most: Option<f64>,
    /// More than this other value.
    pub above: Option<String>,
    /// About this other value.
    pub comparable: Option<String>,
    /// It holds by how the model is made, or a rule that tests nothing would hold as well.
    #[serde(default)]
    pub given: bool,
    /// Relative, for `near` and `comparable`.
    tolerance: Option<f64>,
    /// The value under the null hypothesis, for `near`, `least` and `most`.
    null: Option<f64>,
}

impl Fact {
    /// Whether all of it holds by construction.
    pub fn is_given(&self) -> bool {
        self.checks.iter().all(|check| check.given)
    }
}

impl Check {
    /// Relative.
    pub fn tolerance(&self) -> f64 {
        self.tolerance.unwrap_or(USUAL_TOLERANCE)
    }

    /// Whether a value is as it should be, where it is compared with this number.
    pub fn holds_of(&self, value: f64, expected: f64) -> bool {
        if self.near.is_some() || self.comparable.is_some() {
            (value / expected - 1.0).abs() <= self.tolerance()
        } else if self.least.is_some() {
            value >= expected
        } else if self.most.is_some() {
            value <= expected
        } else {
            value > expected
        }
    }

    /// Whether it holds under the null hypothesis. One that compares two values does not, by what its null is: alike where they
    /// are to differ, apart where they are to be alike.
    fn holds_of_null(&self) -> Option<bool> {
        let Some(expected) = self.near.or(self.least).or(self.most) else { return Some(false) };
        Some(self.holds_of(self.null?, expected))
    }
}

impl Fact {
    /// Whether the rule refuses its null hypothesis, and each of its numbers does: a rule that holds of it tests nothing.
    ///
    /// # Errors
    /// When they do not, or when there is no such hypothesis.
    fn check_null(&self) -> Result<(), String> {
        if self.kind == Kind::C || self.is_given() {
            return Ok(());
        }
        let problem = |what: &str| Err(format!("{}: {what}", self.id));
        if self.null_is.is_none() {
            return problem("no `null_is`: what would be if nothing of it were there");
        }
        let mut refused = false;
        for check in self.checks.iter().filter(|check| !check.given) {
            match check.holds_of_null() {
                None => return problem(&format!("{}: no `null`", check.what)),
                Some(true) if check.near.is_some() => {
                    return problem(&format!("{}: the number holds under the null hypothesis", check.what));
                }
                Some(holds) => refused |= !holds,
            }
        }
        if refused { Ok(()) } else { problem("all of it holds under the null hypothesis") }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    row: Vec<Fact>,
}

/// Reads a table.
///
/// # Errors
/// When it is none, or a rule in it holds of its null hypothesis.
pub fn read(text: &str) -> Result<Vec<Fact>, String> {
    let table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
    let is_told = |row: &&Fact| row.by_construction.is_some() == row.checks.iter().any(|check| check.given);
    match table.row.iter().find(|row| !is_told(row)) {
        Some(row) => {
            Err(format!("{}: `by_construction` is for rows with checks that are `given`, which need it", row.id))
        }
        None => table.row.iter().try_for_each(Fact::check_null).map(|()| table.row),
    }
}
