//! The forms of a report: page, CSV, Markdown. They share [`labels`] (numbers and names as text).
//!
//! [`render`] makes the page, of [`figures`], [`over_time`] and [`tables`]. Nothing here computes values: that is
//! [`super::model`] and [`super::comparison`].

pub mod csv;
mod figures;
mod labels;
pub mod markdown;
mod over_time;
mod tables;

use maud::{Markup, html};

use crate::output::page;
use crate::report::Report;

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
