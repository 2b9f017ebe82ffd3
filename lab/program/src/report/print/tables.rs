//! The report's tables, as HTML.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::labels;
use crate::output::page::{self, chart, units};
use crate::output::table::Table;
use crate::output::text;
use crate::report::rail_sums::{Sum, Sums};
use crate::report::{METHOD, Report, Row};

/// Most stacks whose columns are wide enough for ratio and interval on one line.
const MAX_WIDE_COLUMNS: usize = 5;

/// Every benchmark on every link: what each stack does against the reference.
pub fn summary(report: &Report) -> Markup {
    let rows = report.summary();
    let model = &report.model;
    html! {
        section #summary {
            h2 { "Summary" }
            p .note { "Against " strong { (model.stacks[report.reference]) } ": above 1 is better. Shaded: best beyond noise." }
            div .scroll { table .summary .dense[model.stacks.len() > MAX_WIDE_COLUMNS] {
                thead { tr {
                    th { "benchmark" } th { "on" } th { "at" }
                    @for (index, stack) in model.stacks.iter().enumerate() {
                        th .number { span .key { (page::key(index)) (stack) } }
                    }
                } }
                tbody {
                    @for (number, row) in rows.iter().enumerate() {
                        @let new = number == 0 || rows[number - 1].panel.benchmark != row.panel.benchmark;
                        tr .first[new] {
                            th scope="row" { @if new { (model.benchmarks[row.panel.benchmark].title) } }
                            td { @if row.first { (labels::panel(report, row.panel)) } }
                            td { (labels::place(report, row.panel, row.comparison.place)) }
                            @for stack in 0..model.stacks.len() { (cell(report, row, stack)) }
                        }
                    }
                }
            } }
            p .note { (METHOD) }
        }
    }
}

fn cell(report: &Report, row: &Row, stack: usize) -> Markup {
    let ratio = row.comparison.ratios[stack];
    let value = row.comparison.place.and_then(|place| labels::spread(row.points, place, stack));
    let is_reference = stack == report.reference;
    html! {
        td .number .best[row.comparison.best == Some(stack)] {
            @if let Some(value) = value { (units::quantity(value.median, &row.panel.unit)) br; }
            @match ratio {
                None if value.is_some() => small { "no common round" },
                None => (labels::NONE),
                Some(_) if is_reference => @if value.is_some() { small { "×1" } } @else { "×1" },
                Some(ratio) => {
                    @if value.is_some() { small { "×" (labels::ratio(&ratio)) } } @else { "×" (labels::ratio(&ratio)) }
                    " " small .interval { "(" (labels::interval(&ratio)) ")" }
                },
            }
        }
    }
}

/// Published facts: which hold here.
pub fn statements(report: &Report) -> Markup {
    let all: Vec<_> = report.records.iter().flat_map(|record| &record.statements).collect();
    html! {
        @if !all.is_empty() { section #statements {
            h2 { "Published statements" }
            p .note { "Published statements, judged on these links." }
            div .scroll { table {
                thead { tr { th { "id" } th { "statement" } th { "here" } th { "why" } } }
                tbody { @for statement in all {
                    @let (words, class) = labels::verdict(statement.verdict);
                    tr {
                        th scope="row" { (statement.id) }
                        td { (statement.text) }
                        td { span class={ "verdict " (class) } { (words) } }
                        td {
                            (statement.why)
                            @if !statement.values.is_empty() {
                                " " small { "(" @for (number, (name, value)) in statement.values.iter().enumerate() {
                                    @if number > 0 { ", " } (name) " " (value)
                                } ")" }
                            }
                        }
                    }
                } }
            } }
        } }
    }
}

/// A panel's values as a table, for those who want digits.
pub fn values(report: &Report, panel: &crate::report::Panel, points: &crate::report::Points) -> Markup {
    let model = &report.model;
    let stacks = || (0..model.stacks.len()).filter(|stack| points.values().any(|stacks| stacks.contains_key(stack)));
    html! {
        details {
            summary { "Values" }
            div .scroll { table {
                thead { tr {
                    th .number { (model.benchmarks[panel.benchmark].axis.caption()) }
                    @for stack in stacks() { th .number { (model.stacks[stack]) } }
                } }
                tbody { @for place in points.keys() { tr {
                    th .number scope="row" { (labels::place(report, panel, Some(*place))) }
                    @for stack in stacks() {
                        td .number {
                            @match labels::spread(points, *place, stack) {
                                Some(spread) => {
                                    (chart::format_spread(&spread, &panel.unit))
                                    @if let Some(p99) = labels::p99(points, *place, stack).filter(|_| panel.lower_is_better) {
                                        br; small { "p99 " (units::quantity(p99, &panel.unit)) }
                                    }
                                },
                                None => (labels::NONE),
                            }
                        }
                    }
                } } }
            } }
        }
    }
}

