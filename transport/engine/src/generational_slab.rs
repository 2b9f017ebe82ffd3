//! A table whose keys go stale: the key of a removed entry finds nothing, even when its slot is used again.

use std::fmt;
use std::marker::PhantomData;
use std::num::{NonZeroU32, NonZeroU64};

use slab::Slab;

/// Names an entry of a [`GenerationalSlab`]; its type keeps it from tables of other entries. The generation is in the low half,
/// the slot in the high half.
pub struct Key<T>(NonZeroU64, PhantomData<fn() -> T>);

impl<T> Key<T> {
    /// The key that [`Key::number`] gave as `number`; `None` for 0.
    #[inline]
    pub fn of_number(number: u64) -> Option<Key<T>> {
        NonZeroU64::new(number.rotate_left(32)).map(|name| Key(name, PhantomData))
    }

    /// The key as peers and drivers see it: with the generation in the high half.
    #[inline]
    pub fn number(self) -> u64 {
        self.0.get().rotate_left(32)
    }

    /// The slot of its entry.
    #[inline]
    pub fn slot(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    #[inline]
    fn generation(self) -> u32 {
        self.0.get() as u32
    }
}

// By hand: derived implementations would require them of `T`.
impl<T> Clone for Key<T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Key<T> {}

impl<T> PartialEq for Key<T> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Key<T> {}

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot(), self.generation())
    }
}

#[derive(Debug)]
pub struct GenerationalSlab<T> {
    slots: Slab<(NonZeroU32, T)>,
    generation: NonZeroU32,
}

impl<T> Default for GenerationalSlab<T> {
    fn default() -> Self {
        GenerationalSlab { slots: Slab::new(), generation: NonZeroU32::MAX }
    }
}

impl<T> GenerationalSlab<T> {
    pub fn insert(&mut self, entry: T) -> Key<T> {
        self.generation = self.generation.checked_add(1).unwrap_or(NonZeroU32::MIN);
        let slot = self.slots.insert((self.generation, entry));
        key(self.generation, slot)
    }

    /// The entry, if it is still there.
    pub fn get(&self, key: Key<T>) -> Option<&T> {
        let (generation, entry) = self.slots.get(key.slot() as usize)?;
        (generation.get() == key.generation()).then_some(entry)
    }

    /// The entry, if it is still there.
    pub fn get_mut(&mut self, key: Key<T>) -> Option<&mut T> {
        let (generation, entry) = self.slots.get_mut(key.slot() as usize)?;
        (generation.get() == key.generation()).then_some(entry)
    }

    /// Removes the entry, if it is still there.
    pub fn remove(&mut self, key: Key<T>) -> Option<T> {
        self.get(key)?;
        self.remove_at(key.slot())
    }

    /// The entry in a slot, and its key.
    #[inline]
    pub fn at(&self, slot: u32) -> Option<(Key<T>, &T)> {
        let (generation, entry) = self.slots.get(slot as usize)?;
        Some((key(*generation, slot as usize), entry))
    }

    /// The entry in a slot.
    #[inline]
    pub fn at_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.slots.get_mut(slot as usize).map(|(_, entry)| entry)
    }

    /// Removes the entry in a slot.
    #[inline]
    pub fn remove_at(&mut self, slot: u32) -> Option<T> {
        self.slots.try_remove(slot as usize).map(|(_, entry)| entry)
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// All entries, in slot order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.iter().map(|(_, entry)| entry)
    }

    /// All entries with their keys, in slot order.
    pub fn iter(&self) -> impl Iterator<Item = (Key<T>, &T)> {
        self.slots.iter().map(|(slot, (generation, entry))| (key(*generation, slot), entry))
    }

    /// Keys of the entries that `wanted` accepts, in slot order.
    pub fn keys_where(&self, wanted: impl Fn(&T) -> bool) -> Vec<Key<T>> {
        self.iter().filter(|(_, entry)| wanted(entry)).map(|(key, _)| key).collect()
    }
}

#[inline]
fn key<T>(generation: NonZeroU32, slot: usize) -> Key<T> {
    Key(NonZeroU64::from(generation) | ((slot as u64) << 32), PhantomData)
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
        assert_eq!(old.slot(), new.slot());
        assert_eq!(table.at(new.slot()), Some((new, &"new")));
        assert_eq!(table.get(old), None);
        assert_eq!(table.get_mut(old), None);
        assert_eq!(table.remove(old), None);
        assert_eq!(table.get(new), Some(&"new"));
        assert_eq!(table.keys_where(|_| true), [new]);
    }

    #[test]
    fn a_key_is_its_number_and_none_is_0() {
        let mut table = GenerationalSlab::default();
        let key = table.insert("first");
        assert_eq!((key.slot(), key.generation(), key.number()), (0, 1, 1 << 32));
        assert_eq!(Key::of_number(key.number()), Some(key));
        assert_eq!(Key::<u8>::of_number(0), None);
    }
}
