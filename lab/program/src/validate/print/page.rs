//! Measured and simulated, as a page: the report of both as stacks side by side, with the table of all points.

use anyhow::Result;
use maud::{Markup, html};

use super::table;
use crate::record::{Record, Sample, Stack};
use crate::report::{self, Report};
use crate::validate::Validation;
use crate::validate::point::{Point, Role};

/// Name of a modelled stack.
fn simulated(stack: &str) -> String {
    format!("{stack}, simulated")
}

pub fn render(validation: &Validation, record: &Record) -> Result<String> {
    let report = Report::of(vec![both(validation, record)], None, None)?;
    Ok(report::html_with(&report, &section(validation)))
}

/// A record of both: the values that were compared, and the model's.
fn both(validation: &Validation, record: &Record) -> Record {
    let mut manifest = record.manifest.clone();
    let models = record.manifest.stacks.iter();
    let models = models.map(|stack| Stack { name: simulated(&stack.name), version: "a model".into() });
    manifest.stacks.extend(models);
    let mut samples = Vec::new();
    for Point { sample, measured, simulated: value, .. } in &validation.points {
        let rounds = [measured.median, measured.least, measured.greatest];
        for (round, value) in rounds.into_iter().enumerate() {
            samples.push(Sample { round: round as u32, value, percentiles: None, ..sample.clone() });
        }
        let stack = simulated(&sample.stack);
        samples.push(Sample { stack, round: 0, value: *value, percentiles: None, ..sample.clone() });
    }
    manifest.rounds = 3;
    Record {
        links: record.links.clone(),
        samples,
        skipped: record.skipped.clone(),
        cells: record.cells.clone(),
        ..Record::of(record.file.clone(), manifest)
    }
}

fn section(validation: &Validation) -> Markup {
    let (words, class) = if validation.verdict.holds() { ("met", "holds") } else { ("not met", "does-not-hold") };
    html! {
        section #validation {
            h2 { "Measured and simulated" }
            p { "Goal: " span class={ "verdict " (class) } { (words) } }
            ul { @for line in table::summary(&validation.verdict) { li { (line) } } }
            p .note {
                "Measured: the median of the iterations, and of the rounds; beside it the least and the greatest round. Calibration points set the model and count for nothing; neither do unsteady ones."
            }
            p .note {
                @for set in &validation.calibrated { (set.parameter.name()) ": " (format!("{:.0}", set.value)) ". " }
            }
            div .scroll { table .dense {
                thead { tr {
                    @for (position, title) in table::TITLES.iter().enumerate() { th .number[position > 2] { (title) } }
                    th { "" }
                } }
                tbody { @for point in &validation.points {
                    @let (cells, role) = table::cells(point);
                    tr {
                        @for (position, cell) in cells.iter().enumerate() {
                            td .number[position > 2] .best[position == 7 && point.role == Role::Predicted] { (cell) }
                        }
                        td { (role) }
                    }
                } }
            } }
        }
    }
}
