//! The memory of one host: user buffers in operations, and the bounce buffers of its driver.

use std::collections::BTreeMap;

use fishplate_engine::{Atomic, BounceId, Extent, MemoryAction, Payload, Refusal, Region, Source};

use super::arithmetic::{Buffers, combined};
use super::data::{Contents, Data};
use super::ids::HostId;

/// Names of bounce buffers that may be out of use beside as many as are in use.
const SPARE_NAMES: usize = 64;

/// Memory of the user.
struct UserBuffer {
    data: Data,
    /// The user has it back.
    returned: bool,
}

/// A buffer of the driver.
struct Bounce {
    /// Peer whose message is in it; `None` for copies of own messages.
    owner: Option<HostId>,
    data: Data,
    /// Payload bytes that it is for.
    len: u64,
}

/// An access of the driver that is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidAccess {
    /// It read a buffer that belongs to the user again.
    Read(Extent),
    /// It wrote to one.
    Write(Extent),
    /// It used a bounce buffer that does not exist, or created one that does.
    Bounce(BounceId),
}

/// All memory of one host.
pub struct Memory {
    contents: Contents,
    buffers: Vec<UserBuffer>,
    bounces: BTreeMap<u32, Bounce>,
    most_bounces: usize,
    /// Accesses that were not allowed and are not reported yet.
    pub invalid_accesses: Vec<InvalidAccess>,
}

impl Memory {
    /// No memory yet.
    pub fn new(contents: Contents) -> Memory {
        Memory {
            contents,
            buffers: Vec::new(),
            bounces: BTreeMap::new(),
            most_bounces: 0,
            invalid_accesses: Vec::new(),
        }
    }

    /// Fresh memory.
    pub fn allocate_blank(&mut self, len: u64) -> Region {
        self.allocate(Data::blank(self.contents, len))
    }

    /// Memory with the payload of operation `id`.
    pub fn allocate_payload(&mut self, id: u64, len: u64) -> Region {
        self.allocate(Data::payload(self.contents, id, len))
    }

    /// The payload of operation `id` of `len` bytes, with fresh memory of `margin` bytes on both sides.
    pub fn allocate_with_margin(&mut self, id: u64, len: u64, margin: u64) -> Region {
        let mut data = Data::blank(self.contents, len + 2 * margin);
        data.overwrite(margin, &Data::payload(self.contents, id, len));
        self.allocate(data)
    }

    /// 8 bytes with a number.
    pub fn allocate_number(&mut self, number: u64) -> Region {
        self.allocate(Data::of_bytes(self.contents, &number.to_le_bytes()))
    }

    fn allocate(&mut self, data: Data) -> Region {
        self.buffers.push(UserBuffer { data, returned: false });
        Region(self.buffers.len() as u64 - 1)
    }

    /// `region` belongs to the user again, who uses it for something else. Returns its contents.
    pub fn reclaim(&mut self, region: Region) -> Data {
        let buffer = &mut self.buffers[region.0 as usize];
        buffer.returned = true;
        std::mem::replace(&mut buffer.data, Data::blank(self.contents, 0))
    }

    /// Contents of a user buffer.
    pub fn contents(&self, region: Region) -> &Data {
        &self.buffers[region.0 as usize].data
    }

    /// Reads for the driver.
    pub fn gather(&mut self, source: &Source, from: u64, len: u64) -> Data {
        match source {
            Source::User(payload) => self.gather_user(payload, from, len),
            Source::Bounce { id, offset, .. } => match self.bounces.get(&id.0) {
                Some(bounce) => bounce.data.slice(offset + from, len),
                None => self.missing(*id, len),
            },
            // Recovered before.
            Source::Sent { .. } | Source::Padding { .. } => Data::blank(self.contents, len),
        }
    }

    fn gather_user(&mut self, payload: &Payload, from: u64, len: u64) -> Data {
        let mut gathered = Data::blank(self.contents, 0);
        for extent in payload.slice(from, len).extents().iter().filter(|extent| extent.len > 0) {
            let buffer = &self.buffers[extent.region.0 as usize];
            if buffer.returned {
                self.invalid_accesses.push(InvalidAccess::Read(*extent));
                gathered.append(&Data::blank(self.contents, extent.len));
            } else {
                gathered.append(&buffer.data.slice(extent.offset, extent.len));
            }
        }
        gathered
    }

