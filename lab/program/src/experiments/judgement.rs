//! A published statement, and how it is judged.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::medians::Values;
use crate::record::{Record, Statement, Verdict};

/// A published statement and the rule that decides whether it holds.
pub struct Fact {
    pub id: &'static str,
    /// The published statement.
    pub text: &'static str,
    /// Null hypothesis that the rule must reject.
    pub null: Null,
    pub decide: fn(&Values) -> Judgement,
}

/// The null hypothesis: the claimed effect does not exist. A rule that holds under it tests nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Null {
    /// Stacks, links and sizes make no difference: all values are alike.
    Alike,
    /// Values claimed to be equal differ.
    Apart,
    /// Programs wait for bandwidth alone.
    BandwidthAlone,
    /// There is none: links are made so that it holds, for this reason.
    Given(&'static str),
    /// No value is measured.
    Untested,
}

/// The verdict, or why there is none.
pub type Judgement = Result<Found, String>;

pub struct Found {
    holds: bool,
    why: String,
    values: BTreeMap<String, Value>,
}

impl Fact {
    /// As a line of a record, with the samples that decided.
    pub fn judge(&self, record: &Record) -> (Statement, BTreeSet<usize>) {
        let values = Values::of(record);
        let (id, text) = (self.id.to_string(), self.text.to_string());
        let statement = match (self.decide)(&values) {
            Ok(Found { holds, mut why, values: mut found }) => {
                found.insert("spread, %".into(), Value::from((values.spread() * 1e3).round() / 10.0));
                let verdict = match (holds, self.null) {
                    (true, Null::Given(reason)) => {
                        why.push_str(&format!(". By construction: {reason}"));
                        Verdict::ByConstruction
                    }
                    (true, _) => Verdict::Holds,
                    (false, _) => Verdict::DoesNotHold,
                };
                Statement { id, text, verdict, why, values: found }
            }
            Err(why) => Statement { id, text, verdict: Verdict::CannotBeTested, why, values: BTreeMap::new() },
        };
        (statement, values.read())
    }
}

/// The result of a test: `rule` in words, and the values that decided.
pub fn found(holds: bool, rule: &str, values: &[(&str, f64)]) -> Judgement {
    let rounded = |value: f64| (value * 1e3).round() / 1e3;
    let values = values.iter().map(|(name, value)| (name.to_string(), Value::from(rounded(*value)))).collect();
    Ok(Found { holds, why: rule.to_string(), values })
}

/// How far a factor may be from the published one, as a part of it.
pub const TOLERANCE: f64 = 0.1;

/// Whether `value` is no further from `published` than this part of it.
pub fn near(value: f64, published: f64, part: f64) -> bool {
    (value - published).abs() <= part * published
}
