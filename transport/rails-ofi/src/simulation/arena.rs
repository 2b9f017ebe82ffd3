//! The memory of all nodes. Released memory stays, so that later accesses are found.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use fastrand::Rng;
use fishplate_engine::{Extent, Payload, Region};
use fishplate_link_core::UserMemory;

use crate::simulated::Access;

/// Bytes around each piece, which must not be accessed.
const GUARD: u64 = 32;
/// Contents of memory that has not been written.
pub const UNTOUCHED: u8 = 0xee;
/// Contents of released memory.
const GONE: u8 = 0xdd;
/// Length of the table that contents are cut from: odd, so that no boundary of a stripe looks like another.
const TABLE: usize = 65_521;

/// All pieces, by where they begin.
#[derive(Default)]
pub struct Arena {
    pieces: BTreeMap<u64, Piece>,
}

struct Piece {
    _bytes: Box<[u8]>,
    len: u64,
    is_gone: bool,
}

/// The bytes of operation `id`.
pub fn contents(id: u64, len: u64) -> Vec<u8> {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    let table = BYTES.get_or_init(|| {
        let mut rng = Rng::with_seed(0xf15b);
        (0..TABLE).map(|_| rng.u8(..)).collect()
    });
    let mut out = Vec::with_capacity(len as usize);
    let mut at = (id * 7919) as usize % TABLE;
    while out.len() < len as usize {
        let part = (len as usize - out.len()).min(TABLE - at);
        out.extend_from_slice(&table[at..at + part]);
        at = 0;
    }
    out
}

/// A whole piece as a payload: in two extents, if it is long enough and `is_cut`.
pub fn payload(region: Region, len: u64, is_cut: bool) -> Payload {
    let whole = Extent { region, offset: 0, len };
    if !is_cut || len < 2 {
        return Payload::One(whole);
    }
    Payload::Many(Box::new([whole.slice(0, len / 3), whole.slice(len / 3, len)]))
}

impl Arena {
    /// A new piece.
    pub fn take(&mut self, len: u64) -> Region {
        let mut bytes = vec![UNTOUCHED; (len + 2 * GUARD) as usize].into_boxed_slice();
        let start = bytes.as_mut_ptr().expose_provenance() as u64 + GUARD;
        self.pieces.insert(start, Piece { _bytes: bytes, len, is_gone: false });
        Region(start)
    }

    /// One with the contents of operation `id`.
    pub fn filled(&mut self, id: u64, len: u64) -> Region {
        let region = self.take(len);
        UserMemory::of_test().write(&payload(region, len, false), 0, &contents(id, len));
        region
    }

    /// The first bytes of a piece.
    pub fn bytes(&self, region: Region, len: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        UserMemory::of_test().read(&payload(region, len, false), &mut bytes);
        bytes
    }

    /// The user has a piece for something else from now on.
    pub fn give_back(&mut self, region: Region) {
        let piece = self.pieces.get_mut(&region.0).expect("a piece that was never taken");
        assert!(!std::mem::replace(&mut piece.is_gone, true), "a piece is given back twice");
        let len = piece.len;
        UserMemory::of_test().write(&payload(region, len, false), 0, &vec![GONE; len as usize]);
    }

    /// An endpoint touches memory.
    pub fn touched(&self, access: Access, address: u64, len: u64) {
        let found = self.pieces.range(..=address).next_back();
        let inside = found.filter(|(start, piece)| address + len <= **start + piece.len);
        let (_, piece) = inside.unwrap_or_else(|| panic!("{access:?} of {len} bytes where nothing was taken"));
        assert!(!piece.is_gone, "{access:?} of {len} bytes of memory that was given back");
    }

    /// Nobody has written around the pieces, nor to those that were given back.
    pub fn check(&self) {
        for (start, piece) in &self.pieces {
            let bytes = self.bytes(Region(start - GUARD), piece.len + 2 * GUARD);
            let (before, rest) = bytes.split_at(GUARD as usize);
            let (inside, behind) = rest.split_at(piece.len as usize);
            assert!(before.iter().chain(behind).all(|byte| *byte == UNTOUCHED), "written around a piece");
            assert!(piece.is_gone && *inside == vec![GONE; inside.len()], "written after it was given back, or kept");
        }
    }
}
