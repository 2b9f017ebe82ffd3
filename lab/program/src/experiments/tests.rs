use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::json;
use toml::Table;

use super::medians::At;
use super::statement::Null;
use super::*;
use crate::record::{Sample, Verdict};

/// Values of an experiment that were not measured.
#[derive(Deserialize)]
struct Values {
    /// Sets of places in addition to the experiment's.
    #[serde(default)]
    places: BTreeMap<String, BTreeMap<String, Table>>,
    published: Vec<Row>,
    #[serde(default)]
    otherwise: Vec<Row>,
}

/// Values at the places of a set.
#[derive(Deserialize)]
struct Row {
    values: BTreeMap<String, f64>,
    #[serde(flatten)]
    keys: Table,
}

/// A value of a record.
#[derive(Clone)]
struct Given {
    at: At,
    value: f64,
}

impl Given {
    /// Panics when the plan measures no such value: a statement that asks for it could never be judged.
    fn check(&self, plan: &Plan) {
        let At { stack, benchmark, link, size, .. } = &self.at;
        assert!(plan.stacks.contains(stack), "{stack}");
        assert!(plan.links.iter().any(|known| known.name == *link), "{link}");
        let found = plan.benchmarks.iter().find(|known| known.name == *benchmark);
        let found = found.unwrap_or_else(|| panic!("{benchmark}"));
        let has_stack = found.stacks.is_empty() || found.stacks.contains(stack);
        assert!(has_stack && !found.exclude.contains_key(stack), "{benchmark} leaves {stack} out");
        assert!(found.is_on(link), "{benchmark} leaves {link} out");
        let shown = match *size {
            None => return,
            Some(size) if size >= 1 << 20 => format!("{}M", size >> 20),
            Some(size) if size >= 1 << 10 => format!("{}K", size >> 10),
            Some(size) => size.to_string(),
        };
        let sizes = found.options.value("--sizes").unwrap_or_default();
        assert!(sizes.split(',').any(|known| known == shown), "{benchmark} has no size {shown}");
    }

    fn sample(&self) -> Sample {
        let At { stack, benchmark, link, size, metric, option, .. } = &self.at;
        let options: BTreeMap<_, _> = option.iter().cloned().collect();
        let value = json!({"stack": stack, "benchmark": benchmark, "link": link, "round": 0, "ranks": 2,
            "size_bytes": size, "metric": metric.as_deref().unwrap_or("any"), "unit": "any", "value": self.value,
            "options": options});
        serde_json::from_value(value).unwrap()
    }
}

fn values(experiment: &str) -> Values {
    let mut all: BTreeMap<String, Values> =
        toml::from_str(include_str!("../../experiments/tests/values.toml")).unwrap();
    all.remove(experiment).unwrap()
}

fn given(experiment: &str, places: &BTreeMap<String, BTreeMap<String, Table>>, rows: &[Row]) -> Vec<Given> {
    let mut published = find(experiment).unwrap().published();
    published.places.extend(places.clone());
    let of_row = |row: &Row| {
        let all = published.at(&[&row.keys]).unwrap();
        assert_eq!(all.len(), row.values.len(), "{:?}", row.keys);
        all.into_iter().map(|(place, at)| Given { at, value: row.values[&place[1..]] }).collect::<Vec<_>>()
    };
    rows.iter().flat_map(of_row).collect()
}

/// Values with which all statements hold.
fn as_published(experiment: &str) -> Vec<Given> {
    let Values { places, published, .. } = values(experiment);
    given(experiment, &places, &published)
}

/// A record of these values, with the plan's links.
fn record(experiment: &str, values: &[Given]) -> Record {
    let (plan, _) = find(experiment).unwrap().plan(false).unwrap();
    values.iter().for_each(|given| given.check(&plan));
    let links = if values.is_empty() { vec![] } else { plan.links.iter().map(|link| link.recorded()).collect() };
    Record { links, samples: values.iter().map(Given::sample).collect(), ..Record::synthetic(json!({})) }
}

