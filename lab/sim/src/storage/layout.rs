//! Which server has what of a file.

use std::collections::BTreeMap;

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
}

/// The part of an access on one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub server: u32,
    pub bytes: u64,
    /// In how many places of its local file: its stripes of one piece follow each other there.
    pub places: u64,
}

/// The parts of pieces on each server, in the order of servers; servers without a part are omitted.
pub(super) fn parts(pieces: &[Piece], stripe: u64, servers: u32) -> Vec<Part> {
    let mut parts: BTreeMap<u32, Part> = BTreeMap::new();
    for piece in pieces {
        let round = stripe * u64::from(servers);
        let each = piece.bytes / round * stripe;
        let (mut at, end) = (piece.offset, piece.offset + piece.bytes % round);
        let mut of_piece: BTreeMap<u32, u64> = BTreeMap::new();
        if each > 0 {
            of_piece = (0..servers).map(|server| (server, each)).collect();
        }
        while at < end {
            let next = ((at / stripe + 1) * stripe).min(end);
            *of_piece.entry((at / stripe % u64::from(servers)) as u32).or_default() += next - at;
            at = next;
        }
        for (server, bytes) in of_piece {
            let part = parts.entry(server).or_insert(Part { server, ..Part::default() });
            part.bytes += bytes;
            part.places += 1;
        }
    }
    parts.into_values().collect()
}

/// Lengths of the pieces of `bytes` bytes, each at most `most`.
pub(super) fn cut(bytes: u64, most: u64) -> impl Iterator<Item = u64> {
    (0..bytes.div_ceil(most)).map(move |number| most.min(bytes - number * most))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte by byte.
    fn naive(pieces: &[Piece], stripe: u64, servers: u32) -> Vec<(u32, u64)> {
        let mut bytes = vec![0; servers as usize];
        for piece in pieces {
            for at in piece.offset..piece.offset + piece.bytes {
                bytes[(at / stripe % u64::from(servers)) as usize] += 1;
            }
        }
        (0..servers).zip(bytes).filter(|(_, bytes)| *bytes > 0).collect()
    }

    #[test]
    fn each_byte_is_on_the_server_of_its_stripe() {
        for (offset, bytes) in [(0, 40), (3, 1), (7, 2), (9, 100), (38, 5), (16, 0)] {
            let pieces = [Piece { offset, bytes }, Piece { offset: offset + 3 * bytes, bytes }];
            for servers in 1..5 {
                let found: Vec<_> = parts(&pieces, 8, servers).iter().map(|part| (part.server, part.bytes)).collect();
                assert_eq!(found, naive(&pieces, 8, servers), "{offset} {bytes} {servers}");
            }
        }
    }

    #[test]
    fn stripes_of_one_piece_are_one_place_on_a_server() {
        let piece = |offset, bytes| Piece { offset, bytes };
        let places = |pieces: &[Piece]| -> Vec<u64> { parts(pieces, 8, 2).iter().map(|part| part.places).collect() };
        assert_eq!(places(&[piece(0, 64)]), [1, 1]);
        assert_eq!(places(&[piece(0, 4), piece(16, 4), piece(40, 4)]), [2, 1]);
    }
}
