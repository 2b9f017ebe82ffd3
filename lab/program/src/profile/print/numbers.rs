//! Texts that are cut and wrapped.

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
    fn they_read_well() {
        assert_eq!((cut("abcdef", 6), cut("abcdefg", 6)), ("abcdef".into(), "abcde…".into()));
        assert_eq!(wrapped("! one two three four", 9), "! one two\n  three\n  four");
    }
}
