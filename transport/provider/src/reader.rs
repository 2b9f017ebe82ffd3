//! The reader of a completion queue while its endpoints make progress: it gets completions without the queue, which would have to be
//! locked twice for each entry.

use crate::completion::Entry;

/// A reader, with room for some entries.
pub struct Reader<'a> {
    /// The queue that it reads, by its address.
    queue: usize,
    room: usize,
    taken: usize,
    take: Option<&'a mut dyn FnMut(Entry)>,
}

impl<'a> Reader<'a> {
    /// A reader of `queue` with room for `most` entries.
    pub fn new<Q>(queue: &Q, most: usize, take: &'a mut dyn FnMut(Entry)) -> Reader<'a> {
        Reader { queue: std::ptr::from_ref(queue).addr(), room: most, taken: 0, take: Some(take) }
    }

    pub fn none() -> Reader<'a> {
        Reader { queue: 0, room: 0, taken: 0, take: None }
    }

    pub fn taken(&self) -> usize {
        self.taken
    }

    /// Offers an entry of `queue`, which is empty. False: the entry has to be added to the queue.
    #[inline]
    pub fn takes<Q>(&mut self, queue: &Q, entry: Entry) -> bool {
        match &mut self.take {
            Some(take) if self.taken < self.room && self.queue == std::ptr::from_ref(queue).addr() => {
                take(entry);
                self.taken += 1;
                true
            }
            _ => false,
        }
    }
}
