//! Programs in GOAL, the text format of LogGOPSim and ATLAHS: the operations of each rank and their dependencies.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   a: calc 1000
//!   b: send 8b to 1 tag 3
//!   c: recv 8b from 1
//!   b requires a
//!   c irequires b
//! }
//! ...
//! ```
//!
//! Computation is in nanoseconds. An operation starts when those that it `requires` are complete, and those that it
//! `irequires` have started. The processor and the adapter of an operation (`cpu`, `nic`) are parsed and ignored.

use std::io;

use rustc_hash::FxHashMap;

/// A GOAL program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Operations by rank.
    pub ranks: Vec<Vec<Task>>,
}

/// An operation of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Kind of the operation.
    pub action: Action,
    /// Indexes of the operations that must be complete before.
    pub requires: Vec<u32>,
    /// Indexes of the operations that must have started before.
    pub irequires: Vec<u32>,
}

/// Kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Computes for this number of nanoseconds.
    Compute(u64),
    /// Sends.
    Send {
        /// Size in bytes.
        bytes: u64,
        /// Destination rank.
        to: u32,
        /// Tag.
        tag: u32,
    },
    /// Receives.
    Receive {
        /// Size in bytes.
        bytes: u64,
        /// Source rank.
        from: u32,
        /// Tag.
        tag: u32,
    },
}

/// A syntax error and its line, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct GoalError {
    line: usize,
    what: String,
}

/// Whether a text looks like a GOAL program.
pub fn is_goal(text: &str) -> bool {
    text.lines().map(without_comment).find(|line| !line.is_empty()).is_some_and(|line| line.starts_with("num_ranks"))
}

/// Parses a program.
///
/// # Errors
/// The first syntax error.
pub fn parse(text: &str) -> Result<Program, GoalError> {
    let mut parser = Parser::default();
    let mut last = 0;
    for (number, line) in text.lines().enumerate() {
        last = number + 1;
        parser.line(without_comment(line)).map_err(|what| GoalError { line: last, what })?;
    }
    let end = |what: String| GoalError { line: last, what };
    if parser.rank.is_some() {
        return Err(end("the text ends within a rank".into()));
    }
    if parser.program.ranks.is_empty() {
        return Err(end("there is no num_ranks".into()));
    }
    Ok(parser.program)
}

/// Writes a program in the form that [`parse`] reads.
///
/// # Errors
/// If `to` cannot be written.
pub fn write(program: &Program, to: &mut impl io::Write) -> io::Result<()> {
    writeln!(to, "num_ranks {}", program.ranks.len())?;
    for (rank, tasks) in program.ranks.iter().enumerate() {
        writeln!(to, "\nrank {rank} {{")?;
        for (place, task) in tasks.iter().enumerate() {
            match task.action {
                Action::Compute(ns) => writeln!(to, "l{place}: calc {ns}")?,
                Action::Send { bytes, to: peer, tag } => writeln!(to, "l{place}: send {bytes}b to {peer} tag {tag}")?,
                Action::Receive { bytes, from, tag } => writeln!(to, "l{place}: recv {bytes}b from {from} tag {tag}")?,
            }
            task.requires.iter().try_for_each(|before| writeln!(to, "l{place} requires l{before}"))?;
            task.irequires.iter().try_for_each(|before| writeln!(to, "l{place} irequires l{before}"))?;
        }
        writeln!(to, "}}")?;
    }
    Ok(())
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

#[derive(Default)]
struct Parser {
    program: Program,
    /// The rank whose operations are being read.
    rank: Option<usize>,
    /// Indexes of its operations, by name.
    names: FxHashMap<String, u32>,
}

impl Parser {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), self.rank) {
            ([], _) => Ok(()),
            (["num_ranks", count], None) => {
                let count = number(count)?;
                // Refuses a count that no file of reasonable length can describe.
                if count == 0 || count > 1 << 24 || !self.program.ranks.is_empty() {
                    return Err(format!("num_ranks {count}: given once, and from 1 to {}", 1 << 24));
                }
                self.program.ranks = vec![Vec::new(); count as usize];
                Ok(())
            }
            (["rank", rank, "{"], None) => {
                let rank = self.rank_of(rank)?;
                self.rank = Some(rank as usize);
                self.names.clear();
                Ok(())
            }
            (["}"], Some(_)) => {
                self.rank = None;
                Ok(())
            }
            ([name, "requires", other], Some(rank)) => self.dependency(rank, name, other, true),
            ([name, "irequires", other], Some(rank)) => self.dependency(rank, name, other, false),
            ([name, rest @ ..], Some(rank)) if name.ends_with(':') => self.task(rank, &name[..name.len() - 1], rest),
            (rest, Some(rank)) if matches!(rest[0], "calc" | "send" | "recv") => self.task(rank, "", rest),
            _ => Err(format!("\"{line}\" is not understood")),
        }
    }

    fn task(&mut self, rank: usize, name: &str, words: &[&str]) -> Result<(), String> {
        let action = match words {
            ["calc", time, rest @ ..] => {
                options(rest)?;
                Action::Compute(number(time)?)
            }
            ["send", size, "to", to, rest @ ..] => {
                Action::Send { bytes: bytes(size)?, to: self.rank_of(to)?, tag: options(rest)? }
            }
            ["recv", size, "from", from, rest @ ..] => {
                Action::Receive { bytes: bytes(size)?, from: self.rank_of(from)?, tag: options(rest)? }
            }
            _ => {
                return Err(format!("\"{}\": calc TIME, send SIZEb to RANK, or recv SIZEb from RANK", words.join(" ")));
            }
        };
        let tasks = &mut self.program.ranks[rank];
        if !name.is_empty() && self.names.insert(name.into(), tasks.len() as u32).is_some() {
            return Err(format!("{name} is there twice"));
        }
        tasks.push(Task { action, requires: Vec::new(), irequires: Vec::new() });
        Ok(())
    }

    fn dependency(&mut self, rank: usize, name: &str, other: &str, is_complete: bool) -> Result<(), String> {
        let place = |name: &str| self.names.get(name).copied().ok_or_else(|| format!("rank {rank} has no {name}"));
        let (place, other) = (place(name)?, place(other)?);
        let task = &mut self.program.ranks[rank][place as usize];
        if is_complete {
            task.requires.push(other)
        } else {
            task.irequires.push(other)
        }
        Ok(())
    }

    fn rank_of(&self, text: &str) -> Result<u32, String> {
        let rank = number(text)?;
        let ranks = self.program.ranks.len();
        if rank >= ranks as u64 {
            return Err(format!("there is no rank {rank}: num_ranks is {ranks}"));
        }
        Ok(rank as u32)
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("\"{text}\" is no number"))
}

