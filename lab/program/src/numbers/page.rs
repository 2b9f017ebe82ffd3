//! Blocks of a page that the program writes: between two comments, of which the first names a table. And what changed in
//! them, for people.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};

const BEGIN: &str = "<!-- numbers: ";
const CLOSE: &str = " -->";
const END: &str = "<!-- end of numbers -->";

/// A page whose blocks were written anew.
pub struct Filled {
    pub text: String,
    pub blocks: Vec<Block>,
}

/// What stands between the two comments.
pub struct Block {
    /// Name of the table.
    pub table: String,
    pub before: String,
    pub after: String,
}

/// Writes the blocks of a page anew; `render` makes a table. What is in fences is code, and no block.
///
/// # Errors
/// With the page and the line, when a block has no begin or end, or no table can be made.
pub fn fill(page: &str, text: &str, mut render: impl FnMut(&str) -> Result<String>) -> Result<Filled> {
    let mut filled = Filled { text: String::new(), blocks: Vec::new() };
    let (mut is_code, mut open): (bool, Option<(usize, Block)>) = (false, None);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let place = || format!("{page}, line {}", index + 1);
        is_code ^= line.starts_with("```");
        match line.trim_end() {
            mark if !is_code && mark == END => {
                let Some((_, block)) = open.take() else { bail!("{}: \"{END}\" ends nothing", place()) };
                filled.text += &block.after;
                filled.text += line;
                filled.blocks.push(block);
            }
            mark if !is_code && mark.starts_with(BEGIN) => {
                ensure!(open.is_none(), "{}: a table begins in another one", place());
                let table = mark[BEGIN.len()..].strip_suffix(CLOSE);
                let table = table.with_context(|| format!("{}: it is {BEGIN}NAME{CLOSE}", place()))?.to_string();
                let after = format!("\n{}\n", render(&table).with_context(place)?);
                open = Some((index + 1, Block { table, before: String::new(), after }));
                filled.text += line;
            }
            _ => match &mut open {
                Some((_, block)) => block.before += line,
                None => filled.text += line,
            },
        }
    }
    match open {
        Some((line, block)) => bail!("{page}, line {line}: the table \"{}\" has no end: \"{END}\"", block.table),
        None => Ok(filled),
    }
}

/// Lines, each with the place in front: rows with `old -> new` in their changed cells; other lines that went or came.
pub fn changes(place: &str, block: &Block) -> Vec<String> {
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

    fn filled(text: &str) -> Result<Filled> {
        fill("page.md", text, |table| match table {
            "a" => Ok("new\n".into()),
            _ => bail!("no table \"{table}\""),
        })
    }

    #[test]
    fn blocks_are_written_anew_and_the_rest_stays() {
        let text = "one\n<!-- numbers: a -->\nold\n<!-- end of numbers -->\n```\n<!-- numbers: b -->\n```\ntwo";
        let new = "one\n<!-- numbers: a -->\n\nnew\n\n<!-- end of numbers -->\n```\n<!-- numbers: b -->\n```\ntwo";
        let first = filled(text).unwrap();
        assert_eq!((first.text.as_str(), first.blocks.len()), (new, 1));
        assert_eq!((first.blocks[0].before.as_str(), first.blocks[0].after.as_str()), ("old\n", "\nnew\n\n"));
        assert_eq!(filled(new).unwrap().text, new);
    }

    #[test]
    fn wrong_blocks_are_told_with_their_place() {
        let error = |text: &str| format!("{:#}", filled(text).err().unwrap());
        assert_eq!(error("x\n<!-- numbers: b -->\n"), "page.md, line 2: no table \"b\"");
        let end = "\"<!-- end of numbers -->\"";
        assert_eq!(error("<!-- numbers: a -->\nx\n"), format!("page.md, line 1: the table \"a\" has no end: {end}"));
        assert_eq!(error("x\n<!-- end of numbers -->\n"), format!("page.md, line 2: {end} ends nothing"));
        let nested = error("<!-- numbers: a -->\n<!-- numbers: a -->\n");
        assert_eq!(nested, "page.md, line 2: a table begins in another one");
        assert_eq!(error("<!-- numbers: a\n"), "page.md, line 1: it is <!-- numbers: NAME -->");
    }

    fn between(before: &str, after: &str) -> Vec<String> {
        changes("p", &Block { table: "t".into(), before: before.into(), after: after.into() })
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
