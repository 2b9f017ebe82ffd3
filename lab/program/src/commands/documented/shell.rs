//! The part of the shell's language that the documentation uses.

use std::iter::Peekable;
use std::str::Chars;

/// The simple commands of a line, each with its words: those between operators, those in `$(...)`, and those in quotes
/// that name the program.
pub fn commands(line: &str) -> Vec<Vec<String>> {
    let mut reader = Reader { chars: line.chars().peekable(), inner: Vec::new() };
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    while let Some(c) = reader.chars.next() {
        match c {
            '#' if word.is_none() => break,
            ' ' | '\t' | ';' | '|' | '&' | '<' | '>' | '(' | ')' => {
                commands.last_mut().expect("never empty").extend(word.take());
                if c != ' ' && c != '\t' {
                    commands.push(Vec::new());
                }
            }
            _ => reader.part(c, word.get_or_insert_default()),
        }
    }
    commands.last_mut().expect("never empty").extend(word);
    let quoted = commands.iter().flatten().filter(|word| word.contains("fishplate ")).cloned();
    let inner: Vec<String> = reader.inner.into_iter().chain(quoted).collect();
    commands.extend(inner.iter().flat_map(|text| self::commands(text)));
    commands.retain(|command| !command.is_empty());
    commands
}

/// Reads a line; `inner` is what stood in `$(...)`.
struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    inner: Vec<String>,
}

impl Reader<'_> {
    /// Adds to `word` what begins with `first`.
    fn part(&mut self, first: char, word: &mut String) {
        match first {
            '\'' => word.extend(self.chars.by_ref().take_while(|c| *c != '\'')),
            '"' => {
                while let Some(c) = self.chars.next().filter(|c| *c != '"') {
                    self.inside_quotes(c, word);
                }
            }
            '\\' => word.extend(self.chars.next()),
            _ => self.inside_quotes(first, word),
        }
    }

    fn inside_quotes(&mut self, c: char, word: &mut String) {
        if c == '$' && self.chars.next_if_eq(&'(').is_some() {
            let inner = self.up_to_parenthesis();
            self.inner.push(inner);
            word.push_str("$()");
        } else {
            word.push(c);
        }
    }

    fn up_to_parenthesis(&mut self) -> String {
        let mut depth = 1;
        let is_inside = |c: &char| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth > 0
        };
        self.chars.by_ref().take_while(is_inside).collect()
    }
}

#[test]
fn a_line_is_split_as_a_shell_does() {
    let of = |line: &str| commands(line).iter().map(|words| words.join("|")).collect::<Vec<_>>();
    assert_eq!(of("a 'b c' \"d $e\"  # f"), ["a|b c|d $e"]);
    assert_eq!(of("a && b; c | d > e"), ["a", "b", "c", "d", "e"]);
    assert_eq!(of("x=$(a $(b) c)/d e"), ["x=$()/d|e", "a|$()|c", "b"]);
    assert_eq!(of("sh -c 'fishplate top; true'"), ["sh|-c|fishplate top; true", "fishplate|top", "true"]);
    assert_eq!(of("a\\ b #"), ["a b"]);
}