/// Verdicts on a record of these values: ids, and whether they hold.
fn verdicts(experiment: &str, values: &[Given]) -> Vec<(String, bool)> {
    let statements = find(experiment).unwrap().statements(&record(experiment, values));
    let judged = statements.into_iter().filter(|statement| statement.verdict != Verdict::CannotBeTested);
    judged.map(|statement| (statement.id, statement.verdict != Verdict::DoesNotHold)).collect()
}

/// The statements that do not hold with these values.
fn missed(experiment: &str, values: &[Given]) -> Vec<String> {
    verdicts(experiment, values).into_iter().filter(|(_, holds)| !holds).map(|(id, _)| id).collect()
}

/// The statements of an experiment that can be tested.
fn tested(experiment: &str) -> Vec<String> {
    let facts = find(experiment).unwrap().published().facts;
    facts.into_iter().filter(|fact| fact.untested.is_none()).map(|fact| fact.id).collect()
}

/// These values as they would be under a hypothesis.
fn under(null: Null, values: &[Given]) -> Vec<Given> {
    let place = |of: fn(&Given) -> &String, given: &Given| {
        let all: BTreeSet<&String> = values.iter().map(of).collect();
        all.iter().position(|known| *known == of(given)).unwrap_or_default() as i32
    };
    let value = |given: &Given| match null {
        Null::Apart => {
            let apart = place(|given| &given.at.stack, given) + place(|given| &given.at.link, given);
            let part = given.at.option.as_ref().map_or(0, |(_, number)| *number as i32);
            100.0 * 1.5_f64.powi(apart + part)
        }
        // Times of programs on one port, on two, and on the one that is eight times as fast.
        Null::BandwidthAlone if given.at.size.is_none() => match &given.at.link {
            link if link.contains("one port") => 100.0,
            link if link.contains("two ports") => 50.0,
            _ => 12.5,
        },
        _ => 100.0,
    };
    values.iter().map(|given| Given { value: value(given), ..given.clone() }).collect()
}

#[test]
fn plans_are_sound_and_quick_ones_have_one_round() {
    for name in names() {
        let experiment = find(name).unwrap();
        let (plan, catalog) = experiment.plan(true).unwrap();
        assert_eq!(plan.rounds, 1);
        plan.stacks.iter().for_each(|stack| assert!(catalog.find(stack).is_ok(), "{stack}"));
        assert!(experiment.plan(false).unwrap().0.rounds > 1);
    }
}

#[test]
fn statements_have_a_null_hypothesis_or_a_reason_why_not() {
    for fact in names().into_iter().flat_map(|name| find(name).unwrap().published().facts) {
        let given = [fact.null.is_some(), fact.by_construction.is_some(), fact.untested.is_some()];
        assert_eq!(given.iter().filter(|given| **given).count(), 1, "{}", fact.id);
    }
}

#[test]
fn published_values_hold() {
    for name in names() {
        let all: Vec<_> = tested(name).into_iter().map(|id| (id, true)).collect();
        assert_eq!(verdicts(name, &as_published(name)), all);
    }
}

/// Values without the effect that a statement claims, and otherwise as published: its rule refuses them. Rules that hold by
/// links alone are listed apart.
#[test]
fn every_rule_refuses_its_null_hypothesis() {
    for name in names() {
        let published = as_published(name);
        for null in [Null::Alike, Null::Apart, Null::BandwidthAlone] {
            let refused = missed(name, &under(null, &published));
            for fact in find(name).unwrap().published().facts.iter().filter(|fact| fact.null == Some(null)) {
                assert!(refused.contains(&fact.id), "{}: {null:?}", fact.id);
            }
        }
    }
}

#[test]
fn without_values_nothing_is_judged() {
    for name in names() {
        let statements = find(name).unwrap().statements(&record(name, &[]));
        assert!(statements.iter().all(|statement| statement.verdict == Verdict::CannotBeTested), "{name}");
    }
}

/// Values as published, changed.
fn changed(experiment: &str, change: impl Fn(&At, f64) -> f64) -> Vec<Given> {
    let all = as_published(experiment).into_iter();
    all.map(|Given { at, value }| Given { value: change(&at, value), at }).collect()
}

