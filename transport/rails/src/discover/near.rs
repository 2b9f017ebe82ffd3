//! Suggestions for a word of FISHPLATE_RAILS that matches nothing.

use super::{Interface, Network};

/// The name, or path, that is most like a name that no interface has. Paths are recognized as other tools write them.
pub fn near_name(text: &str, interfaces: &[Interface]) -> Option<String> {
    let path = text.replacen(['@', ':'], "/", 1);
    if paths_of(interfaces).contains(&path) {
        return Some(path);
    }
    if interfaces.iter().any(|other| other.name.starts_with(text)) {
        return Some(format!("{text}*"));
    }
    let all: Vec<String> = interfaces.iter().flat_map(names).map(str::to_string).collect();
    nearest(text, &all)
}

/// The one of `all` that is most like `text`, if it is near enough for a typing mistake.
pub fn nearest(text: &str, all: &[String]) -> Option<String> {
    let (distance, name) = all.iter().map(|name| (distance(text, name), name)).min()?;
    (distance <= 2 && distance < text.len()).then(|| name.clone())
}

/// All paths that could be named.
pub fn paths_of(interfaces: &[Interface]) -> Vec<String> {
    let path = |interface: &Interface, own: &Network| format!("{}/{}", interface.name, own.ip);
    interfaces.iter().flat_map(|one| one.addresses.iter().map(move |own| path(one, own))).collect()
}

pub fn names(interface: &Interface) -> impl Iterator<Item = &str> {
    std::iter::once(interface.name.as_str()).chain(interface.altnames.iter().map(String::as_str))
}

/// Edit distance (Levenshtein): insertions, removals and replacements of characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}
