//! What changed in a block, for people.

use std::collections::BTreeSet;

use super::page::Block;

/// Lines, each with the place in front: rows with `old -> new` in their changed cells; other lines that went or came.
pub fn of(place: &str, block: &Block) -> Vec<String> {
    let (before, after): (Vec<&str>, Vec<&str>) = (block.before.lines().collect(), block.after.lines().collect());
    let changes: Vec<String> = if before.len() == after.len() {
        before.iter().zip(&after).filter(|(old, new)| old != new).flat_map(|(old, new)| changed(old, new)).collect()
    } else {
        let [had, has] = [&before, &after].map(|lines| lines.iter().copied().collect::<BTreeSet<_>>());
        let went = before.iter().filter(|line| !has.contains(*line)).map(|line| format!("- {line}"));
        went.chain(after.iter().filter(|line| !had.contains(*line)).map(|line| format!("+ {line}"))).collect()
    };
    changes.into_iter().map(|change| format!("{place}: {change}")).collect()
}

/// A line that became another one.
fn changed(old: &str, new: &str) -> Vec<String> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_string()).collect::<Vec<_>>();
    let (before, after) = (cells(old), cells(new));
    if !old.starts_with('|') || before.len() != after.len() {
        return vec![format!("- {old}"), format!("+ {new}")];
    }
    let cell = |(old, new): (&String, &String)| if old == new { new.clone() } else { format!("{old} -> {new}") };
    vec![before.iter().zip(&after).map(cell).collect::<Vec<_>>().join(" | ").trim().to_string()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(before: &str, after: &str) -> Vec<String> {
        of("p", &Block { table: "t".into(), before: before.into(), after: after.into() })
    }

    #[test]
    fn changed_cells_show_both_values() {
        assert!(between("| a | 1 |\n", "| a | 1 |\n").is_empty());
        assert_eq!(between("| a | 1 | 2 |\nx\n", "| a | 3 | 2 |\nx\n"), ["p: | a | 1 -> 3 | 2 |"]);
    }

    #[test]
    fn other_lines_went_or_came() {
        assert_eq!(between("text\n", "other\n"), ["p: - text", "p: + other"]);
        assert_eq!(between("| a |\n| b |\n", "| b |\n"), ["p: - | a |"]);
        assert_eq!(between("", "| b |\n"), ["p: + | b |"]);
    }
}
