//! Medians over the rounds: a row for each benchmark, link and size, a column a stack.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};

use super::choice::{Choice, has, position};
use super::grid::{self, Grid, Row};
use crate::record::{Record, Sample};
use crate::statistics::Spread;

/// Position of the benchmark, of the link, and the size in bytes.
type Line = (usize, usize, u64);
/// Positions of the link and of the stack.
type Column = (usize, usize);
/// Values by round, of each metric.
type Metrics = BTreeMap<String, BTreeMap<u32, f64>>;

/// The values that a table shows.
struct Chosen<'a> {
    cells: BTreeMap<(Line, Column), Metrics>,
    /// A sample of each row, for its names.
    rows: BTreeMap<Line, &'a Sample>,
    columns: BTreeMap<Column, Vec<String>>,
}

/// The table.
///
/// # Errors
/// When a cell has several values that no row tells apart.
pub fn grid(choice: &Choice, record: &Record) -> Result<Grid> {
    let chosen = Chosen::of(choice, record)?;
    let rows = chosen.rows.iter().map(|(line, sample)| {
        let link = if choice.links_across { String::new() } else { sample.link.clone() };
        let size = grid::size(sample.size_bytes.unwrap_or(0));
        let median = |column: &Column| {
            chosen.cells.get(&(*line, *column)).map_or(grid::NONE.into(), |metrics| cell(choice, metrics))
        };
        Row {
            labels: vec![sample.unit.clone(), sample.benchmark.clone(), link, size],
            cells: chosen.columns.keys().map(median).collect(),
        }
    });
    let rows = rows.collect();
    let labels = vec!["unit", "benchmark", "rails, Mbit/s", "message size"];
    Ok(Grid { labels, titles: chosen.columns.into_values().collect(), rows })
}

impl<'a> Chosen<'a> {
    fn of(choice: &Choice, record: &'a Record) -> Result<Chosen<'a>> {
        let mut chosen = Chosen { cells: BTreeMap::new(), rows: BTreeMap::new(), columns: BTreeMap::new() };
        let mut conditions: BTreeMap<(Line, Column, &str), BTreeSet<String>> = BTreeMap::new();
        for sample in &record.samples {
            let Some((line, column)) = place(choice, record, sample) else { continue };
            let title = [&sample.link, &sample.stack].into_iter().skip(usize::from(!choice.links_across));
            chosen.columns.entry(column).or_insert_with(|| title.cloned().collect());
            chosen.rows.entry(line).or_insert(sample);
            let metrics = chosen.cells.entry((line, column)).or_default();
            // Of several of one round the last counts.
            metrics.entry(sample.metric.clone()).or_default().insert(sample.round, sample.value);
            let options = format!("{} ranks {:?}", sample.ranks, sample.options_given().collect::<Vec<_>>());
            conditions.entry((line, column, &sample.metric)).or_default().insert(options);
        }
        for ((line, _, metric), options) in conditions {
            let Sample { benchmark, link, .. } = chosen.rows[&line];
            let options = options.into_iter().collect::<Vec<_>>();
            ensure!(
                options.len() == 1,
                "{metric} of {benchmark} on {link} has values with several options: {options:?}"
            );
        }
        Ok(chosen)
    }
}

/// The row and the column of a sample, if the table shows it.
fn place(choice: &Choice, record: &Record, sample: &Sample) -> Option<(Line, Column)> {
    let manifest = &record.manifest;
    let stacks = manifest.stacks.iter().map(|stack| &stack.name);
    let benchmarks = manifest.benchmarks.iter().map(|benchmark| &benchmark.name);
    let stack = position(&choice.stacks, stacks, &sample.stack)?;
    let benchmark = position(&choice.benchmarks, benchmarks, &sample.benchmark)?;
    let link = position(&choice.links, manifest.links.iter(), &sample.link)?;
    let size = sample.size_bytes.unwrap_or(0);
    let is_shown = choice.has_size(size) && has(&choice.metrics, &sample.metric);
    let (row_link, column_link) = if choice.links_across { (0, link) } else { (link, 0) };
    is_shown.then_some(((benchmark, row_link, size), (column_link, stack)))
}

/// The median of the first metric, and those of the others in parentheses.
fn cell(choice: &Choice, metrics: &Metrics) -> String {
    let names: Vec<&String> =
        if choice.metrics.is_empty() { metrics.keys().collect() } else { choice.metrics.iter().collect() };
    let median = |name: &String| {
        let rounds: Vec<f64> = metrics.get(name)?.values().copied().collect();
        Some(grid::number(Spread::of(&rounds)?.median))
    };
    let mut medians = names.into_iter().map(|name| median(name).unwrap_or_else(|| grid::NONE.into()));
    let first = medians.next().unwrap_or_default();
    let others: Vec<String> = medians.collect();
    if others.is_empty() { first } else { format!("{first} ({})", others.join(", ")) }
}
