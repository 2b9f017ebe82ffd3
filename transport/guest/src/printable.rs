//! Text of others for a terminal: names of hosts, programs, communicators and files, and what other processes said.

use std::borrow::Cow;

/// `text` with `?` in the place of each character that a terminal takes for a command, or that changes the order in which
/// others are shown. Ends of lines and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(is_command) { text.replace(is_command, "?").into() } else { text.into() }
}

/// Control characters (C0, DEL and C1), those that the Unicode Bidirectional Algorithm obeys (UAX 9, section 2), and the
/// separators of lines and paragraphs.
fn is_command(character: char) -> bool {
    let is_layout = matches!(character, '\n' | '\t');
    let is_direction = matches!(
        character,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    is_direction || character.is_control() && !is_layout
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_control_characters_are_replaced() {
        let hostile = "\x1b]0;title\x07\u{9b}31m\r\u{7f}\x08 a\u{202e}b\u{2066}c\u{2028}";
        assert_eq!(printable(hostile), "?]0;title??31m??? a?b?c?");
        let harmless = "täglich 12 µs\n\tnach São Paulo, 東京 — ½ \u{1f600}";
        assert!(matches!(printable(harmless), Cow::Borrowed(text) if text == harmless));
    }
}