    /// Writes for the driver: `data` to bytes `[from, ...)` of `to`, as much as fits.
    pub fn scatter(&mut self, to: &Payload, from: u64, data: &Data) {
        let mut done = 0;
        for extent in to.slice(from, data.len()).extents().iter().filter(|extent| extent.len > 0) {
            let buffer = &mut self.buffers[extent.region.0 as usize];
            if buffer.returned {
                self.invalid_accesses.push(InvalidAccess::Write(*extent));
            } else {
                buffer.data.overwrite(extent.offset, &data.slice(done, extent.len));
            }
            done += extent.len;
        }
    }

    /// A buffer to be filled in parts, for a message of `owner`; `None`: not counted for any peer.
    pub fn open_bounce(&mut self, id: BounceId, owner: Option<HostId>, len: u64) {
        let data = Data::blank(self.contents, 0);
        self.add_bounce(id, Bounce { owner, data, len });
    }

    /// More of the message in a buffer.
    pub fn fill_bounce(&mut self, id: BounceId, more: &Data) {
        match self.bounces.get_mut(&id.0) {
            Some(bounce) => bounce.data.append(more),
            None => self.invalid_accesses.push(InvalidAccess::Bounce(id)),
        }
    }

    /// A buffer with a copy of an own message.
    pub fn keep_copy(&mut self, id: BounceId, data: Data) {
        let len = data.len();
        self.add_bounce(id, Bounce { owner: None, data, len });
    }

    fn add_bounce(&mut self, id: BounceId, bounce: Bounce) {
        let is_there = self.bounces.insert(id.0, bounce).is_some();
        self.most_bounces = self.most_bounces.max(self.bounces.len());
        // Names are used again.
        if is_there || id.0 as usize >= 2 * self.most_bounces + SPARE_NAMES {
            self.invalid_accesses.push(InvalidAccess::Bounce(id));
        }
    }

    /// Payload bytes that are kept for messages of `peer`.
    pub fn held_for(&self, peer: HostId) -> u64 {
        self.bounces.values().filter(|bounce| bounce.owner == Some(peer)).map(|bounce| bounce.len).sum()
    }

    /// How many buffers there are.
    pub fn bounces(&self) -> usize {
        self.bounces.len()
    }

    /// Applies an atomic operation, as a driver does.
    pub fn apply(&mut self, what: &Atomic, to: &Payload, buffers: Buffers) -> Result<(), Refusal> {
        let is_aligned = |extent: &Extent| extent.offset.is_multiple_of(what.datatype().alignment());
        let outcome = if to.extents().iter().all(is_aligned) { Ok(()) } else { Err(Refusal::Alignment) };
        let old = self.gather_user(to, 0, to.len()).bytes();
        if let Some(result) = buffers.result {
            self.keep_copy(result, Data::of_bytes(self.contents, &old));
        }
        outcome?;
        let operands = match buffers.operands {
            None => Vec::new(),
            Some(id) => match self.bounces.get(&id.0) {
                Some(bounce) => bounce.data.bytes(),
                None => self.missing(id, 0).bytes(),
            },
        };
        let new = Data::of_bytes(self.contents, &combined(what, &old, &operands));
        self.scatter(to, 0, &new);
        Ok(())
    }

    /// Does what the engine asks for, where it concerns this memory alone.
    pub fn act(&mut self, action: &MemoryAction) {
        match action {
            MemoryAction::Fill { into, from } => {
                let len = from.len();
                let data = self.gather_user(from, 0, len);
                self.keep_copy(*into, data);
            }
            MemoryAction::Copy { from, to } => {
                let Some(bounce) = self.bounces.get(&from.0) else {
                    self.invalid_accesses.push(InvalidAccess::Bounce(*from));
                    return;
                };
                let data = bounce.data.clone();
                self.scatter(to, 0, &data);
            }
            MemoryAction::Release(id) => {
                if self.bounces.remove(&id.0).is_none() {
                    self.invalid_accesses.push(InvalidAccess::Bounce(*id));
                }
            }
            // The world does it.
            MemoryAction::Discard(_) | MemoryAction::Detach(_) | MemoryAction::Apply { .. } => {}
        }
    }

    fn missing(&mut self, id: BounceId, len: u64) -> Data {
        self.invalid_accesses.push(InvalidAccess::Bounce(id));
        Data::blank(self.contents, len)
    }
}
