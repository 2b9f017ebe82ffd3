//! Rows of a table with labels that tell them apart. Labels that are the same in all rows are told once, beside the table.

use crate::output::page::units;
use crate::output::table::Table;
use crate::output::text;

/// Values from here on are whole numbers with their thousands apart.
const THOUSANDS: f64 = 10_000.0;
/// A value that was not measured.
pub const NONE: &str = "-";

/// A row before it is written.
pub struct Row {
    /// Names for each of [`Grid::labels`]; empty where there is none.
    pub labels: Vec<String>,
    pub cells: Vec<String>,
}

/// A table before it is written.
pub struct Grid {
    /// Titles of the columns that tell rows apart.
    pub labels: Vec<&'static str>,
    /// Titles of the others: names, joined where several make a title.
    pub titles: Vec<Vec<String>>,
    pub rows: Vec<Row>,
}

impl Grid {
    /// The table, and the labels of all rows; `name` says what a name is called.
    pub fn table(&self, name: impl Fn(&str) -> String) -> (Table, Vec<String>) {
        let labels = |row: &Row| row.labels.iter().map(|label| name(label)).collect::<Vec<_>>();
        let named: Vec<Vec<String>> = self.rows.iter().map(labels).collect();
        let differs = |column: &usize| named.iter().any(|row| row[*column] != named[0][*column]);
        let (apart, equal): (Vec<usize>, Vec<usize>) = (0..self.labels.len()).partition(differs);
        let joined = |names: &Vec<String>| names.iter().map(|one| name(one)).collect::<Vec<_>>().join(", ");
        let row = |(labels, row): (&Vec<String>, &Row)| {
            apart.iter().map(|column| labels[*column].clone()).chain(row.cells.iter().cloned()).collect()
        };
        let titles = apart.iter().map(|column| self.labels[*column].to_string());
        let table = Table {
            titles: titles.chain(self.titles.iter().map(joined)).collect(),
            numbers_from: usize::MAX,
            rows: named.iter().zip(&self.rows).map(row).collect(),
        };
        let told = |column: usize| format!("{}: {}", self.labels[column], named[0][column]);
        let shared = equal.into_iter().filter(|column| named.first().is_some_and(|row| !row[*column].is_empty()));
        (table, shared.map(told).collect())
    }
}

/// A measured value.
pub fn number(value: f64) -> String {
    if value >= THOUSANDS { text::thousands(value.round() as u64) } else { units::digits(value) }
}

/// A message size; nothing where there is none.
pub fn size(size: u64) -> String {
    if size == 0 { String::new() } else { units::size(size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_labels_are_told_once() {
        let row =
            |labels: [&str; 3], cell: &str| Row { labels: labels.map(String::from).into(), cells: vec![cell.into()] };
        let rows = vec![row(["lan", "8 B", ""], "1"), row(["lan2", "64 B", ""], "2")];
        let grid = Grid { labels: vec!["rails", "size", "none"], titles: vec![vec!["a".into(), "b".into()]], rows };
        let (table, shared) = grid.table(|name| name.trim_end_matches('2').to_uppercase());
        assert_eq!(table.to_string(), "| size | A, B |\n|---|---|\n| 8 B | 1 |\n| 64 B | 2 |\n");
        assert_eq!(shared, ["rails: LAN"]);
    }

    #[test]
    fn numbers_have_three_digits_or_thousands() {
        assert_eq!(
            [0.7123, 7.0, 148.84, 7935.2, 1_067_123.0].map(number),
            ["0.712", "7.00", "149", "7935", "1 067 123"]
        );
        assert_eq!((size(0), size(1 << 20)), (String::new(), "1 MiB".into()));
    }
}
