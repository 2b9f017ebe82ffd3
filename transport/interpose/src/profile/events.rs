//! Events: messages and collective operations with their times. `fishplate profile` compares them with those of other ranks to
//! determine which rank waited for which.
//!
//! The table has a fixed size. When it is full, every second message is dropped, and from then on only every second message
//! is recorded, and so on. The choice is a function of the message, so that its two ranks keep the same messages.

use fishplate_profile::rank_file::{event, header};

use super::message_numbers::hash;
use super::tables::Tables;

/// An event; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// A kind of [`event`], with the bit of the root.
    pub kind: u64,
    /// Number of the call.
    pub call: usize,
    /// The stream or communicator.
    pub key: u64,
    /// Serial number within the stream or communicator.
    pub number: u64,
    pub posted: u64,
    /// When the call began that completed it.
    pub waited: u64,
    /// When it completed.
    pub done: u64,
}

pub struct Events {
    tables: Tables,
    used: usize,
    sampling: u32,
}

impl Events {
    pub fn new(tables: Tables) -> Events {
        Events { tables, used: 0, sampling: 0 }
    }

    /// Adds an event, if it is in the sample.
    pub fn push(&mut self, new: Event) {
        if !is_kept(new.key, new.number, self.sampling) {
            return;
        }
        if self.used == event::CAPACITY {
            self.thin_out();
            return self.push(new);
        }
        let at = self.at(self.used);
        let kind = new.kind | (new.call as u64) << 8;
        let columns = [kind, new.key, new.number, new.posted, new.waited, new.done];
        columns.into_iter().enumerate().for_each(|(column, value)| self.tables.set(at + column, value));
        self.used += 1;
        self.tables.set(header::EVENTS, self.used as u64);
    }

    fn at(&self, row: usize) -> usize {
        self.tables.layout.events + row * event::COLUMNS
    }

    fn thin_out(&mut self) {
        self.sampling += 1;
        let mut kept = 0;
        for row in 0..self.used {
            let from = self.at(row);
            if is_kept(self.tables.get(from + event::KEY), self.tables.get(from + event::NUMBER), self.sampling) {
                let to = self.at(kept);
                (0..event::COLUMNS).for_each(|column| self.tables.set(to + column, self.tables.get(from + column)));
                kept += 1;
            }
        }
        self.used = kept;
        self.tables.set(header::EVENTS, kept as u64);
        self.tables.set(header::SAMPLING, u64::from(self.sampling));
    }
}

/// Whether the message is in the sample of one of 2^`sampling` messages.
fn is_kept(key: u64, number: u64, sampling: u32) -> bool {
    // The upper bits of this hash depend on all bits of the value.
    hash((key, number)) >> 1 < 1 << (63 - sampling.min(63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rarer_sampling_keeps_a_subset() {
        let kept = |sampling| (0..4096).filter(move |number| is_kept(99, *number, sampling));
        assert_eq!(kept(0).count(), 4096);
        assert!(kept(3).all(|number| is_kept(99, number, 2)));
        let (half, eighth) = (kept(1).count(), kept(3).count());
        assert!((1800..2300).contains(&half) && (400..650).contains(&eighth), "{half} {eighth}");
    }
}
