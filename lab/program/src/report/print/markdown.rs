//! The report as Markdown.

use std::fmt::Write;

use super::labels;
use crate::output::page::chart;
use crate::output::table::{Table, escape};
use crate::report::model::Place;
use crate::report::{METHOD, Report};

pub fn render(report: &Report) -> String {
    let mut text = format!("# {}\n", escape(&report.title));
    section(&mut text, "Summary", &summary(report));
    line(&mut text, &format!("\nThe reference is {}. {METHOD}", escape(&report.model.stacks[report.reference])));
    section(&mut text, "Published statements", &statements(report));
    values(&mut text, report);
    section(&mut text, "Rails of the links", &links(report));
    section(&mut text, "Not measured", &labels::gaps(report));
    for number in 0..report.records.len() {
        let facts = labels::conditions(report, number);
        let rows = facts.into_iter().map(|(name, value)| vec![name, value]).collect();
        section(&mut text, "Conditions", &Table::new(&["what", "value"], usize::MAX, rows));
    }
    text
}

fn summary(report: &Report) -> Table {
    let mut titles: Vec<&str> = vec!["benchmark", "on", "at"];
    titles.extend(report.model.stacks.iter().map(String::as_str));
    let rows = report.summary().into_iter().map(|row| {
        let mut cells = vec![
            report.model.benchmarks[row.panel.benchmark].title.clone(),
            labels::panel(report, row.panel),
            labels::place(report, row.panel, row.comparison.place),
        ];
        for (stack, ratio) in row.comparison.ratios.iter().enumerate() {
            let text = match ratio {
                None => labels::NONE.into(),
                Some(_) if stack == report.reference => "1".into(),
                Some(ratio) => format!("{} ({})", labels::ratio(ratio), labels::interval(ratio)),
            };
            cells.push(if row.comparison.best == Some(stack) { format!("**{text}**") } else { text });
        }
        cells
    });
    Table::new(&titles, usize::MAX, rows.collect())
}

fn statements(report: &Report) -> Table {
    let all = report.records.iter().flat_map(|record| &record.statements);
    let row = |s: &crate::record::Statement| {
        vec![s.id.clone(), s.text.clone(), labels::verdict(s.verdict).0.to_string(), s.why.clone()]
    };
    Table::new(&["id", "statement", "here", "why"], usize::MAX, all.map(row).collect())
}

fn values(text: &mut String, report: &Report) {
    for (panel, points) in &report.model.panels {
        let benchmark = &report.model.benchmarks[panel.benchmark];
        let mut titles = vec![benchmark.axis.caption()];
        titles.extend(report.model.stacks.iter().cloned());
        let row = |place: &Place| {
            let stacks = 0..report.model.stacks.len();
            let value =
                |stack| labels::spread(points, *place, stack).map(|spread| chart::format_spread(&spread, &panel.unit));
            let mut cells = vec![labels::place(report, panel, Some(*place))];
            cells.extend(stacks.map(|stack| value(stack).unwrap_or_else(|| labels::NONE.into())));
            cells
        };
        let name = format!("{}: {}", benchmark.title, labels::panel(report, panel));
        section(text, &escape(&name), &Table { titles, numbers_from: 0, rows: points.keys().map(row).collect() });
    }
}

fn links(report: &Report) -> Table {
    let rows = report.links().flat_map(|(_, link)| {
        link.rails.iter().map(move |rail| {
            let mut cells = vec![link.name.clone(), rail.name.clone()];
            cells.extend(labels::asked(rail));
            cells.extend(labels::measured(rail));
            cells.push(labels::emulator(link));
            cells
        })
    });
    let titles = ["link", "rail", "rate", "delay", "loss", "queue", "measured rate", "round trip", "emulator"];
    Table::new(&titles, usize::MAX, rows.collect())
}

/// A heading and a table; empty if the table has no rows.
fn section(text: &mut String, title: &str, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    line(text, &format!("\n## {title}\n\n{}", table.to_string().trim_end()));
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}