/// Links: asked and measured.
pub fn links(report: &Report) -> Markup {
    let several = report.records.len() > 1;
    html! {
        @if report.links().next().is_some() { section #links {
            h2 { "Links" }
            p .note { "Each rail as configured, and as plain sockets measured it before the benchmarks. Delays are one way." }
            div .scroll { table {
                thead { tr {
                    th { "link" } th { "rail" }
                    @for title in ["rate", "delay", "loss", "queue", "measured rate", "round trip", "emulator, of a core"] {
                        th .number { (title) }
                    }
                } }
                tbody { @for (record, link) in report.links() { @for (number, rail) in link.rails.iter().enumerate() {
                    tr .first[number == 0] {
                        th scope="row" {
                            @if number == 0 { (link.name) @if several { " " small { "record " (record + 1) } } }
                        }
                        td { (rail.name) }
                        @for text in labels::asked(rail).iter().chain(&labels::measured(rail)) { td .number { (text) } }
                        td .number { @if number == 0 { (labels::emulator(link)) } }
                    }
                } } }
            } }
        } }
    }
}

/// Missing measurements, with reasons.
pub fn missing(report: &Report) -> Markup {
    let gaps = labels::gaps(report);
    html! { @if !gaps.rows.is_empty() { section #missing { h2 { "Not measured" } (gaps.html()) } } }
}

/// Under which conditions.
pub fn conditions(report: &Report) -> Markup {
    html! {
        section #conditions {
            h2 { "Conditions" }
            @for number in 0..report.records.len() {
                @if report.records.len() > 1 { h3 { "Record " (number + 1) } }
                dl { @for (name, value) in labels::conditions(report, number) { dt { (name) } dd { (value) } } }
            }
        }
    }
}

/// Bytes sent over rails, and retransmitted bytes.
pub fn sent(report: &Report, stacks: &BTreeMap<usize, Sums>) -> Markup {
    let rows = stacks.iter().flat_map(|(stack, rails)| rails.iter().map(move |(rail, sum)| (stack, rail, sum)));
    let row = |(stack, rail, sum): (&usize, &String, &Sum)| {
        let stack = report.model.stacks[*stack].clone();
        vec![stack, rail.clone(), text::bytes(sum.bytes), text::thousands(sum.retransmitted)]
    };
    let table = Table::new(&["stack", "rail", "sent", "segments sent again"], 2, rows.map(row).collect());
    html! { details { summary { "Bytes and segments sent again" } (table.html()) } }
}

/// The comparisons, and how often each stack is best.
pub fn lead(report: &Report) -> Markup {
    let rows: Vec<Row> = report.summary().into_iter().filter(|row| row.first).collect();
    let count = |stack: Option<usize>| rows.iter().filter(|row| row.comparison.best == stack).count();
    let model = &report.model;
    let winners = (0..model.stacks.len()).map(|stack| (&model.stacks[stack], count(Some(stack))));
    let mut winners: Vec<(&String, usize)> = winners.filter(|(_, won)| *won > 0).collect();
    winners.sort_by_key(|(_, won)| std::cmp::Reverse(*won));
    let rounds: u32 = report.records.iter().map(|record| record.manifest.rounds).sum();
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    html! {
        p .lead {
            (plural(model.stacks.len(), "stack")) " on " (plural(model.links.len(), "link")) " with "
            (plural(model.benchmarks.len(), "benchmark")) ", in turn, over " (plural(rounds as usize, "round")) ". "
            @if rows.is_empty() { "Nothing was measured." }
            @else if winners.is_empty() { "In none of " (plural(rows.len(), "comparison")) " is a stack best beyond noise." }
            @else {
                "Of " (plural(rows.len(), "comparison")) ", "
                @for (stack, won) in &winners { strong { (stack) } " is best beyond noise in " (won) ", " }
                "and " (count(None)) " " @if count(None) == 1 { "has" } @else { "have" } " no clear best."
            }
        }
    }
}

/// How many of the published facts hold.
pub fn tiles(report: &Report) -> Markup {
    use crate::record::Verdict::{ByConstruction, CannotBeTested, DoesNotHold, Holds};
    let counted = [
        (Holds, "hold here"),
        (ByConstruction, "hold here by construction"),
        (DoesNotHold, "do not hold here"),
        (CannotBeTested, "cannot be tested here"),
    ];
    let all: Vec<_> = report.records.iter().flat_map(|record| &record.statements).collect();
    html! {
        @if !all.is_empty() { ul .tiles {
            @for (verdict, words) in counted {
                @let count = all.iter().filter(|statement| statement.verdict == verdict).count();
                @if count > 0 || verdict != ByConstruction {
                    li { span .value { (count) " " small { "of " (all.len()) } }
                        span .of { "published statements " (words) } }
                }
            }
        } }
    }
}
