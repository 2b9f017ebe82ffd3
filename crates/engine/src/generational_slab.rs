//! A table whose keys go stale: a key of a removed entry finds nothing, even when its slot is used again.

use slab::Slab;

/// Entries by key. A key is the slot in its low half and the slot's generation in its high half.
#[derive(Debug)]
pub struct GenerationalSlab<T> {
    slots: Slab<(u32, T)>,
    generation: u32,
}

impl<T> Default for GenerationalSlab<T> {
    fn default() -> Self {
        GenerationalSlab { slots: Slab::new(), generation: 0 }
    }
}

impl<T> GenerationalSlab<T> {
    /// Adds an entry; returns its key.
    pub fn insert(&mut self, entry: T) -> u64 {
        self.generation = self.generation.wrapping_add(1);
        let slot = self.slots.insert((self.generation, entry));
        key(self.generation, slot)
    }

    /// The entry, if it is still there.
    pub fn get(&self, key: u64) -> Option<&T> {
        self.slots
            .get(slot(key) as usize)
            .filter(|(generation, _)| *generation == generation_of(key))
            .map(|(_, entry)| entry)
    }

    /// The entry, if it is still there.
    pub fn get_mut(&mut self, key: u64) -> Option<&mut T> {
        let found = self.slots.get_mut(slot(key) as usize)?;
        (found.0 == generation_of(key)).then_some(&mut found.1)
    }

    /// Takes the entry out, if it is still there.
    pub fn remove(&mut self, key: u64) -> Option<T> {
        self.get(key)?;
        self.remove_at(slot(key))
    }

    /// The entry in a slot, and its key.
    #[inline]
    pub fn at(&self, slot: u32) -> Option<(u64, &T)> {
        let (generation, entry) = self.slots.get(slot as usize)?;
        Some((key(*generation, slot as usize), entry))
    }

    /// The entry in a slot.
    #[inline]
    pub fn at_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.slots.get_mut(slot as usize).map(|(_, entry)| entry)
    }

    /// Takes the entry in a slot out.
    #[inline]
    pub fn remove_at(&mut self, slot: u32) -> Option<T> {
        self.slots.try_remove(slot as usize).map(|(_, entry)| entry)
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// All entries, in slot order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.iter().map(|(_, entry)| entry)
    }

    /// All entries with their keys, in slot order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.slots.iter().map(|(slot, (generation, entry))| (key(*generation, slot), entry))
    }

    /// Keys of the entries that `wanted` accepts, in slot order.
    pub fn keys_where(&self, wanted: impl Fn(&T) -> bool) -> Vec<u64> {
        self.iter().filter(|(_, entry)| wanted(entry)).map(|(key, _)| key).collect()
    }
}

/// The slot of the entry with a key.
#[inline]
pub fn slot(key: u64) -> u32 {
    key as u32
}

#[inline]
fn key(generation: u32, slot: usize) -> u64 {
    (u64::from(generation) << 32) | slot as u64
}

fn generation_of(key: u64) -> u32 {
    (key >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_key_finds_nothing() {
        let mut table = GenerationalSlab::default();
        let old = table.insert("old");
        assert_eq!(table.remove(old), Some("old"));
        let new = table.insert("new");
        assert_eq!(slot(old), slot(new));
        assert_eq!(table.at(slot(new)), Some((new, &"new")));
        assert_eq!(table.get(old), None);
        assert_eq!(table.get_mut(old), None);
        assert_eq!(table.remove(old), None);
        assert_eq!(table.get(new), Some(&"new"));
        assert_eq!(table.keys_where(|_| true), [new]);
    }
}
