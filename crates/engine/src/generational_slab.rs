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
        (u64::from(self.generation) << 32) | slot as u64
    }

    /// The entry, if it is still there.
    pub fn get(&self, key: u64) -> Option<&T> {
        self.slots.get(slot(key)).filter(|(generation, _)| *generation == generation_of(key)).map(|(_, entry)| entry)
    }

    /// The entry, if it is still there.
    pub fn get_mut(&mut self, key: u64) -> Option<&mut T> {
        let found = self.slots.get_mut(slot(key))?;
        (found.0 == generation_of(key)).then_some(&mut found.1)
    }

    /// Takes the entry out, if it is still there.
    pub fn remove(&mut self, key: u64) -> Option<T> {
        self.get(key)?;
        self.slots.try_remove(slot(key)).map(|(_, entry)| entry)
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// All entries, in slot order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().map(|(_, (_, entry))| entry)
    }

    /// Keys of the entries that `wanted` accepts, in slot order.
    pub fn keys_where(&self, wanted: impl Fn(&T) -> bool) -> Vec<u64> {
        let wanted = self.slots.iter().filter(|(_, (_, entry))| wanted(entry));
        wanted.map(|(slot, (generation, _))| (u64::from(*generation) << 32) | slot as u64).collect()
    }
}

fn slot(key: u64) -> usize {
    (key & u64::from(u32::MAX)) as usize
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
        assert_eq!(table.get(old), None);
        assert_eq!(table.get_mut(old), None);
        assert_eq!(table.remove(old), None);
        assert_eq!(table.get(new), Some(&"new"));
        assert_eq!(table.keys_where(|_| true), [new]);
    }
}
