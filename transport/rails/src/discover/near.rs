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
    let (distance, name) = all.iter().map(|name| (strsim::levenshtein(text, name), name)).min()?;
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
