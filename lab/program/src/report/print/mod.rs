//! The forms of a report: page, CSV, Markdown. They share [`labels`] (numbers and names as text).
//!
//! [`html`] is the page, of [`figures`], [`over_time`] and [`tables`]. Nothing here computes values: that is
//! [`super::model`] and [`super::comparison`].

pub mod csv;
mod figures;
pub mod html;
mod labels;
pub mod markdown;
mod over_time;
mod tables;
