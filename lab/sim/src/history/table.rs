//! The table: a line a cell, the worst first.

use std::fmt::Write;

use super::allowed::at_least_ns;
use super::before::Before;
use super::case::Case;
use super::measure::time_ns;
use super::pattern::Pattern;

/// A cell misses if it takes longer than after the best of all histories by more than this part,
const HISTORY: f64 = 1.05;
/// or longer than the best rail alone by more than this one.
const ALONE: f64 = 1.02;
/// Bytes of a message that stands for an empty one.
const EMPTY: u64 = 8;

/// A cell of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The measured values.
    pub case: Case,
    /// The history.
    pub before: Before,
    /// How long a turn takes, in nanoseconds.
    pub time_ns: f64,
    /// By how much longer that is than after the best history.
    pub to_best: f64,
    /// By how much longer than rates and processors allow.
    pub to_allowed: f64,
    /// By how much longer than over the best rail alone; nothing where there is no other.
    pub to_alone: Option<f64>,
}

impl Row {
    /// Whether it takes longer than it may.
    pub fn misses(&self) -> bool {
        self.to_best > HISTORY || self.to_alone.is_some_and(|ratio| ratio > ALONE)
    }

    /// Key for sorting: the worst rows come first.
    fn badness(&self) -> f64 {
        (self.to_best / HISTORY).max(self.to_alone.unwrap_or(0.0) / ALONE)
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Row { case, before, time_ns, to_best, to_allowed, to_alone } = self;
        let alone = to_alone.map_or("-".into(), |ratio| format!("{ratio:.2}"));
        write!(
            f,
            "{:<9} {:<18} {:>8} {:<11} {:>11.1} {to_best:>8.2} {to_allowed:>8.2} {alone:>8}",
            case.pattern.name(),
            case.place(),
            case.size,
            before.name(),
            time_ns / 1e3,
        )
    }
}

/// The title over rows.
pub fn header() -> String {
    format!(
        "{:<9} {:<18} {:>8} {:<11} {:>11} {:>8} {:>8} {:>8}",
        "pattern", "rails", "bytes", "before", "us", "to best", "allowed", "alone"
    )
}

/// Measures a case after each of some histories.
///
/// # Errors
/// When ranks wait for ever.
pub fn judge(case: &Case, histories: &[Before], seed: u64) -> Result<Vec<Row>, String> {
    let times: Vec<f64> = histories.iter().map(|before| time_ns(case, *before, seed)).collect::<Result<_, String>>()?;
    let best = times.iter().copied().fold(f64::INFINITY, f64::min);
    let alone = case.alone().map(|alone| time_ns(&alone, Before::Nothing, seed)).transpose()?;
    let single = case.alone().unwrap_or_else(|| case.clone());
    let empty = Case { pattern: Pattern::PingPong, size: EMPTY, ..single };
    let allowed = at_least_ns(case, time_ns(&empty, Before::Nothing, seed)? / 2.0);
    let row = |(before, time_ns): (&Before, f64)| Row {
        case: case.clone(),
        before: *before,
        time_ns,
        to_best: time_ns / best,
        to_allowed: time_ns / allowed,
        to_alone: alone.map(|alone| time_ns / alone),
    };
    Ok(histories.iter().zip(times).map(row).collect())
}

/// Summary of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Cells in all.
    pub cells: usize,
    /// Those that depend on what was sent before,
    pub by_history: usize,
    /// and those that a single rail would do better.
    pub by_alone: usize,
    /// Those where either is so.
    pub misses: usize,
    /// The worst of each.
    pub worst: (f64, f64),
}

/// Sorts the rows, the worst first, and summarizes them.
pub fn summary(rows: &mut [Row]) -> Summary {
    rows.sort_by(|a, b| b.badness().total_cmp(&a.badness()));
    let count = |is: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
    let most = |of: &dyn Fn(&Row) -> f64| rows.iter().map(of).fold(0.0, f64::max);
    Summary {
        cells: rows.len(),
        by_history: count(&|row| row.to_best > HISTORY),
        by_alone: count(&|row| row.to_alone.is_some_and(|ratio| ratio > ALONE)),
        misses: count(&Row::misses),
        worst: (most(&|row| row.to_best), most(&|row| row.to_alone.unwrap_or(0.0))),
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Summary { cells, by_history, by_alone, misses, worst } = self;
        let mut text = String::new();
        let _ = write!(text, "{cells} cells, {misses} miss: {by_history} by earlier traffic (above {HISTORY}");
        let _ = write!(text, ", worst {:.2}), {by_alone} by the best rail alone (above {ALONE}, worst", worst.0);
        write!(f, "{text} {:.2})", worst.1)
    }
}
