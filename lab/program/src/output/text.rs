//! Tables, numbers and wrapped texts for people.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::page::units;

/// The only line of a table: under its titles.
const RULE: LineStyle = LineStyle::new('─', '─', '─', '─');

/// A table with these column titles; the first column is text, the others, by default, numbers.
pub fn table(titles: &[&str], numbers_from: usize) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(RULE)).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(titles.iter().map(Cell::new));
    for (position, column) in table.column_iter_mut().enumerate() {
        if position >= numbers_from {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A number of bytes in decimal units, with three digits.
pub fn bytes(count: u64) -> String {
    if count < 1000 { format!("{count} B") } else { units::quantity(count as f64, "B") }
}

/// Three digits of a positive number, as many behind the point as that takes.
pub fn digits(value: f64) -> String {
    let places = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.places$}")
}

/// A time that is given in microseconds, in these or in milliseconds.
pub fn microseconds(us: f64) -> String {
    if us < 999.5 { format!("{} us", digits(us)) } else { format!("{} ms", digits(us / 1e3)) }
}

/// A time that is given in nanoseconds: `12.3 s`, `4.56 ms`.
pub fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 999.5e6 => microseconds(ns / 1e3),
        ns => format!("{} s", digits(ns / 1e9)),
    }
}

/// A part of something: `12.3 %`; `-` of nothing.
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", 100.0 * part / whole) } else { "-".into() }
}

/// A whole number with its thousands apart.
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// With a capital letter.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// `1 host`, `2 hosts`.
pub fn plural(count: u64, word: &str) -> String {
    format!("{} {word}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// `0-3, 7`.
fn ranks(ranks: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &rank in ranks {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => parts.push((rank, rank)),
        }
    }
    let part =
        |(first, last): &(usize, usize)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// `rank 3`, `ranks 0-3, 7`.
pub fn named_ranks(all: &[usize]) -> String {
    format!("rank{} {}", if all.len() == 1 { "" } else { "s" }, ranks(all))
}

/// The beginning of a text that is too long.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_string();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Wraps text to lines of at most this width, if words allow; all but the first line are indented.
pub fn wrapped(text: &str, most: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > most {
            lines.push("  ".into());
        }
        if let Some(line) = lines.last_mut() {
            let apart = if line.trim().is_empty() { "" } else { " " };
            *line += &format!("{apart}{word}");
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_named() {
        assert_eq!(named_ranks(&[0, 1, 2, 5, 7, 8]), "ranks 0-2, 5, 7-8");
        assert_eq!((named_ranks(&[4]), named_ranks(&[4, 6])), ("rank 4".into(), "ranks 4, 6".into()));
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([900.0, 4560.0, 4.56e6, 12.34e9].map(time), ["900 ns", "4.56 us", "4.56 ms", "12.3 s"]);
        assert_eq!((percent(1.0, 3.0), percent(1.0, 0.0)), ("33.3 %".into(), "-".into()));
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1000), "1.00 kB");
        assert_eq!(bytes(999_600), "1.00 MB");
        assert_eq!(bytes(123_456_789), "123 MB");
        assert_eq!(bytes(u64::MAX), "18447 PB");
        assert_eq!((microseconds(81.0), microseconds(20_480.0)), ("81.0 us".into(), "20.5 ms".into()));
        assert_eq!(digits(9.999), "10.0");
        assert_eq!(thousands(1), "1");
        assert_eq!(thousands(1_234_567), "1 234 567");
        assert_eq!(thousands(123), "123");
    }

    #[test]
    fn long_texts_are_cut_or_wrapped() {
        assert_eq!((cut("abcdef", 6), cut("abcdefg", 6)), ("abcdef".into(), "abcde…".into()));
        assert_eq!(wrapped("! one two three four", 9), "! one two\n  three\n  four");
    }
}
