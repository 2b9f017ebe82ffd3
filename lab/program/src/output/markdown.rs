//! Tables as Markdown.

use std::fmt;

pub struct Table {
    pub titles: Vec<String>,
    /// Its rows, each with a cell for each column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(titles: &[&str], rows: Vec<Vec<String>>) -> Table {
        Table { titles: titles.iter().map(|title| title.to_string()).collect(), rows }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", row(&self.titles))?;
        writeln!(f, "|{}", "---|".repeat(self.titles.len()))?;
        self.rows.iter().try_for_each(|cells| writeln!(f, "{}", row(cells)))
    }
}

/// Empty cells have one space.
fn row(cells: &[String]) -> String {
    let cell = |cell: &String| if cell.is_empty() { " |".to_string() } else { format!(" {} |", escape(cell)) };
    format!("|{}", cells.iter().map(cell).collect::<String>())
}

/// Text that neither ends its cell nor begins an element.
pub fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_cells() {
        let table = Table::new(&["", "a|b"], vec![vec!["<x>".into(), "1\n2".into()]]);
        assert_eq!(table.to_string(), "| | a\\|b |\n|---|---|\n| &lt;x> | 1 2 |\n");
    }
}
