//! The memory of one simulated node: user regions and bounce buffers, with real bytes.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use fishplate_engine::{BounceId, Extent, MemoryAction, Payload, Region, Source};

/// Length of the table that contents are cut from: odd, so that no stripe boundary looks like another.
const TABLE_LEN: usize = 65_521;

/// The bytes of message `id` from `offset` on.
pub fn fill(id: u64, offset: u64, out: &mut [u8]) {
    static TABLE: OnceLock<Vec<u8>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut rng = super::rng::Rng(0xf15b);
        (0..TABLE_LEN).map(|_| rng.next() as u8).collect()
    });
    let mut at = ((id * 7919 + offset) % TABLE_LEN as u64) as usize;
    let mut out = out;
    while !out.is_empty() {
        let len = out.len().min(TABLE_LEN - at);
        let (now, later) = out.split_at_mut(len);
        now.copy_from_slice(&table[at..at + len]);
        (out, at) = (later, 0);
    }
}

/// Whether `bytes` are the start of message `id`.
pub fn is_message(id: u64, bytes: &[u8]) -> bool {
    let mut expected = vec![0; bytes.len()];
    fill(id, 0, &mut expected);
    expected == bytes
}

#[derive(Default)]
pub struct Memory {
    /// Freed regions are `None`: whoever still reads or writes them fails the test.
    regions: Vec<Option<Vec<u8>>>,
    bounces: BTreeMap<u32, Vec<u8>>,
    /// Of those with messages of peers: peer and length.
    owners: BTreeMap<u32, (usize, u64)>,
    most_bounces: usize,
    /// Bytes are not touched: for tests of nothing but time.
    phantom: bool,
}

impl Memory {
    pub fn new(phantom: bool) -> Memory {
        Memory { phantom, ..Memory::default() }
    }

    pub fn is_phantom(&self) -> bool {
        self.phantom
    }

    pub fn allocate(&mut self, len: u64) -> Region {
        let bytes = if self.phantom { Vec::new() } else { vec![0xee; len as usize] };
        self.regions.push(Some(bytes));
        Region(self.regions.len() as u64 - 1)
    }

    pub fn message(&mut self, id: u64, len: u64) -> Region {
        let region = self.allocate(len);
        if !self.phantom {
            fill(id, 0, self.bytes(region));
        }
        region
    }

    pub fn free(&mut self, region: Region) {
        assert!(self.regions[region.0 as usize].take().is_some(), "region {} freed twice", region.0);
    }

    pub fn bytes(&mut self, region: Region) -> &mut Vec<u8> {
        self.regions[region.0 as usize].as_mut().unwrap_or_else(|| panic!("region {} used after its end", region.0))
    }

    pub fn view(&mut self, extent: Extent) -> &mut [u8] {
        &mut self.bytes(extent.region)[extent.offset as usize..][..extent.len as usize]
    }

    pub fn gather(&mut self, source: &Source) -> Vec<u8> {
        if self.phantom {
            return Vec::new();
        }
        match source {
            Source::User(payload) => self.gather_user(payload),
            Source::Padding { len } => vec![0; *len as usize],
            Source::Sent { .. } => panic!("nothing is sent in memory here"),
            Source::Bounce { id, offset, len } => {
                let bytes = self.bounces.get(&id.0).expect("sends from a bounce buffer that is not there");
                bytes[*offset as usize..][..*len as usize].to_vec()
            }
        }
    }

    fn gather_user(&mut self, payload: &Payload) -> Vec<u8> {
        let mut out = Vec::with_capacity(payload.len() as usize);
        for extent in payload.extents() {
            if extent.len > 0 {
                out.extend_from_slice(self.view(*extent));
            }
        }
        out
    }

    /// Writes as much of `bytes` as fits.
    pub fn scatter(&mut self, to: &Payload, mut bytes: &[u8]) {
        if self.phantom {
            return;
        }
        for extent in to.extents() {
            let (now, later) = bytes.split_at(bytes.len().min(extent.len as usize));
            if !now.is_empty() {
                self.view(*extent)[..now.len()].copy_from_slice(now);
            }
            bytes = later;
        }
    }

    /// For `len` bytes of a message of `peer`.
    pub fn make_bounce_for(&mut self, id: BounceId, peer: usize, len: u64) {
        let there = if self.phantom { 0 } else { len };
        self.make_bounce(id, vec![0; there as usize]);
        self.owners.insert(id.0, (peer, len));
    }

    fn make_bounce(&mut self, id: BounceId, bytes: Vec<u8>) {
        let old = self.bounces.insert(id.0, bytes);
        assert!(old.is_none(), "bounce buffer {} made twice", id.0);
        self.most_bounces = self.most_bounces.max(self.bounces.len());
        assert!((id.0 as usize) < 2 * self.most_bounces + 16, "names of bounce buffers are not used again");
    }

    pub fn fill_bounce(&mut self, id: BounceId, bytes: Vec<u8>) {
        if !self.phantom {
            *self.bounces.get_mut(&id.0).expect("a payload for a bounce buffer that is not there") = bytes;
        }
    }

    /// Bytes that messages of `peer` hold here.
    pub fn held_for(&self, peer: usize) -> u64 {
        self.owners.values().filter(|(owner, _)| *owner == peer).map(|(_, len)| len).sum()
    }

    pub fn bounces(&self) -> usize {
        self.bounces.len()
    }

    /// Does what concerns this memory alone.
    pub fn act(&mut self, action: MemoryAction) {
        match action {
            MemoryAction::Fill { into, from } => {
                let bytes = self.gather(&Source::User(from));
                self.make_bounce(into, bytes);
            }
            MemoryAction::Copy { from, to } => {
                let bytes = self.bounces.get(&from.0).expect("a copy from a bounce buffer that is not there").clone();
                self.scatter(&to, &bytes);
            }
            MemoryAction::Release(id) => {
                assert!(self.bounces.remove(&id.0).is_some(), "bounce buffer {} released twice", id.0);
                self.owners.remove(&id.0);
            }
            MemoryAction::Apply { .. } => unreachable!("nobody asks for atomic operations"),
            MemoryAction::Discard(_) | MemoryAction::Detach(_) => unreachable!("the world knows what is under way"),
        }
    }
}
