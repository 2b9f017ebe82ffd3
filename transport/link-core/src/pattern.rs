//! Names as patterns say: `eth*`, `enp?s0`.

/// Whether a name is as a pattern says: `*` stands for any characters, `?` for one.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return name.is_empty() };
    let rest = &pattern[first.len_utf8()..];
    let mut shorter = name.chars();
    match (first, shorter.next()) {
        ('*', next) => matches(rest, name) || (next.is_some() && matches(pattern, shorter.as_str())),
        ('?', Some(_)) => matches(rest, shorter.as_str()),
        (first, Some(next)) => first == next && matches(rest, shorter.as_str()),
        (_, None) => false,
    }
}
