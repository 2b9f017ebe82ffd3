//! Machines of papers: their files, and what is found on them.

use fishplate_sim::reproduce::{FACTS, Kind, Lab, ROWS, judge, read_facts};
use fishplate_sim::testbed::{Description, SHIPPED};

/// Rows that are quick to find.
const QUICK: [&str; 4] = ["M1", "E3", "D1", "W18"];

#[test]
fn every_number_of_a_testbed_says_where_it_comes_from() {
    for (name, text) in SHIPPED {
        let parameters =
            Description::parse(text).unwrap_or_else(|error| panic!("{name}: {error}")).parameters().unwrap();
        assert!(parameters.len() > 20, "{name}");
    }
    let silent = SHIPPED[0].1.replacen("source = \"section 6.1\"", "", 1);
    let error = Description::parse(&silent).unwrap_err();
    assert!(error.contains("cluster.0.nodes"), "{error}");
    let unbounded = SHIPPED[0].1.replacen(", range = [800, 2500]", "", 1);
    assert_eq!(Description::parse(&unbounded).unwrap_err(), "host.shm_latency_ns: an assumption needs its range");
}

#[test]
fn no_parameter_is_set_by_a_prediction() {
    let facts = read_facts(FACTS).unwrap();
    let predicted: Vec<&str> = facts.iter().filter(|fact| fact.kind != Kind::C).map(|fact| fact.id.as_str()).collect();
    for (name, text) in SHIPPED {
        for (path, parameter) in Description::parse(text).unwrap().parameters().unwrap() {
            let words = parameter.source.or(parameter.assumed).unwrap_or_default();
            let cites = |id: &&&str| words.split(|c: char| !c.is_alphanumeric()).any(|word| word == **id);
            assert_eq!(predicted.iter().find(cites), None, "{name}: {path}");
        }
    }
}

#[test]
fn a_parameter_that_is_not_there_is_named() {
    let testbed = Description::parse(SHIPPED[0].1).unwrap();
    assert_eq!(testbed.with("rail.7.link.mbit", "1").unwrap_err(), "the testbed has no rail.7.link.mbit");
    assert_eq!(testbed.with("rail.0.link", "1").unwrap_err(), "rail.0.link is not one value");
    assert_eq!(testbed.with("rail.0.link.mbit", "fast").unwrap_err(), "rail.0.link.mbit cannot be \"fast\"");
    assert!(testbed.with("stack.multirail.striping", "zebra").unwrap_err().contains("striping: allowed: binding"));
}

#[test]
fn every_row_has_its_program_and_every_program_its_row() {
    let facts = read_facts(FACTS).unwrap();
    let rows: Vec<(&str, &str)> = ROWS.iter().map(|row| (row.id, row.paper)).collect();
    let table: Vec<(&str, &str)> = facts.iter().map(|fact| (fact.id.as_str(), fact.paper.as_str())).collect();
    assert_eq!(rows, table);
}

/// What is simulated does not depend on what was published: only the judgement does.
#[test]
fn another_target_changes_no_simulated_value() {
    let mut facts = read_facts(FACTS).unwrap();
    let mut judged = || -> Vec<_> {
        let lab = Lab::new(1);
        let rows = ROWS.iter().filter(|row| QUICK.contains(&row.id));
        let all = rows.map(|row| {
            let fact = facts.iter().find(|fact| fact.id == row.id).unwrap();
            judge(fact, (row.find)(&lab).unwrap())
        });
        let all: Vec<_> = all.collect();
        for check in facts.iter_mut().flat_map(|fact| &mut fact.checks) {
            check.near = check.near.map(|near| near * 3.0);
        }
        all
    };
    let (before, after) = (judged(), judged());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.values, after.values);
    }
    assert!(before.iter().all(|row| row.holds()));
    assert!(!after[0].holds());
}

/// Unequal rails: nobody tells the policy that the bus makes 2:1 the best ratio both ways.
#[test]
fn adaptive_striping_settles_near_the_ratio_that_the_bus_allows() {
    let row = ROWS.iter().find(|row| row.id == "M15").unwrap();
    let found = (row.find)(&Lab::new(1)).unwrap();
    let ratio = found["adaptive, share of rail 1 over that of rail 2"];
    assert!((1.7..2.3).contains(&ratio), "{ratio}");
}
