//! Prints changes to the terminal.

use std::collections::{BTreeMap, BTreeSet};

use super::{Compared, Comparison, Point, Verdict};
use crate::output::page::units;
use crate::output::text;

/// The table and the sentences under it.
pub fn render(comparison: &Comparison, threshold: f64, all: bool) -> String {
    let is_shown = |c: &&Compared| all || matches!(c.verdict, Verdict::Worse | Verdict::Better);
    let rows: Vec<&Compared> = comparison.compared.iter().filter(is_shown).collect();
    let mut text = String::new();
    if !rows.is_empty() {
        let names = varying(comparison);
        let titles = ["stack", "link", "benchmark", "at", "", "before", "after", "change", "95 % interval"];
        let mut table = text::table(&titles, 5);
        for row in rows {
            table.add_row(cells(row, &names));
        }
        text += &format!("{table}\n\n");
    }
    let count = |verdict| comparison.count(verdict);
    text += &format!(
        "{} worse, {} better, {} unchanged within noise and {} %",
        count(Verdict::Worse),
        count(Verdict::Better),
        count(Verdict::Same),
        units::digits(threshold * 100.0),
    );
    if count(Verdict::Untested) > 0 {
        text += &format!(", {} not tested (they need two rounds in both records)", count(Verdict::Untested));
    }
    text += ".\n";
    for (points, only) in [(&comparison.lost, "first"), (&comparison.gained, "second")] {
        for line in grouped(points) {
            text += &format!("Only in the {only} record: {line}\n");
        }
    }
    text
}

fn cells(row: &Compared, names: &BTreeSet<&str>) -> Vec<String> {
    let point = &row.point;
    let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    let verdict = match row.verdict {
        Verdict::Worse => "worse",
        Verdict::Better => "better",
        Verdict::Same => "same",
        Verdict::Untested => "not tested",
    };
    let ends = |(low, high)| format!("{} .. {}", percent(low), percent(high));
    vec![
        point.stack.clone(),
        point.link.clone(),
        point.benchmark.clone(),
        place(point, names),
        verdict.into(),
        units::quantity(row.before.median, &point.unit),
        units::quantity(row.after.median, &point.unit),
        row.change.map_or("-".into(), |change| percent(change.ratio)),
        row.change.map_or("-".into(), |change| ends(change.interval)),
    ]
}

/// Conditions that differ between points.
fn varying(comparison: &Comparison) -> BTreeSet<&str> {
    let points = || comparison.compared.iter().map(|compared| &compared.point);
    let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for point in points() {
        values.entry("ranks").or_default().insert(point.ranks.to_string());
        for (name, value) in &point.options {
            values.entry(name).or_default().insert(value.clone());
        }
    }
    values.into_iter().filter(|(_, different)| different.len() > 1).map(|(name, _)| name).collect()
}

fn place(point: &Point, names: &BTreeSet<&str>) -> String {
    let mut parts: Vec<String> = point.size_bytes.map(units::size).into_iter().collect();
    if names.contains("ranks") {
        parts.push(format!("ranks {}", point.ranks));
    }
    let options = point.options.iter().filter(|(name, _)| names.contains(name.as_str()));
    parts.extend(options.map(|(name, value)| format!("{name} {value}")));
    parts.join(", ")
}

/// One line for each stack, link and benchmark, with the places.
fn grouped(points: &[Point]) -> Vec<String> {
    let mut groups: BTreeMap<(&str, &str, &str), Vec<String>> = BTreeMap::new();
    for point in points {
        let places = groups.entry((&point.stack, &point.link, &point.benchmark)).or_default();
        places.push(place(point, &point.options.iter().map(|(name, _)| name.as_str()).collect()));
    }
    let line = |((stack, link, benchmark), places): (_, Vec<String>)| {
        let places: Vec<String> = places.into_iter().filter(|place| !place.is_empty()).collect();
        let places = if places.is_empty() { String::new() } else { format!(": {}", places.join("; ")) };
        format!("{stack}, {link}, {benchmark}{places}")
    };
    groups.into_iter().map(line).collect()
}
