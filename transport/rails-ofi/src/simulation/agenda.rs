//! Events in virtual time, beside those of the simulated network.

use std::collections::BTreeMap;

use fishplate_engine::wire::Header;

use super::command::Command;
use crate::Description;

/// Something that happens.
pub enum Item {
    /// The test does something.
    Command(Command),
    /// A description comes over the stream between two nodes.
    Description { from: usize, to: usize, theirs: Description },
    /// A frame comes over it.
    Frame { from: usize, to: usize, header: Header, payload: Vec<u8> },
}

/// All of it, in order.
#[derive(Default)]
pub struct Agenda {
    items: BTreeMap<(u64, u64), Item>,
    serial: u64,
    /// When the last item comes over each stream, which keeps its order.
    last_ns: BTreeMap<(usize, usize), u64>,
}

impl Agenda {
    pub fn add(&mut self, at_ns: u64, item: Item) {
        self.serial += 1;
        self.items.insert((at_ns, self.serial), item);
    }

    /// Sends something over the stream between two nodes.
    pub fn carry(&mut self, (from, to): (usize, usize), at_ns: u64, item: Item) {
        let last = self.last_ns.entry((from, to)).or_default();
        *last = (*last).max(at_ns);
        let at = *last;
        self.add(at, item);
    }

    pub fn next_at(&self) -> Option<u64> {
        self.items.first_key_value().map(|((at, _), _)| *at)
    }

    /// The events that are due.
    pub fn pop(&mut self, now_ns: u64) -> Option<Item> {
        let first = self.items.first_entry().filter(|first| first.key().0 <= now_ns)?;
        Some(first.remove())
    }
}
