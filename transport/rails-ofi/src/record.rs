//! Records: the messages between endpoints. Each begins with a preamble.

/// Length of a preamble, in bytes.
pub const PREAMBLE: usize = 28;
/// Bytes of payload in one record, at most.
pub const MAX_PAYLOAD: usize = 16 << 10;
/// Pieces of memory that one record lends, at most.
pub const MAX_PIECES: usize = 16;
/// Encoded length of a piece, in bytes: address, key, length.
pub const PIECE: usize = 24;

/// Kinds of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Greeting: the sender knows the receiver's address.
    Hello = 1,
    /// Greeting: the sender has also received the receiver's hello.
    Welcome = 2,
    /// Only the acknowledgements in the preamble.
    Credit = 3,
    /// A header, with its payload or the start of it.
    Frame = 4,
    /// A further part of the payload.
    Rest = 5,
    /// A header, with the location of its payload in the sender's memory.
    Lent = 6,
}

impl Kind {
    /// Whether it needs a credit and has a number.
    pub fn is_numbered(self) -> bool {
        matches!(self, Kind::Frame | Kind::Rest | Kind::Lent)
    }

    fn of(number: u8) -> Option<Kind> {
        use Kind::{Credit, Frame, Hello, Lent, Rest, Welcome};
        [Hello, Welcome, Credit, Frame, Rest, Lent].into_iter().find(|kind| *kind as u8 == number)
    }
}

/// Identifies the receiver's link; only a peer that the receiver has sent its description to knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkKey {
    /// The receiver's name of the link.
    pub link: u32,
    /// Secret from the receiver's description.
    pub secret: u64,
}

/// The start of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preamble {
    /// The receiver's name of the link.
    pub link: u32,
    /// What the receiver has sent to the sender alone.
    pub secret: u64,
    /// Number of numbered records before it, modulo 2^32.
    pub number: u32,
    /// Acknowledgement: the receiver's numbered records that the sender has handled, modulo 2^32.
    pub taken: u32,
    /// Acknowledgement: the receiver's loans that the sender has read, modulo 2^32. In a greeting, the sender's number of the link.
    pub fetched: u32,
    pub kind: Kind,
}

impl Preamble {
    /// Writes it to the start of a record.
    pub fn encode(&self) -> [u8; PREAMBLE] {
        let mut out = [0; PREAMBLE];
        out[..8].copy_from_slice(&self.secret.to_le_bytes());
        for (at, word) in [self.link, self.number, self.taken, self.fetched].into_iter().enumerate() {
            out[8 + 4 * at..12 + 4 * at].copy_from_slice(&word.to_le_bytes());
        }
        out[24] = self.kind as u8;
        out
    }

    /// The key of a record. `None`: it is too short.
    pub fn key(record: &[u8]) -> Option<LinkKey> {
        let (secret, rest) = record.split_first_chunk()?;
        Some(LinkKey { link: u32::from_le_bytes(*rest.first_chunk()?), secret: u64::from_le_bytes(*secret) })
    }

    /// Decodes the preamble of a record. `None`: it has no valid one.
    pub fn decode(record: &[u8]) -> Option<Preamble> {
        let bytes = record.first_chunk::<PREAMBLE>()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let kind = Kind::of(bytes[24])?;
        let secret = u64::from(word(0)) | u64::from(word(4)) << 32;
        Some(Preamble { secret, link: word(8), number: word(12), taken: word(16), fetched: word(20), kind })
    }
}

/// A piece of the sender's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemotePiece {
    /// Where it is.
    pub address: u64,
    /// Its key.
    pub key: u64,
    /// Its length, in bytes.
    pub len: u64,
}

impl RemotePiece {
    /// As in a record.
    pub fn encode(&self) -> [u8; PIECE] {
        let mut out = [0; PIECE];
        for (at, number) in [self.address, self.key, self.len].into_iter().enumerate() {
            out[8 * at..8 * at + 8].copy_from_slice(&number.to_le_bytes());
        }
        out
    }

    /// The pieces that a record names behind its header, if they have `len` bytes together.
    pub fn decode_all(list: &[u8], len: u64) -> Option<Vec<RemotePiece>> {
        if !list.len().is_multiple_of(PIECE) || list.len() > MAX_PIECES * PIECE {
            return None;
        }
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let piece =
            |bytes: &[u8]| RemotePiece { address: number(bytes), key: number(&bytes[8..]), len: number(&bytes[16..]) };
        let pieces: Vec<RemotePiece> = list.chunks(PIECE).map(piece).collect();
        let sum = pieces.iter().try_fold(0u64, |sum, piece| sum.checked_add(piece.len));
        (sum == Some(len) && pieces.iter().all(|piece| piece.len > 0)).then_some(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn encoding_round_trips(link: u32, secret: u64, number: u32, taken: u32, fetched: u32, kind in 1u8..7) {
            let preamble = Preamble { link, secret, number, taken, fetched, kind: Kind::of(kind).unwrap() };
            prop_assert_eq!(Preamble::decode(&preamble.encode()), Some(preamble));
        }

        #[test]
        fn nothing_else_is_read_than_what_can_be_meant(bytes in prop::collection::vec(any::<u8>(), 0..600), len: u64) {
            let _ = Preamble::decode(&bytes);
            if let Some(pieces) = RemotePiece::decode_all(&bytes, len) {
                prop_assert!(pieces.len() <= MAX_PIECES);
                prop_assert_eq!(pieces.iter().map(|piece| piece.len).sum::<u64>(), len);
            }
        }
    }

    #[test]
    fn pieces_have_the_length_of_their_payload() {
        let pieces = [(7, 1, 100), (9, 2, 28)].map(|(address, key, len)| RemotePiece { address, key, len });
        let list: Vec<u8> = pieces.iter().flat_map(RemotePiece::encode).collect();
        assert_eq!(RemotePiece::decode_all(&list, 128).as_deref(), Some(&pieces[..]));
        assert_eq!(RemotePiece::decode_all(&list, 127), None);
        assert_eq!(RemotePiece::decode_all(&list[..47], 128), None);
        assert_eq!(RemotePiece::decode_all(&list.repeat(9), 128 * 9), None);
    }
}
