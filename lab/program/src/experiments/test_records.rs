//! Records that were not measured, for tests.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::find;
use super::judgement::Null;
use crate::record::{Record, Sample, Verdict};

/// A value of a record.
#[derive(Clone)]
pub struct Given {
    pub stack: &'static str,
    pub benchmark: &'static str,
    pub link: &'static str,
    /// Of messages; applications have none.
    pub size: Option<u64>,
    pub metric: &'static str,
    pub option: Option<(&'static str, u64)>,
    pub value: f64,
}

impl Given {
    pub fn of(stack: &'static str, benchmark: &'static str, link: &'static str, size: u64, value: f64) -> Given {
        Given { stack, benchmark, link, size: Some(size), metric: "any", option: None, value }
    }

    /// A value of what has no sizes, as applications.
    pub fn without_size(
        benchmark: &'static str,
        stack: &'static str,
        link: &'static str,
        metric: &'static str,
        value: f64,
    ) -> Given {
        Given { stack, benchmark, link, size: None, metric, option: None, value }
    }

    /// Panics when the plan measures no such value: a statement that asks for it could never be judged.
    fn check(&self, experiment: &str) {
        let (plan, _) = find(experiment).unwrap().plan(false).unwrap();
        let Given { stack, benchmark, link, size, .. } = *self;
        assert!(plan.stacks.iter().any(|name| name == stack), "{stack}");
        assert!(plan.links.iter().any(|known| known.name == link), "{link}");
        let found = plan.benchmarks.iter().find(|known| known.name == benchmark);
        let found = found.unwrap_or_else(|| panic!("{benchmark}"));
        assert!(!found.exclude.contains_key(stack), "{benchmark} leaves {stack} out");
        assert!(
            found.stacks.is_empty() || found.stacks.iter().any(|name| name == stack),
            "{benchmark} leaves {stack} out"
        );
        assert!(found.links.is_empty() || found.links.iter().any(|name| name == link), "{benchmark} leaves {link} out");
        let Some(size) = size else { return };
        let shown = match size {
            size if size >= 1 << 20 => format!("{}M", size >> 20),
            size if size >= 1 << 10 => format!("{}K", size >> 10),
            size => size.to_string(),
        };
        let sizes = found.options.value("--sizes").unwrap_or_default();
        assert!(sizes.split(',').any(|known| known == shown), "{benchmark} has no size {shown}");
    }
}

/// A record of these values, with the plan's links.
pub fn record(experiment: &str, values: &[Given]) -> Record {
    let (plan, _) = find(experiment).unwrap().plan(false).unwrap();
    let links = if values.is_empty() { vec![] } else { plan.links.iter().map(|link| link.recorded()).collect() };
    Record { links, samples: values.iter().map(sample).collect(), ..Record::synthetic(json!({})) }
}

/// Verdicts on a record of these values: ids, and whether they hold.
pub fn verdicts(experiment: &str, values: &[Given]) -> Vec<(String, bool)> {
    values.iter().for_each(|given| given.check(experiment));
    let statements = find(experiment).unwrap().statements(&record(experiment, values));
    let judged = statements.into_iter().filter(|statement| statement.verdict != Verdict::CannotBeTested);
    judged.map(|statement| (statement.id, statement.verdict != Verdict::DoesNotHold)).collect()
}

/// These values as they would be under a hypothesis.
pub fn under(null: Null, values: &[Given]) -> Vec<Given> {
    let place = |of: fn(&Given) -> String, given: &Given| {
        let all: BTreeSet<String> = values.iter().map(of).collect();
        all.iter().position(|known| *known == of(given)).unwrap_or_default() as i32
    };
    let value = |given: &Given| match null {
        Null::Apart => {
            let apart = place(|given| given.stack.to_string(), given) + place(|given| given.link.to_string(), given);
            let part = given.option.map_or(0, |(_, number)| number as i32);
            100.0 * 1.5_f64.powi(apart + part)
        }
        // Times of programs on one port, on two, and on the one that is eight times as fast.
        Null::BandwidthAlone if given.size.is_none() => match given.link {
            link if link.contains("one port") => 100.0,
            link if link.contains("two ports") => 50.0,
            _ => 12.5,
        },
        _ => 100.0,
    };
    values.iter().map(|given| Given { value: value(given), ..given.clone() }).collect()
}

fn sample(given: &Given) -> Sample {
    let options: BTreeMap<String, Value> =
        given.option.iter().map(|(name, value)| (name.to_string(), Value::from(*value))).collect();
    let value = json!({"stack": given.stack, "benchmark": given.benchmark, "link": given.link, "round": 0, "ranks": 2,
        "size_bytes": given.size, "metric": given.metric, "unit": "any", "value": given.value, "options": options});
    serde_json::from_value(value).unwrap()
}
