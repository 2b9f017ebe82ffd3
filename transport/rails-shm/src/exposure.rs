//! An entry in the table of registered memory that a side lets its peer access directly. Encoded: its number, 0 for none, and its
//! content.

use fishplate_engine::{Registration, Remote};

use crate::layout::EXPOSURE;

/// The peer may read it.
pub const READ: u32 = 1;
/// The peer may write it.
pub const WRITE: u32 = 2;

/// Bytes of an entry behind its number.
const LEN: usize = 36;

/// Registered memory, in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposure {
    rights: u32,
    /// The key under which peers access it.
    pub key: u64,
    base: u64,
    address: u64,
    len: u64,
}

impl Exposure {
    /// `None` if it has several pieces, or may not be accessed.
    pub fn of(registration: &Registration) -> Option<Exposure> {
        let Registration { key, memory, base, readable, writable } = registration;
        let [extent] = memory.extents() else { return None };
        let rights = if *readable { READ } else { 0 } | if *writable { WRITE } else { 0 };
        let address = extent.region.0.wrapping_add(extent.offset);
        (rights != 0).then_some(Exposure { rights, key: *key, base: *base, address, len: extent.len })
    }

    /// Its bytes in the table, behind its number.
    pub fn encode(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..4].copy_from_slice(&self.rights.to_le_bytes());
        for (place, number) in bytes[4..].chunks_exact_mut(8).zip([self.key, self.base, self.address, self.len]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Decodes an entry: its number, 0 if there is none, and its content.
    pub fn decode(bytes: &[u8; EXPOSURE]) -> (u32, Exposure) {
        let word = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let long = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let exposure = Exposure { rights: word(4), key: long(8), base: long(16), address: long(24), len: long(32) };
        (word(0), exposure)
    }

    /// The address in the peer's memory of `len` bytes from `place` on, if all of them may be accessed with these `rights`.
    pub fn address_of(&self, place: Remote, len: u64, rights: u32) -> Option<u64> {
        let offset = place.address.checked_sub(self.base)?;
        let is_inside = offset.checked_add(len)? <= self.len;
        let is_allowed = place.key == self.key && self.rights & rights == rights && is_inside;
        // The peer may have written anything: only its own memory is accessed there.
        is_allowed.then_some(self.address.wrapping_add(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fishplate_engine::{Extent, Payload, Region};

    fn extent(offset: u64, len: u64) -> Extent {
        Extent { region: Region(5000), offset, len }
    }

    fn registration(memory: Payload) -> Registration {
        Registration { key: 9, memory, base: 1000, readable: true, writable: false }
    }

    #[test]
    fn an_entry_is_read_as_it_was_written_and_allows_what_was_registered() {
        let exposure = Exposure::of(&registration(Payload::One(extent(8, 100)))).unwrap();
        let mut bytes = [0; EXPOSURE];
        bytes[0] = 3;
        bytes[4..4 + LEN].copy_from_slice(&exposure.encode());
        assert_eq!(Exposure::decode(&bytes), (3, exposure));
        let find = |key, address, len, rights| exposure.address_of(Remote { key, address }, len, rights);
        assert_eq!(find(9, 1000, 100, READ), Some(5008));
        assert_eq!(find(9, 1099, 1, READ), Some(5107));
        assert_eq!(find(9, 1000, 1, WRITE), None);
        assert_eq!(find(8, 1000, 1, READ), None);
        for (address, len) in [(999, 1), (1000, 101), (1100, 1), (u64::MAX, 2), (1001, u64::MAX), (0, 1)] {
            assert_eq!(find(9, address, len, READ), None, "{len} bytes from {address}");
        }
    }

    #[test]
    fn memory_in_pieces_or_of_nobodys_use_is_not_in_the_table() {
        assert_eq!(Exposure::of(&registration(Payload::Many(vec![extent(0, 8), extent(9, 8)].into()))), None);
        let hidden = Registration { readable: false, ..registration(Payload::One(extent(0, 8))) };
        assert_eq!(Exposure::of(&hidden), None);
    }
}
