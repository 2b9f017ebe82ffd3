//! The tables of a rank's file, to add to.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use fishplate_profile::rank_file::Layout;

/// A rank's file in memory. Only who holds the recorder's lock writes to its tables.
#[derive(Clone, Copy)]
pub struct Tables {
    /// All of it.
    pub words: &'static [AtomicU64],
    /// Where what is.
    pub layout: Layout,
}

impl Tables {
    /// A word.
    pub fn get(&self, at: usize) -> u64 {
        self.words[at].load(Ordering::Relaxed)
    }

    /// Writes a word.
    pub fn set(&self, at: usize, value: u64) {
        self.words[at].store(value, Ordering::Relaxed);
    }

    /// Adds to a word.
    pub fn add(&self, at: usize, value: u64) {
        self.set(at, self.get(at).wrapping_add(value));
    }

    /// Keeps the greater.
    pub fn raise(&self, at: usize, value: u64) {
        if self.get(at) < value {
            self.set(at, value);
        }
    }

    /// Tables to add to that nobody reads.
    pub fn unkept(&self) -> Tables {
        static WORDS: OnceLock<Vec<AtomicU64>> = OnceLock::new();
        let words = WORDS.get_or_init(|| (0..self.layout.words).map(|_| AtomicU64::new(0)).collect());
        Tables { words, layout: self.layout }
    }

    /// Adds a message to a kind and its class of sizes.
    pub fn add_size(&self, kind: usize, bytes: u64) {
        let at = self.layout.size(kind, fishplate_profile::sizes::class(bytes));
        self.add(at, 1);
        self.add(at + 1, bytes);
    }

    /// Takes it away again.
    pub fn take_size(&self, kind: usize, bytes: u64) {
        let at = self.layout.size(kind, fishplate_profile::sizes::class(bytes));
        self.set(at, self.get(at).wrapping_sub(1));
        self.set(at + 1, self.get(at + 1).wrapping_sub(bytes));
    }
}
