//! Entries of a table in order of insertion ([`List`]), and by hash ([`Chains`]). Insertion, removal and successful search take
//! constant time. Memory grows in steps, as that of a vector, and is kept for later entries.

/// Longest list that is searched entry by entry, which takes no longer than by an index up to this length.
pub const MAX_SEARCHED: usize = 16;

/// None of the first [`MAX_SEARCHED`] entries matches, and there are more.
pub struct Long;

/// The end of a list.
const NONE: u32 = u32::MAX;
/// Number of chains at first.
const FIRST_CHAINS: usize = 16;

/// The neighbours of an entry, by slot.
#[derive(Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
    hash: u32,
}

/// Bytes for each entry of a list, and of chains without their ends.
#[cfg(test)]
pub const BYTES_AN_ENTRY: usize = size_of::<Link>();

/// Links of all entries, by slot.
#[derive(Default)]
struct Links(Vec<Link>);

#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

impl Default for Ends {
    fn default() -> Self {
        Ends { first: NONE, last: NONE }
    }
}

impl Links {
    #[inline]
    fn append(&mut self, ends: &mut Ends, slot: u32, hash: u32) {
        let before = std::mem::replace(&mut ends.last, slot);
        match self.0.get_mut(before as usize) {
            Some(link) => link.after = slot,
            None => ends.first = slot,
        }
        let link = Link { before, after: NONE, hash };
        match self.0.get_mut(slot as usize) {
            Some(place) => *place = link,
            None => self.extend(slot, link),
        }
    }

    #[cold]
    fn extend(&mut self, slot: u32, link: Link) {
        self.0.resize(slot as usize + 1, link);
    }

    #[inline]
    fn remove(&mut self, ends: &mut Ends, slot: u32) {
        let Link { before, after, .. } = self.0[slot as usize];
        match self.0.get_mut(before as usize) {
            Some(link) => link.after = after,
            None => ends.first = after,
        }
        match self.0.get_mut(after as usize) {
            Some(link) => link.before = before,
            None => ends.last = before,
        }
    }

    #[inline]
    fn from(&self, ends: Ends) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut slot = ends.first;
        std::iter::from_fn(move || {
            let link = self.0.get(slot as usize)?;
            Some((std::mem::replace(&mut slot, link.after), link.hash))
        })
    }
}

/// Entries in the order in which they were added.
#[derive(Default)]
pub struct List {
    links: Links,
    ends: Ends,
}

impl List {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.first == NONE
    }

    /// Adds the entry in `slot` behind all others.
    #[inline]
    pub fn push(&mut self, slot: u32) {
        self.links.append(&mut self.ends, slot, 0);
    }

    /// Removes the entry in `slot`, which must be in the list.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.links.remove(&mut self.ends, slot);
    }

    /// The slot of the first entry that `accepts`, of the first [`MAX_SEARCHED`].
    #[inline]
    pub fn search(&self, mut accepts: impl FnMut(u32) -> bool) -> Result<Option<u32>, Long> {
        let mut slot = self.ends.first;
        for _ in 0..MAX_SEARCHED {
            if slot == NONE {
                return Ok(None);
            }
            if accepts(slot) {
                return Ok(Some(slot));
            }
            slot = self.links.0[slot as usize].after;
        }
        if slot == NONE { Ok(None) } else { Err(Long) }
    }

    /// The slots, in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.links.from(self.ends).map(|(slot, _)| slot)
    }
}

/// A hash of a number: its upper bits depend on all of the number's. (A multiple of 2^64 divided by the golden ratio, so
/// that consecutive numbers are spread evenly.)
#[inline]
pub fn hash(number: u64) -> u32 {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// Entries by a hash; those with one hash in the order in which they were added.
#[derive(Default)]
pub struct Chains {
    links: Links,
    /// A power of two of chains, at least as many as entries so that each is short; empty at first.
    ends: Vec<Ends>,
    /// The upper bits of a hash choose the chain: it is shifted right by this.
    shift: u32,
    len: usize,
}

impl Chains {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds the entry in `slot`.
    #[inline]
    pub fn push(&mut self, slot: u32, hash: u32) {
        if self.len == self.ends.len() {
            self.grow();
        }
        self.len += 1;
        self.links.append(&mut self.ends[(hash >> self.shift) as usize], slot, hash);
    }

    /// Takes out the entry in `slot`, which must be here.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        let hash = self.links.0[slot as usize].hash;
        self.links.remove(&mut self.ends[(hash >> self.shift) as usize], slot);
        self.len -= 1;
    }

    /// The slot of the oldest entry with this hash that `accepts`.
    #[inline]
    pub fn find(&self, hash: u32, mut accepts: impl FnMut(u32) -> bool) -> Option<u32> {
        let ends = *self.ends.get((hash >> self.shift) as usize)?;
        self.links.from(ends).find(|(slot, of)| *of == hash && accepts(*slot)).map(|(slot, _)| slot)
    }

    #[cold]
    fn grow(&mut self) {
        let chains = (2 * self.ends.len()).max(FIRST_CHAINS);
        let old = std::mem::replace(&mut self.ends, vec![Ends::default(); chains]);
        self.shift = u32::BITS - chains.trailing_zeros();
        for ends in old {
            let mut slot = ends.first;
            while let Some(&Link { after, hash, .. }) = self.links.0.get(slot as usize) {
                self.links.append(&mut self.ends[(hash >> self.shift) as usize], slot, hash);
                slot = after;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each step adds an entry with one of a few hashes, or takes the oldest one of a hash out.
        #[test]
        fn the_oldest_entry_of_a_hash_is_found(steps in prop::collection::vec((any::<bool>(), 0u32..9), 0..200)) {
            let (mut chains, mut list) = (Chains::default(), List::default());
            let mut oracle: Vec<(u32, u32)> = Vec::new();
            for (at, (add, hash)) in steps.into_iter().enumerate() {
                // Some that share a chain, some far apart, and some that differ only in bits that do not choose the chain.
                let hash = [0, 1, 2, 1 << 31, 1 << 28, u32::MAX, u32::MAX - 1, 3 << 29, 1 << 27][hash as usize];
                let slot = at as u32;
                let found = chains.find(hash, |_| true);
                prop_assert_eq!(found, oracle.iter().find(|(_, of)| *of == hash).map(|(slot, _)| *slot));
                if add {
                    chains.push(slot, hash);
                    list.push(slot);
                    oracle.push((slot, hash));
                } else if let Some(slot) = found {
                    chains.remove(slot);
                    list.remove(slot);
                    oracle.retain(|(of, _)| *of != slot);
                }
                prop_assert!(list.iter().eq(oracle.iter().map(|(slot, _)| *slot)));
                prop_assert_eq!((chains.is_empty(), list.is_empty()), (oracle.is_empty(), oracle.is_empty()));
            }
        }
    }

    #[test]
    fn a_search_asks_in_the_order_of_the_entries() {
        let mut chains = Chains::default();
        (0..100).for_each(|slot| chains.push(slot, 7));
        let mut asked = Vec::new();
        assert_eq!(
            chains.find(7, |slot| {
                asked.push(slot);
                slot == 99
            }),
            Some(99)
        );
        assert_eq!(asked, (0..100).collect::<Vec<_>>());
    }
}
