//! Registered memory: peers may read and write it without calls of this side's user.

use std::collections::BTreeMap;

use crate::atomic::{Atomic, AtomicOperation};
use crate::memory::Payload;
use crate::wire::Refusal;

/// Memory to register.
#[derive(Clone, Debug)]
pub struct Registration {
    /// How peers name it.
    pub key: u64,
    /// The bytes. Must stay valid until [`crate::Engine::deregister`].
    pub memory: Payload,
    /// Address of the first byte, as peers count.
    pub base: u64,
    /// Peers may read it.
    pub readable: bool,
    /// Peers may write it.
    pub writable: bool,
}

impl Registration {
    /// Whether peers may do anything with it: otherwise it is for local use.
    fn is_accessible(&self) -> bool {
        self.readable || self.writable
    }
}

/// Some memory is registered under that key already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyInUse;

/// Names one registration. A key that is used again gets another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionId(u64);

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    Read,
    Write,
}

/// All registered memory. Bounded by the user, who registers it.
#[derive(Default)]
pub struct RegisteredMemory {
    by_key: BTreeMap<u64, (RegionId, Registration)>,
    /// Number of registrations that peers may access.
    accessible: usize,
    last: u64,
}

impl RegisteredMemory {
    pub fn add(&mut self, registration: Registration) -> Result<(), KeyInUse> {
        if self.by_key.contains_key(&registration.key) {
            return Err(KeyInUse);
        }
        self.last += 1;
        self.accessible += usize::from(registration.is_accessible());
        self.by_key.insert(registration.key, (RegionId(self.last), registration));
        Ok(())
    }

    pub fn iter(&self) -> impl Iterator<Item = &Registration> {
        self.by_key.values().map(|(_, registration)| registration)
    }

    /// Whether peers may access any.
    pub fn is_accessible(&self) -> bool {
        self.accessible > 0
    }

    /// Removes a registration, and returns its memory.
    pub fn remove(&mut self, key: u64) -> Option<(RegionId, Payload)> {
        let (id, registration) = self.by_key.remove(&key)?;
        self.accessible -= usize::from(registration.is_accessible());
        Some((id, registration.memory))
    }

    /// `len` bytes from `address` on of the memory under `key`, if they may be accessed.
    pub fn find(&self, key: u64, address: u64, len: u64, right: Permission) -> Result<(RegionId, Payload), Refusal> {
        let (id, registration) = self.by_key.get(&key).ok_or(Refusal::Key)?;
        let allowed = match right {
            Permission::Read => registration.readable,
            Permission::Write => registration.writable,
        };
        if !allowed {
            return Err(Refusal::Rights);
        }
        let offset = address.checked_sub(registration.base).ok_or(Refusal::Bounds)?;
        let end = offset.checked_add(len).ok_or(Refusal::Bounds)?;
        if end > registration.memory.len() {
            return Err(Refusal::Bounds);
        }
        Ok((*id, registration.memory.slice(offset, len)))
    }

    /// The array of operation `what` at `address` in the memory under `key`, if the operation is allowed.
    pub fn find_array(&self, key: u64, address: u64, what: &Atomic) -> Result<Payload, Refusal> {
        let find = |right| self.find(key, address, what.target_len(), right).map(|(_, memory)| memory);
        let read = what.fetches().then(|| find(Permission::Read)).transpose()?;
        match read {
            Some(memory) if what.operation() == AtomicOperation::Read => Ok(memory),
            _ => find(Permission::Write),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Extent, Region};

    fn registration(key: u64, base: u64, len: u64) -> Registration {
        let memory = Payload::whole(Region(7), len);
        Registration { key, memory, base, readable: true, writable: false }
    }

    #[test]
    fn only_registered_memory_can_be_accessed_and_only_as_allowed() {
        let mut regions = RegisteredMemory::default();
        regions.add(registration(1, 1000, 100)).unwrap();
        let find = |address, len| regions.find(1, address, len, Permission::Read).map(|(_, memory)| memory.len());
        assert_eq!(find(1000, 100), Ok(100));
        assert_eq!(find(1100, 0), Ok(0));
        for (address, len) in [(999, 1), (1000, 101), (1100, 1), (u64::MAX, 2), (1001, u64::MAX), (0, 0)] {
            assert_eq!(find(address, len), Err(Refusal::Bounds), "{len} bytes from {address}");
        }
        assert_eq!(regions.find(1, 1000, 1, Permission::Write), Err(Refusal::Rights));
        assert_eq!(regions.find(2, 1000, 1, Permission::Read), Err(Refusal::Key));
    }

    #[test]
    fn memory_for_local_use_is_accessible_to_nobody() {
        let mut regions = RegisteredMemory::default();
        regions.add(Registration { readable: false, ..registration(1, 0, 100) }).unwrap();
        assert!(!regions.is_accessible());
        assert_eq!(regions.find(1, 0, 1, Permission::Read), Err(Refusal::Rights));
        regions.add(registration(2, 0, 100)).unwrap();
        for (key, is_accessible) in [(1, true), (2, false)] {
            assert!(regions.remove(key).is_some());
            assert_eq!(regions.is_accessible(), is_accessible);
        }
    }

    #[test]
    fn all_addresses_can_be_registered() {
        let mut regions = RegisteredMemory::default();
        let memory = Payload::whole(Region(0), u64::MAX);
        regions.add(Registration { memory, ..registration(1, 0, 0) }).unwrap();
        let (_, found) = regions.find(1, u64::MAX - 1, 1, Permission::Read).unwrap();
        assert_eq!(found, Payload::One(Extent { region: Region(0), offset: u64::MAX - 1, len: 1 }));
        assert_eq!(regions.find(1, u64::MAX, 1, Permission::Read), Err(Refusal::Bounds));
    }

    #[test]
    fn a_key_is_used_once_at_a_time_and_then_names_something_else() {
        let mut regions = RegisteredMemory::default();
        regions.add(registration(1, 0, 100)).unwrap();
        assert_eq!(regions.add(registration(1, 0, 50)), Err(KeyInUse));
        let (old, _) = regions.remove(1).unwrap();
        assert_eq!(regions.remove(1), None);
        regions.add(registration(1, 0, 50)).unwrap();
        assert_ne!(regions.find(1, 0, 1, Permission::Read).unwrap().0, old);
    }
}
