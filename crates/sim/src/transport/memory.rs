//! The memory of one host: what its user lends to operations, and the buffers of its driver.

use std::collections::BTreeMap;

use fishplate_engine::{BounceId, Extent, MemoryAction, Payload, Region, Source};

use super::data::{Contents, Data};
use super::ids::HostId;

/// Memory of the user.
struct Lent {
    data: Data,
    /// The user has it back.
    returned: bool,
}

/// A buffer of the driver.
struct Bounce {
    /// Whose message is in it; nobody's for copies of own ones.
    owner: Option<HostId>,
    data: Data,
    /// Payload bytes that it is for.
    len: u64,
}

/// The driver touched memory that was not its to touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trespass {
    /// It read what the user has back.
    Read(Extent),
    /// It wrote there.
    Write(Extent),
    /// It used a bounce buffer that is not there, or made one that is.
    Bounce(BounceId),
}

/// All memory of one host.
pub struct Memory {
    contents: Contents,
    lent: Vec<Lent>,
    bounces: BTreeMap<u32, Bounce>,
    most_bounces: usize,
    /// What went wrong since it was looked at last.
    pub trespasses: Vec<Trespass>,
}

impl Memory {
    /// Nothing yet.
    pub fn new(contents: Contents) -> Memory {
        Memory { contents, lent: Vec::new(), bounces: BTreeMap::new(), most_bounces: 0, trespasses: Vec::new() }
    }

    /// Fresh memory.
    pub fn lend_blank(&mut self, len: u64) -> Region {
        self.lend(Data::blank(self.contents, len))
    }

    /// Memory with the payload of operation `id`.
    pub fn lend_payload(&mut self, id: u64, len: u64) -> Region {
        self.lend(Data::payload(self.contents, id, len))
    }

    /// The payload of operation `id` of `len` bytes, with fresh memory of `margin` bytes on both sides.
    pub fn lend_with_margin(&mut self, id: u64, len: u64, margin: u64) -> Region {
        let mut data = Data::blank(self.contents, len + 2 * margin);
        data.overwrite(margin, &Data::payload(self.contents, id, len));
        self.lend(data)
    }

    fn lend(&mut self, data: Data) -> Region {
        self.lent.push(Lent { data, returned: false });
        Region(self.lent.len() as u64 - 1)
    }

    /// The user has `region` back, and uses it for something else; what was in it.
    pub fn take_back(&mut self, region: Region) -> Data {
        let lent = &mut self.lent[region.0 as usize];
        lent.returned = true;
        std::mem::replace(&mut lent.data, Data::blank(self.contents, 0))
    }

    /// What the user sees in memory that he has lent.
    pub fn look(&self, region: Region) -> &Data {
        &self.lent[region.0 as usize].data
    }

    /// Reads for the driver.
    pub fn gather(&mut self, source: &Source, from: u64, len: u64) -> Data {
        match source {
            Source::User(payload) => self.gather_user(payload, from, len),
            Source::Bounce { id, offset, .. } => match self.bounces.get(&id.0) {
                Some(bounce) => bounce.data.slice(offset + from, len),
                None => self.missing(*id, len),
            },
        }
    }

    fn gather_user(&mut self, payload: &Payload, from: u64, len: u64) -> Data {
        let mut gathered = Data::blank(self.contents, 0);
        for extent in payload.slice(from, len).extents().iter().filter(|extent| extent.len > 0) {
            let lent = &self.lent[extent.region.0 as usize];
            if lent.returned {
                self.trespasses.push(Trespass::Read(*extent));
                gathered.append(&Data::blank(self.contents, extent.len));
            } else {
                gathered.append(&lent.data.slice(extent.offset, extent.len));
            }
        }
        gathered
    }

    /// Writes for the driver: `data` to bytes `[from, ...)` of `to`, as much as fits.
    pub fn scatter(&mut self, to: &Payload, from: u64, data: &Data) {
        let mut done = 0;
        for extent in to.slice(from, data.len()).extents().iter().filter(|extent| extent.len > 0) {
            let lent = &mut self.lent[extent.region.0 as usize];
            if lent.returned {
                self.trespasses.push(Trespass::Write(*extent));
            } else {
                lent.data.overwrite(extent.offset, &data.slice(done, extent.len));
            }
            done += extent.len;
        }
    }

    /// A buffer for a message of `owner`, to be filled bit by bit.
    pub fn open_bounce(&mut self, id: BounceId, owner: HostId, len: u64) {
        let data = Data::blank(self.contents, 0);
        self.add_bounce(id, Bounce { owner: Some(owner), data, len });
    }

    /// More of the message in a buffer.
    pub fn fill_bounce(&mut self, id: BounceId, more: &Data) {
        match self.bounces.get_mut(&id.0) {
            Some(bounce) => bounce.data.append(more),
            None => self.trespasses.push(Trespass::Bounce(id)),
        }
    }

    fn add_bounce(&mut self, id: BounceId, bounce: Bounce) {
        if self.bounces.insert(id.0, bounce).is_some() {
            self.trespasses.push(Trespass::Bounce(id));
        }
        self.most_bounces = self.most_bounces.max(self.bounces.len());
    }

    /// Payload bytes that are kept for messages of `peer`.
    pub fn held_for(&self, peer: HostId) -> u64 {
        self.bounces.values().filter(|bounce| bounce.owner == Some(peer)).map(|bounce| bounce.len).sum()
    }

    /// How many buffers there are, and were at most.
    pub fn bounces(&self) -> (usize, usize) {
        (self.bounces.len(), self.most_bounces)
    }

    /// Does what the engine asks for, where it concerns this memory alone.
    pub fn act(&mut self, action: &MemoryAction) {
        match action {
            MemoryAction::Fill { into, from } => {
                let len = from.len();
                let data = self.gather_user(from, 0, len);
                self.add_bounce(*into, Bounce { owner: None, data, len });
            }
            MemoryAction::Copy { from, to } => {
                let Some(bounce) = self.bounces.get(&from.0) else {
                    self.trespasses.push(Trespass::Bounce(*from));
                    return;
                };
                let data = bounce.data.clone();
                self.scatter(to, 0, &data);
            }
            MemoryAction::Release(id) => {
                if self.bounces.remove(&id.0).is_none() {
                    self.trespasses.push(Trespass::Bounce(*id));
                }
            }
            MemoryAction::Discard(_) | MemoryAction::Detach(_) => {}
        }
    }

    fn missing(&mut self, id: BounceId, len: u64) -> Data {
        self.trespasses.push(Trespass::Bounce(id));
        Data::blank(self.contents, len)
    }
}
