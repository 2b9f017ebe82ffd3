//! State that most channels never need: nothing but a pointer until it is changed.
//!
//! A process may have channels to thousands of peers, of which few do anything out of the usual.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};

/// A value that is empty, and takes no memory of its own, until it is borrowed mutably.
#[derive(Clone, Debug)]
pub struct Rare<T>(Option<Box<T>>);

/// What a [`Rare`] value is before it is changed.
pub trait Empty: Default + 'static {
    /// The same as the default.
    const EMPTY: &'static Self;
}

impl<T> Rare<T> {
    /// Nothing.
    pub const fn new() -> Self {
        Rare(None)
    }

    /// The value, if it has ever been changed: asking costs no memory.
    pub fn existing(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// Whether the value has never been changed, or `is_so` says it of what it is.
    #[inline]
    pub fn is_unused_or(&self, is_so: impl FnOnce(&T) -> bool) -> bool {
        self.0.as_deref().is_none_or(is_so)
    }

    /// Becomes empty, and gives its memory back.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Rare(None)
    }
}

impl<T: Empty> Rare<T> {
    /// Takes the value out.
    pub fn take(&mut self) -> T {
        self.0.take().map_or_else(T::default, |value| *value)
    }
}

impl<T: Empty> Deref for Rare<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Empty> DerefMut for Rare<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T: 'static> Empty for VecDeque<T> {
    const EMPTY: &'static Self = &VecDeque::new();
}

impl<K: 'static, V: 'static> Empty for BTreeMap<K, V> {
    const EMPTY: &'static Self = &BTreeMap::new();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_memory_only_once_it_is_changed() {
        let mut queue: Rare<VecDeque<u64>> = Rare::new();
        assert!(queue.is_empty() && queue.existing().is_none());
        queue.push_back(1);
        assert_eq!((queue.front(), queue.len()), (Some(&1), 1));
        assert_eq!(queue.take(), [1]);
        assert!(queue.existing().is_none());
    }
}
