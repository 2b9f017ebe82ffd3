//! Numbers requests by the lowest free number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fishplate_trace::Operation;
use rustc_hash::FxHashMap;

use crate::profile::Id;

/// Limit of the number of tracked requests.
const MAX_REQUESTS: usize = 1 << 20;

/// A request.
#[derive(Clone, Debug)]
pub struct Entry {
    pub slot: u32,
    /// Index of the communicator of a receive with wildcards.
    pub wild: Option<usize>,
    /// The operation started by MPI_Start.
    pub persistent: Option<Operation>,
    pub is_active: bool,
}

#[derive(Default)]
pub struct Slots {
    known: FxHashMap<Id, Entry>,
    free: BinaryHeap<Reverse<u32>>,
}

impl Slots {
    /// Reserves a number for the next request; `None` if there are too many.
    pub fn reserve(&mut self) -> Option<u32> {
        if self.known.len() >= MAX_REQUESTS {
            return None;
        }
        Some(self.free.pop().map_or(self.known.len() as u32, |Reverse(slot)| slot))
    }

    /// Adds a request with a reserved number.
    pub fn insert(&mut self, id: Id, entry: Entry) {
        self.known.insert(id, entry);
    }

    pub fn get(&mut self, id: Id) -> Option<&mut Entry> {
        self.known.get_mut(&id)
    }

    /// Completes an active request. Persistent requests stay in the table.
    pub fn complete(&mut self, id: Id) -> Option<Entry> {
        let entry = self.known.get_mut(&id).filter(|entry| entry.is_active)?;
        entry.is_active = false;
        let done = entry.clone();
        if done.persistent.is_none() {
            self.remove(id);
        }
        Some(done)
    }

    pub fn rename(&mut self, before: Id, id: Id) {
        if let Some(entry) = self.known.remove(&before) {
            self.known.insert(id, entry);
        }
    }

    /// Removes a freed request.
    pub fn remove(&mut self, id: Id) {
        if let Some(entry) = self.known.remove(&id) {
            self.free.push(Reverse(entry.slot));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_lowest_that_are_free() {
        let mut slots = Slots::default();
        let add = |slots: &mut Slots, handle| {
            let slot = slots.reserve().unwrap();
            slots.insert(handle, Entry { slot, wild: None, persistent: None, is_active: true });
            slot
        };
        assert_eq!([10, 11, 12].map(|handle| add(&mut slots, handle)), [0, 1, 2]);
        assert!(slots.complete(11).is_some() && slots.complete(10).is_some());
        assert!(slots.complete(10).is_none());
        assert_eq!([13, 14, 15].map(|handle| add(&mut slots, handle)), [0, 1, 3]);
    }

    #[test]
    fn a_persistent_request_keeps_its_number() {
        let mut slots = Slots::default();
        let slot = slots.reserve().unwrap();
        slots.insert(5, Entry { slot, wild: None, persistent: Some(Operation::End), is_active: true });
        assert_eq!(slots.complete(5).map(|entry| entry.slot), Some(0));
        assert!(slots.complete(5).is_none());
        assert_eq!(slots.reserve(), Some(1));
    }
}
