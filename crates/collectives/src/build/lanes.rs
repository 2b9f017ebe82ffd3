//! How a message is cut: into segments one after the other, each into lanes side by side.

use crate::buffer::{Slice, part_of};
use crate::map::LocalRank;
use crate::step::Tag;

/// The segments of a slice, each with a tag; at least one, with nothing in it if there is nothing.
pub fn segments_of(data: Slice, segments: u16) -> Vec<(Tag, Slice)> {
    let count = usize::from(segments).min(data.len).max(1);
    let segment = |index| {
        let (start, len) = part_of(data.len, count, index);
        (Tag(index as u16), data.part(start, len))
    };
    (0..count).map(segment).collect()
}

/// The part of a segment that crosses from carrier `index` of so many.
pub fn lane(segment: Slice, lanes: usize, index: usize) -> Slice {
    let (start, len) = part_of(segment.len, lanes, index);
    segment.part(start, len)
}

/// The carrier that gets part `index` of so many: parts that follow each other go to the same one or to the next.
pub fn catcher(carriers: &[LocalRank], lanes: usize, index: usize) -> LocalRank {
    carriers[index * carriers.len() / lanes]
}
