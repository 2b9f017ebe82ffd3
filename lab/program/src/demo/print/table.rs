//! The results as a table for the terminal.

use crate::demo::{APPLICATION_TITLE, LATENCY_SIZE, Results, StackResults, measure};
use crate::output::page::units::size as size_name;
use crate::output::text;
use crate::statistics::Spread;

/// Sizes in bytes that have a column.
pub const COLUMNS: [u64; 3] = [64 << 10, 1 << 20, 4 << 20];
/// The size that stacks are compared at.
pub const LARGE: u64 = 4 << 20;

/// The table and the sentence under it.
pub fn render(results: &Results) -> String {
    let mut titles = vec!["stack".to_string(), "rails".into(), format!("latency {}", size_name(LATENCY_SIZE))];
    titles.extend(COLUMNS.map(size_name));
    titles.extend(["of the sum", "min..max", "NAS IS"].map(String::from));
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = text::table(&titles, 2);
    for stack in &results.stacks {
        table.add_row(row(results, stack));
    }
    let sum = Spread::of(&results.sum).map_or(0.0, |sum| sum.median);
    let mut text = format!("{table}\n");
    text += &format!("bandwidth in MB/s; of the sum: at {}, ", size_name(LARGE));
    text += &format!("the sum being {sum:.1} MB/s, measured by plain TCP over both rails at once");
    text += &format!("\n{APPLICATION_TITLE}: run time of a whole program, 2 ranks");
    for stack in &results.stacks {
        if let Some(failure) = &stack.failure {
            text += &format!("\n{} failed: {failure}", stack.name);
        }
    }
    text
}

fn row(results: &Results, stack: &StackResults) -> Vec<String> {
    let dash = || "-".to_string();
    let mut cells = vec![stack.name.clone(), stack.rails.clone()];
    cells.push(measure::latency(stack).map_or_else(dash, |l| format!("{:.1} us", l.median)));
    for size in COLUMNS {
        let spread = stack.bandwidth.get(&size).and_then(|values| Spread::of(values));
        cells.push(spread.map_or_else(dash, |s| format!("{:.1}", s.median)));
    }
    let ratio = results.ratio(stack, LARGE);
    cells.push(ratio.map_or_else(dash, |r| format!("{:.3}", r.median)));
    cells.push(ratio.map_or_else(dash, |r| format!("{:.3}..{:.3}", r.least, r.greatest)));
    cells.push(Spread::of(&stack.run_time).map_or_else(dash, |time| format!("{:.2} s", time.median)));
    cells
}
