//! The table: a line a cell, the worst first.

use super::before::Before;
use super::case::Case;
use super::machine::{byte_ns, frame_bytes, mbit, on_wire};
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

/// How long a case takes at least, in nanoseconds, if a message without bytes takes `way_ns` from one process to the other.
///
/// Messages are cut so that all rails end together. A process sends and receives one byte after the other. A shaper lets a
/// frame pass at once and keeps its rate in the mean: there and back, both directions have twice as long for it.
fn at_least_ns(case: &Case, way_ns: f64) -> f64 {
    let ways = case.pattern.ways() as f64;
    let ns_per_byte = |asked: &u32| 8e3 / mbit(*asked) * on_wire(case);
    let rate: f64 = case.rails.iter().map(|asked| 1.0 / ns_per_byte(asked)).sum();
    let bytes = (case.pattern.messages() * case.size) as f64;
    let at_once = frame_bytes(case) * case.rails.len() as f64;
    let by_rates = match case.pattern {
        Pattern::PingPong => bytes.max(2.0 * (bytes - at_once)) / rate,
        Pattern::Step => (bytes / rate - case.pattern.computes().as_ns()).max((bytes - at_once) / rate).max(0.0),
        _ => bytes / rate,
    };
    let by_processor = case.pattern.bytes_of_process(case.size) as f64 * byte_ns();
    by_rates.max(by_processor) + ways * way_ns
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
        write!(f, "{cells} cells, {misses} miss: {by_history} by earlier traffic (above {HISTORY}")?;
        write!(f, ", worst {:.2}), {by_alone} by the best rail alone (above {ALONE}, worst", worst.0)?;
        write!(f, " {:.2})", worst.1)
    }
}
