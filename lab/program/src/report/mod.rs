//! Reports of records. Deterministic: equal records give equal bytes.
//!
//! [`model`] puts samples in order along an [`axis`]; [`comparison`] compares stacks, [`missing`] lists gaps in the
//! records, [`rail_sums`] adds up what rails carried. [`print`](mod@print) has the forms of a report. Commands and
//! `validate` call this.

mod axis;
mod comparison;
mod missing;
pub mod model;
mod print;
mod rail_sums;

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use crate::record::{self, Link, Record};
use comparison::Comparison;
use model::{Model, Panel, Points};

pub use print::csv::render as csv;
pub use print::markdown::render as markdown;
pub use print::{render as html, render_with as html_with};

/// How ratios and intervals come about, for readers.
const METHOD: &str = "Ratios compare a stack with the reference in the same round, since stacks take turns within a \
    round; above 1 is better (ratios of times are turned over). A ratio is the geometric mean over the rounds, its \
    interval Student's t at 95 % on the logarithms. \u{201c}All\u{201d} is the geometric mean over all places along the axis that \
    both stacks have. A stack is marked as best only where its interval against every other stack lies above 1.";

/// Contents common to all forms of the report.
pub struct Report {
    records: Vec<Record>,
    model: Model,
    title: String,
    /// Position of the stack that others are compared with.
    reference: usize,
}

/// A line of the summary.
struct Row<'a> {
    panel: &'a Panel,
    points: &'a Points,
    comparison: Comparison,
    /// Whether it is the panel's first.
    first: bool,
}

impl Report {
    /// Puts records in order.
    ///
    /// # Errors
    /// When there is no such reference stack, or records describe a link differently.
    pub fn of(records: Vec<Record>, title: Option<String>, reference: Option<&str>) -> Result<Report> {
        let model = Model::of(&records)?;
        let first = records.first().context("no record")?;
        record::links_agree(&records.iter().collect::<Vec<_>>())?;
        let named = reference.or(first.manifest.reference.as_deref());
        let reference = named.map_or(Some(0), |named| model.stacks.iter().position(|stack| stack == named));
        let stacks = model.stacks.join(", ");
        let unknown =
            || format!("there is no stack \"{}\" in the record: there are {stacks}", named.unwrap_or_default());
        let reference = reference.with_context(unknown)?;
        ensure!(!model.stacks.is_empty(), "{}: the manifest names no stack", first.file.display());
        let asked = title.or_else(|| first.manifest.title.clone());
        let title = asked.unwrap_or_else(|| format!("{} over {}", some_of(&model.stacks), some_of(&model.links)));
        Ok(Report { records, model, title, reference })
    }

    /// The summary: one or two lines a panel.
    fn summary(&self) -> Vec<Row<'_>> {
        let mut rows = Vec::new();
        for (panel, points) in &self.model.panels {
            let comparisons = comparison::summarize(panel, points, self.model.stacks.len(), self.reference);
            for (number, comparison) in comparisons.into_iter().enumerate() {
                rows.push(Row { panel, points, comparison, first: number == 0 });
            }
        }
        rows
    }

    /// Links as the records describe them, with the number of the record where there are several.
    fn links(&self) -> impl Iterator<Item = (usize, &Link)> {
        // Of several lines for one link in a record the last one counts.
        self.records.iter().enumerate().flat_map(|(number, record)| {
            let last: BTreeMap<&str, usize> =
                record.links.iter().enumerate().map(|(i, l)| (l.name.as_str(), i)).collect();
            record
                .links
                .iter()
                .enumerate()
                .filter(move |(i, l)| last[l.name.as_str()] == *i)
                .map(move |(_, l)| (number, l))
        })
    }
}

/// `a, b and 3 more`.
fn some_of(names: &[String]) -> String {
    const MAX_NAMES: usize = 3;
    match names {
        [] => "nothing".into(),
        [one] => one.clone(),
        _ if names.len() <= MAX_NAMES => {
            format!("{} and {}", names[..names.len() - 1].join(", "), names[names.len() - 1])
        }
        _ => format!("{} and {} more", names[..MAX_NAMES - 1].join(", "), names.len() - MAX_NAMES + 1),
    }
}