#[test]
fn other_values_make_none_hold() {
    // The second rail brings nothing, striping is half as fast as binding, and weights do not help.
    let flat = changed("multirail-2004", |at, _| match (at.link.as_str(), at.stack.as_str()) {
        ("unequal", _) => 25.0,
        _ if at.benchmark == "a rail is shared for 3 s" => 60.0,
        (_, "even") if at.option.is_some() => 20.0,
        (_, "binding") => 40.0,
        _ => 10.0,
    });
    assert_eq!(missed("multirail-2004", &flat), tested("multirail-2004"));
    // Delay, windows, streams, thresholds, pairs and hosts make no difference.
    assert_eq!(missed("wan-2008", &changed("wan-2008", |_, _| 10.0)), tested("wan-2008"));
    let Values { places, otherwise, .. } = values("endapps-2006");
    assert_eq!(missed("endapps-2006", &given("endapps-2006", &places, &otherwise)), tested("endapps-2006"));
}

#[test]
fn a_larger_gain_than_published_is_a_different_finding() {
    let two_rails = |at: &At| at.stack == "even" && ["is", "visualization"].contains(&at.benchmark.as_str());
    let better = changed("multirail-2004", |at, value| if two_rails(at) { 0.8 * value } else { value });
    assert_eq!(missed("multirail-2004", &better), ["M12", "M13"]);
}

#[test]
fn a_search_that_waits_for_no_network_has_no_rpi() {
    let slow = changed("endapps-2006", |at, value| match at.link.as_str() {
        _ if at.benchmark != "search in files" => value,
        "files, one port" => 100.0,
        "files, two ports" => 99.0,
        _ => 98.0,
    });
    let statements = find("endapps-2006").unwrap().statements(&record("endapps-2006", &slow));
    let search = statements.iter().find(|statement| statement.id == "E12").unwrap();
    assert_eq!(search.verdict, Verdict::CannotBeTested);
    assert_eq!(search.why, "the fast port brings 2.0 % of the run time, too little to divide by");
}

#[test]
fn two_links_that_are_alike_make_none_of_it_but_what_needs_no_difference() {
    let alike = changed("pecnit-2007", |at, value| if at.option.is_none() { 100.0 } else { value });
    let holding = verdicts("pecnit-2007", &alike).into_iter().filter(|(_, holds)| *holds);
    assert_eq!(holding.map(|(id, _)| id).collect::<Vec<_>>(), ["D9", "D11", "D12"]);
}

#[test]
fn a_peer_or_a_distance_that_stands_out_is_reported() {
    let uneven = changed("pecnit-2007", |at, value| match at.option.as_ref().map(|(name, at)| (name.as_str(), *at)) {
        Some(("peer", 3)) => 1.3 * value,
        Some(("distance", 2)) => 0.7 * value,
        _ => value,
    });
    assert_eq!(missed("pecnit-2007", &uneven), ["D11", "D12"]);
}

#[test]
fn the_rail_is_shared_when_the_plan_says() {
    let (plan, _) = find("multirail-2004").unwrap().plan(false).unwrap();
    let benchmark = plan.benchmarks.iter().find(|known| known.name == "a rail is shared for 3 s").unwrap();
    let first_result_s: f64 = benchmark.options.value("--interval").unwrap().parse().unwrap();
    let changes = benchmark.schedule.iter().flat_map(|schedule| &schedule.entries);
    let times: Vec<f64> = changes.map(|entry| entry.at.as_secs_f64() + first_result_s).collect();
    let place = &find("multirail-2004").unwrap().published().places["times"];
    let time = |name: &str, key: &str| place[name][key].as_float().unwrap();
    assert_eq!(times, [time("before", "until_s"), time("even", "until_s")]);
    let settled = times.iter().map(|time| time + 1.0).collect::<Vec<_>>();
    assert_eq!(settled, [time("even", "after_s"), time("afterwards", "after_s")]);
}
