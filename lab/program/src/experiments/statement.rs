//! Published statements, as the files of `lab/program/experiments` describe them, and how they are judged.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use toml::Table;

use super::expression::{self, Names};
use super::medians::{At, Values};
use crate::record::{Record, Statement, Verdict};

/// The statements of an experiment.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Keys of [`At`], where a statement has no other ones.
    #[serde(default)]
    usual: Table,
    /// Sets of places by name, each with keys of [`At`].
    pub places: BTreeMap<String, BTreeMap<String, Table>>,
    #[serde(rename = "statement")]
    pub facts: Vec<Fact>,
}

/// A published statement and the rule that decides whether it holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    pub id: String,
    /// The published statement.
    text: String,
    /// Null hypothesis that the rule must reject.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests hold the rule against it"))]
    pub null: Option<Null>,
    /// Instead: links are made so that it holds, for this reason.
    pub by_construction: Option<String>,
    /// Instead of both: no value is measured, for this reason.
    pub untested: Option<String>,
    /// The rule in words.
    #[serde(default)]
    rule: String,
    /// Link whose rates, as they were asked for, are the set `rails`.
    rails: Option<String>,
    /// Keys of [`At`] that the measured values have in common.
    #[serde(default)]
    at: Table,
    /// Measured values by name, with keys of [`At`]. With `over = SET` it is a set: a value for each of these places.
    #[serde(default)]
    measured: BTreeMap<String, Table>,
    /// Names for people of the values that decide, with their expressions.
    #[serde(default)]
    found: BTreeMap<String, String>,
    /// All comparisons that have to hold, except those of values that are not defined.
    #[serde(default)]
    holds: Vec<String>,
    /// Why there is no verdict when a value is not defined.
    undefined: Option<Undefined>,
}

/// A text, in which `{}` is an expression's value.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Undefined {
    value: String,
    text: String,
}

/// The null hypothesis: the claimed effect does not exist. A rule that holds under it tests nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Null {
    /// Stacks, links and sizes make no difference: all values are alike.
    Alike,
    /// Values claimed to be equal differ.
    Apart,
    /// Programs wait for bandwidth alone.
    #[serde(rename = "bandwidth alone")]
    BandwidthAlone,
}

/// Whether a statement holds, and the values that decided; or why that is not known.
type Judgement = Result<(bool, BTreeMap<String, Value>), String>;

impl Published {
    /// A statement as a line of a record, with the samples that decided.
    pub fn judge(&self, fact: &Fact, record: &Record) -> (Statement, BTreeSet<usize>) {
        let values = Values::of(record);
        let (verdict, why, values_found) = match self.decide(fact, &values) {
            Ok((holds, mut found)) => {
                found.insert("spread, %".into(), Value::from((values.spread() * 1e3).round() / 10.0));
                match (holds, &fact.by_construction) {
                    (true, Some(reason)) => {
                        (Verdict::ByConstruction, format!("{}. By construction: {reason}", fact.rule), found)
                    }
                    (true, None) => (Verdict::Holds, fact.rule.clone(), found),
                    (false, _) => (Verdict::DoesNotHold, fact.rule.clone(), found),
                }
            }
            Err(why) => (Verdict::CannotBeTested, why, BTreeMap::new()),
        };
        let statement = Statement { id: fact.id.clone(), text: fact.text.clone(), verdict, why, values: values_found };
        (statement, values.read())
    }

    fn decide(&self, fact: &Fact, values: &Values) -> Judgement {
        if let Some(why) = &fact.untested {
            return Err(why.clone());
        }
        let names = self.names(fact, values)?;
        let mut found = BTreeMap::new();
        for (name, text) in &fact.found {
            let value = expression::value(text, &names)?;
            match &fact.undefined {
                Some(Undefined { value: named, text }) if value.is_nan() => {
                    return Err(text.replace("{}", &format!("{:.1}", expression::value(named, &names)?)));
                }
                _ if value.is_nan() => {}
                _ => {
                    found.insert(name.clone(), Value::from((value * 1e3).round() / 1e3));
                }
            }
        }
        let held = fact.holds.iter().map(|text| expression::holds(text, &names)).collect::<Result<Vec<_>, _>>()?;
        let mut defined = held.into_iter().flatten().peekable();
        Ok((defined.peek().is_some() && defined.all(|holds| holds), found))
    }

    /// All values of a statement.
    fn names(&self, fact: &Fact, values: &Values) -> Result<Names, String> {
        let mut names = Names::new();
        for (name, keys) in &fact.measured {
            for (place, at) in self.at(&[&fact.at, keys])? {
                names.insert(format!("{name}{place}"), values.median(&at)?);
            }
        }
        if let Some(link) = &fact.rails {
            let rails = values.rails_mb_per_s(link)?;
            names.extend(rails.into_iter().enumerate().map(|(number, rate)| (format!("rails.{number}"), rate)));
        }
        Ok(names)
    }

    /// What these keys mean, later ones before earlier ones: at one place without a name, or at each of a set, whose names
    /// begin with a point.
    pub fn at(&self, keys: &[&Table]) -> Result<Vec<(String, At)>, String> {
        let mut all = self.usual.clone();
        keys.iter().for_each(|keys| all.extend((*keys).clone()));
        let at = |keys: Table| keys.try_into::<At>().map_err(|error| error.to_string());
        let Some(over) = all.remove("over") else { return Ok(vec![(String::new(), at(all)?)]) };
        let set = over.as_str().and_then(|over| self.places.get(over));
        let set = set.ok_or_else(|| format!("there is no set of places {over:?}"))?;
        let place = |(name, keys): (&String, &Table)| {
            let keys = all.iter().chain(keys).map(|(key, value)| (key.clone(), value.clone())).collect();
            Ok((format!(".{name}"), at(keys)?))
        };
        set.iter().map(place).collect()
    }
}
