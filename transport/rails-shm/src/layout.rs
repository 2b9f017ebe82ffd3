//! The layout of the memory that two endpoints share.
//!
//! A page of words comes first, then for each direction a ring of slots and a ring of bytes, and last for each side a table
//! of registered memory that the other one may access by itself. A slot is a cache line: so a
//! short message costs the receiver one. Its first word is the number of the slot in the flow, which distinguishes it from the one
//! that was there before; the second one what kind of record begins there, and its length. The first bytes of the record
//! follow; others are in the ring of bytes, in whole cache lines. Neither side reads a position of the other's but one,
//! how many slots the receiver has taken, and that one only to compare it with what was sent.

/// Records in one direction that were not taken yet, at most.
pub const SLOTS: u32 = 256;
/// Length of a slot, in bytes.
pub(crate) const SLOT: usize = 64;
/// Bytes of a record in its slot.
pub const IN_SLOT: usize = SLOT - 8;
/// Length of a ring of bytes: as long as possible within 256 KiB for a pair of endpoints.
pub const BYTES: usize = 96 << 10;
/// Bytes of payload in one record, at most: long payloads are cut, so that one side copies out while the other copies in.
pub const MAX_PAYLOAD: usize = 16 << 10;

/// Length of the page of words.
const WORDS: usize = 4096;
/// Length of the rings of one direction.
const DIRECTION: usize = SLOTS as usize * SLOT + BYTES;
/// Entries of a table: a page of them.
pub(crate) const EXPOSED: usize = 64;
/// Length of an entry, in bytes: a cache line.
pub(crate) const EXPOSURE: usize = 64;
/// Offset of the tables.
const TABLES: usize = WORDS + 2 * DIRECTION;
/// Length of the shared memory.
pub const LEN: usize = TABLES + 2 * EXPOSED * EXPOSURE;

/// Distance of words that are written by different sides, or at different times: processors fetch two cache lines at once.
const APART: usize = 128;
/// Offset of the nonce: a random number, written once, by which both sides verify that they map the same memory.
pub(crate) const NONCE_AT: usize = 0;
/// Length of the nonce.
pub(crate) const NONCE_LEN: usize = 16;

/// The two sides of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that has created the memory.
    Creator = 0,
    /// The other side.
    Opener = 1,
}

impl Side {
    /// The other side.
    pub fn peer(self) -> Side {
        match self {
            Side::Creator => Side::Opener,
            Side::Opener => Side::Creator,
        }
    }

    /// Offset of a word of this side.
    pub fn word(self, word: Word) -> usize {
        (1 + 2 * word as usize + self as usize) * APART
    }

    /// Offset of slot `number` for records that this side sends.
    pub fn slot(self, number: u32) -> usize {
        self.direction() + (number % SLOTS) as usize * SLOT
    }

    /// Offset of the ring of bytes for records that this side sends.
    pub fn bytes(self) -> usize {
        self.direction() + SLOTS as usize * SLOT
    }

    /// Offset of entry `number` in its table.
    pub(crate) fn exposure(self, number: usize) -> usize {
        TABLES + (self as usize * EXPOSED + number % EXPOSED) * EXPOSURE
    }

    /// Offset of the destination (address and length, as the kernel takes them) of this side's write into the peer's memory.
    pub fn target(self) -> usize {
        self.word(Word::Piece) + 16
    }

    fn direction(self) -> usize {
        WORDS + self as usize * DIRECTION
    }
}

/// The words of a side.
#[derive(Clone, Copy, Debug)]
pub enum Word {
    /// Number of slots that it has taken, modulo 2^32. Written by this side.
    Taken = 0,
    /// Whether it sleeps, and what ends that: [`Sleep`]. Written by this side, and cleared by the peer that rings.
    Sleep = 1,
    /// Set when payloads that it has lent must not be read any more. Written by this side.
    Closed = 2,
    /// Whether it can read the peer's memory. Written by this side.
    Reads = 3,
    /// Address of the shared memory in its process; two words. Written by this side.
    Address = 4,
    /// Counts the begins and ends of its writes into registered memory of the peer: odd while it writes. Written by this side. The
    /// destination, [`Side::target`], is in the same cache line; the peer sets its length to zero.
    Piece = 5,
}

/// Events that end a side's sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// It is awake.
    Not = 0,
    /// A record.
    UntilRecord = 1,
    /// A record, or room for one.
    UntilRecordOrRoom = 2,
}

/// Kinds of records.
pub mod kind {
    /// A header, with its payload or the start of it.
    pub const FRAME: u32 = 1;
    /// A further part of the payload.
    pub const REST: u32 = 2;
    /// A header, with the location of its payload in the sender's memory: an address, or pairs of address and length.
    pub const LENT: u32 = 3;
}

/// Bytes of the ring that a record of `len` bytes takes.
pub(crate) fn in_ring(len: usize) -> usize {
    len.saturating_sub(IN_SLOT).next_multiple_of(SLOT)
}

/// The second word of a slot.
pub fn describe(kind: u32, len: usize) -> u32 {
    kind << 24 | len as u32
}

/// Kind and length in the second word of a slot.
pub(crate) fn described(word: u32) -> (u32, usize) {
    (word >> 24, (word & 0xff_ffff) as usize)
}

/// The first word of slot `number`. Memory is zero before it is used for the first time.
pub fn tag(number: u32) -> u32 {
    number.wrapping_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps_and_a_pair_takes_no_more_than_256_kib() {
        let words = [Word::Taken, Word::Sleep, Word::Closed, Word::Reads, Word::Address, Word::Piece];
        let sides = [Side::Creator, Side::Opener];
        let mut places: Vec<usize> = words.iter().flat_map(|word| sides.map(|side| side.word(*word))).collect();
        places.extend(sides.map(|side| side.slot(0)));
        places.extend(sides.map(Side::bytes));
        places.extend(sides.map(|side| side.exposure(0)));
        places.push(NONCE_AT);
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= APART), "{places:?}");
        assert!(LEN <= 256 << 10 && Side::Opener.bytes() + BYTES == TABLES);
        assert!(Side::Opener.exposure(EXPOSED - 1) + EXPOSURE == LEN);
        assert!(Side::Creator.target().is_multiple_of(16));
        assert!(SLOTS.is_power_of_two() && BYTES.is_multiple_of(SLOT) && MAX_PAYLOAD < BYTES / 2);
    }
}
