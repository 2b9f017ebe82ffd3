//! How a message is cut: into segments one after the other, each into shares side by side.

use super::Context;
use crate::buffer::{Slice, part_of};
use crate::map::{Cluster, ClusterMap, Rank};
use crate::step::{MAX_TAGS, Tag};

/// The segments of a slice, each with a tag; at least one, with nothing in it if there is nothing.
pub fn segments_of(data: Slice, segments: u16) -> Vec<(Tag, Slice)> {
    let count = usize::from(segments.min(MAX_TAGS)).min(data.len).max(1);
    let segment = |index| {
        let (start, len) = part_of(data.len, count, index);
        (Tag(index as u16), data.part(start, len))
    };
    (0..count).map(segment).collect()
}

/// Each rank's share of a segment in a cluster: one rank of each host has a share, the others nothing.
pub fn shares(map: &ClusterMap, cluster: Cluster, segment: Slice) -> Vec<Slice> {
    let mut shares = vec![segment.part(0, 0); map.members(cluster).len()];
    let host_leaders = map.host_leaders(cluster);
    for (index, carrier) in host_leaders.iter().enumerate() {
        let (start, len) = part_of(segment.len, host_leaders.len(), index);
        shares[carrier.0] = segment.part(start, len);
    }
    shares
}

/// The ranks of another cluster that carry a part of this rank's share of a segment, and those parts.
pub fn counterparts(context: &Context, cluster: Cluster, segment: Slice) -> Vec<(Rank, Slice)> {
    let own = shares(context.map, context.cluster(), segment)[context.local().0];
    let theirs = shares(context.map, cluster, segment);
    let common = theirs.iter().map(|share| common(own, *share));
    let members = context.map.members(cluster).iter().copied();
    members.zip(common).filter(|(_, part)| part.len > 0).collect()
}

/// The intersection of two slices of one buffer.
fn common(a: Slice, b: Slice) -> Slice {
    let start = a.start.max(b.start);
    Slice { start, len: a.end().min(b.end()).saturating_sub(start), ..a }
}

/// A whole is cut into `ours` equal parts, and into `theirs`. Returns each pair of parts that overlap, with the
/// overlap's share of the whole.
pub fn overlaps(ours: usize, theirs: usize) -> Vec<(usize, usize, f64)> {
    // In units of which each of ours has `theirs`, and each of theirs `ours`.
    let whole = (ours * theirs) as f64;
    let common = |one: usize, other: usize| {
        let (start, end) = ((one * theirs).max(other * ours), ((one + 1) * theirs).min((other + 1) * ours));
        end.saturating_sub(start)
    };
    let pairs = (0..ours).flat_map(|one| (0..theirs).map(move |other| (one, other)));
    let met = pairs.map(|(one, other)| (one, other, common(one, other))).filter(|(.., units)| *units > 0);
    met.map(|(one, other, units)| (one, other, units as f64 / whole)).collect()
}
