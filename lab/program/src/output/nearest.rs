//! Suggests the nearest known name for an unknown one.

use strsim::damerau_levenshtein;

/// Of `names`, the one that is spelled most like `wanted`, unless none is near. Capitals in `wanted` do not matter.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let distances = names.into_iter().map(|name| (damerau_levenshtein(name, &wanted), name));
    // A third of its letters wrong is another word.
    distances.min().filter(|(distance, found)| distance * 3 <= found.len().max(3)).map(|(_, found)| found)
}
