//! A published statement, and how it is judged.

use std::collections::BTreeMap;

use serde_json::Value;

use super::medians::Values;
use crate::record::{Statement, Verdict};

/// What was published, and what decides whether it holds.
pub struct Fact {
    /// Its number.
    pub id: &'static str,
    /// What was published.
    pub text: &'static str,
    /// Decides.
    pub decide: fn(&Values) -> Judgement,
}

/// What was found, or why nothing can be said.
pub type Judgement = Result<Found, String>;

/// What was found.
pub struct Found {
    holds: bool,
    why: String,
    values: BTreeMap<String, Value>,
}

impl Fact {
    /// As a record tells it.
    pub fn judge(&self, values: &Values) -> Statement {
        let (id, text) = (self.id.to_string(), self.text.to_string());
        match (self.decide)(values) {
            Ok(Found { holds, why, values }) => {
                let verdict = if holds { Verdict::Holds } else { Verdict::DoesNotHold };
                Statement { id, text, verdict, why, values }
            }
            Err(why) => Statement { id, text, verdict: Verdict::CannotBeTested, why, values: BTreeMap::new() },
        }
    }
}

/// The result of a test: `rule` in words, and the values that decided.
pub fn found(holds: bool, rule: &str, values: &[(&str, f64)]) -> Judgement {
    let rounded = |value: f64| (value * 1e3).round() / 1e3;
    let values = values.iter().map(|(name, value)| (name.to_string(), Value::from(rounded(*value)))).collect();
    Ok(Found { holds, why: rule.to_string(), values })
}

/// Whether `value` is no further from `published` than this part of it.
pub fn near(value: f64, published: f64, part: f64) -> bool {
    (value - published).abs() <= part * published
}