fn bytes(text: &str) -> Result<u64, String> {
    number(text.strip_suffix('b').unwrap_or(text))
}

/// The options after an operation; returns its tag.
fn options(words: &[&str]) -> Result<u32, String> {
    let mut tag = 0;
    for pair in words.chunks(2) {
        match pair {
            ["tag", value] => tag = number(value)? as u32,
            ["cpu" | "nic", value] => drop(number(value)?),
            _ => return Err(format!("\"{}\" is not understood: tag, cpu or nic, and a number", pair.join(" "))),
        }
    }
    Ok(tag)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TWO: &str = "// two ranks\nnum_ranks 2\n\nrank 0 {\n a: calc 1000 cpu 0\n b: send 8b to 1 tag 3 cpu 0 nic 0\n \
                       b requires a\n}\nrank 1 {\n c: recv 8b from 0 tag 3\n d: calc 5\n d irequires c\n}\n";

    #[test]
    fn a_program_is_read() {
        let task = |action, requires: &[u32], irequires: &[u32]| Task {
            action,
            requires: requires.to_vec(),
            irequires: irequires.to_vec(),
        };
        let wanted = vec![
            vec![task(Action::Compute(1000), &[], &[]), task(Action::Send { bytes: 8, to: 1, tag: 3 }, &[0], &[])],
            vec![task(Action::Receive { bytes: 8, from: 0, tag: 3 }, &[], &[]), task(Action::Compute(5), &[], &[0])],
        ];
        assert!(is_goal(TWO) && !is_goal("FPTRACE"));
        assert_eq!(parse(TWO).unwrap().ranks, wanted);
        let mut written = Vec::new();
        write(&parse(TWO).unwrap(), &mut written).unwrap();
        assert_eq!(parse(&String::from_utf8(written).unwrap()).unwrap().ranks, wanted);
    }

    #[test]
    fn errors_name_their_line() {
        let says = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(says(""), "line 0: there is no num_ranks");
        assert_eq!(says("num_ranks 0"), "line 1: num_ranks 0: given once, and from 1 to 16777216");
        assert_eq!(says("num_ranks 2\nrank 2 {"), "line 2: there is no rank 2: num_ranks is 2");
        assert_eq!(says("num_ranks 2\nrank 0 {\na: calc 5"), "line 3: the text ends within a rank");
        assert_eq!(says("num_ranks 2\nrank 0 {\na: calc x"), "line 3: \"x\" is no number");
        assert_eq!(says("num_ranks 2\nrank 0 {\na: send 8b to 7"), "line 3: there is no rank 7: num_ranks is 2");
        assert_eq!(says("num_ranks 1\nrank 0 {\na requires b"), "line 3: rank 0 has no a");
        assert_eq!(says("num_ranks 1\nrank 0 {\na: calc 1\na: calc 2"), "line 4: a is there twice");
        assert_eq!(says("num_ranks 1\nhello"), "line 2: \"hello\" is not understood");
        let wrong = "line 3: \"size 3\" is not understood: tag, cpu or nic, and a number";
        assert_eq!(says("num_ranks 1\nrank 0 {\na: calc 1 size 3"), wrong);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(num_ranks|rank|\\{|\\}|a:|calc|send|8b|to|0|1|\n| |requires){0,60}") {
            drop(parse(&text));
        }
    }
}
