//! The report as a page.

use maud::{Markup, html};

use super::{figures, over_time, tables};
use crate::output::page;
use crate::report::Report;

/// The page.
pub fn render(report: &Report) -> String {
    render_with(report, &Markup::default())
}

/// The page with a section of its own.
pub fn render_with(report: &Report, section: &Markup) -> String {
    let manifest = &report.records[0].manifest;
    let body = html! {
        header {
            p .mark { "Fishplate" }
            h1 { (report.title) }
            (tables::lead(report))
            (tables::tiles(report))
            p .note {
                "Measured on " (manifest.machine.hostname) ", " (manifest.started)
                @if report.records.len() > 1 { ", and in " (report.records.len() - 1) " more" }
                "."
            }
        }
        (section)
        (tables::summary(report))
        (tables::statements(report))
        (page::legend(&report.model.stacks))
        (figures::benchmarks(report))
        (figures::rails(report))
        (over_time::rails(report))
        (tables::links(report))
        (tables::missing(report))
        (tables::conditions(report))
    };
    page::render(&report.title, &report.model.stacks, &body)
}
