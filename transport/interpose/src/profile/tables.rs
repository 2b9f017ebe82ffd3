//! Write access to the tables of a rank's file.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use fishplate_profile::rank_file::Layout;

/// A rank's mapped file. Its tables are written only under the recorder's lock.
#[derive(Clone, Copy)]
pub struct Tables {
    pub words: &'static [AtomicU64],
    pub layout: Layout,
}

impl Tables {
    pub fn get(&self, at: usize) -> u64 {
        self.words[at].load(Ordering::Relaxed)
    }

    pub fn set(&self, at: usize, value: u64) {
        self.words[at].store(value, Ordering::Relaxed);
    }

    pub fn add(&self, at: usize, value: u64) {
        self.set(at, self.get(at).wrapping_add(value));
    }

    /// Raises a word to at least `value`.
    pub fn raise(&self, at: usize, value: u64) {
        if self.get(at) < value {
            self.set(at, value);
        }
    }

    /// Tables whose contents are discarded.
    pub fn unkept(&self) -> Tables {
        static WORDS: OnceLock<Vec<AtomicU64>> = OnceLock::new();
        let words = WORDS.get_or_init(|| (0..self.layout.words).map(|_| AtomicU64::new(0)).collect());
        Tables { words, layout: self.layout }
    }

    /// Counts a message of a kind.
    pub fn add_size(&self, kind: usize, bytes: u64) {
        let at = self.layout.size(kind, fishplate_profile::sizes::class(bytes));
        self.add(at, 1);
        self.add(at + 1, bytes);
    }

    /// Reverts [`Tables::add_size`].
    pub fn take_size(&self, kind: usize, bytes: u64) {
        let at = self.layout.size(kind, fishplate_profile::sizes::class(bytes));
        self.set(at, self.get(at).wrapping_sub(1));
        self.set(at + 1, self.get(at + 1).wrapping_sub(bytes));
    }
}
