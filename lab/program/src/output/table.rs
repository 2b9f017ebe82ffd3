//! Tables: as text for a terminal, as HTML, and as Markdown, which is how they are displayed.

use std::fmt;

use maud::{Markup, html};

use super::text;

pub struct Table {
    pub titles: Vec<String>,
    /// From this column on cells are numbers, which are at the right in texts and pages.
    pub numbers_from: usize,
    /// Its rows, each with a cell for each column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(titles: &[&str], numbers_from: usize, rows: Vec<Vec<String>>) -> Table {
        Table { titles: titles.iter().map(|title| title.to_string()).collect(), numbers_from, rows }
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let titles: Vec<&str> = self.titles.iter().map(String::as_str).collect();
        let mut table = text::table(&titles, self.numbers_from);
        for row in &self.rows {
            table.add_row(row);
        }
        table.to_string()
    }

    /// For a page.
    pub fn html(&self) -> Markup {
        let is_number = |column: usize| column >= self.numbers_from;
        html! {
            div .scroll { table {
                thead { tr { @for (at, title) in self.titles.iter().enumerate() { th .number[is_number(at)] { (title) } } } }
                tbody { @for row in &self.rows { tr {
                    @for (at, cell) in row.iter().enumerate() {
                        @if at == 0 { th scope="row" { (cell) } } @else { td .number[is_number(at)] { (cell) } }
                    }
                } } }
            } }
        }
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

/// Text that in Markdown neither ends its cell nor begins an element.
pub fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_cells() {
        let table = Table::new(&["", "a|b"], 1, vec![vec!["<x>".into(), "1\n2".into()]]);
        assert_eq!(table.to_string(), "| | a\\|b |\n|---|---|\n| &lt;x> | 1 2 |\n");
        let html = table.html().into_string();
        assert!(html.contains(r#"<th scope="row">&lt;x&gt;</th><td class="number">"#), "{html}");
        assert!(table.text().contains("a|b"), "{}", table.text());
    }
}
