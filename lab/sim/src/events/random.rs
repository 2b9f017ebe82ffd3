//! Random numbers from a seed.

use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

use super::time::Duration;

/// A stream of random numbers. Each part of a simulation takes one of its own, by name: what one part draws then changes
/// nothing for the others.
#[derive(Clone, Debug)]
pub struct Random(XorShiftRng);

impl Random {
    /// The stream called `name` of a simulation with this seed.
    pub fn stream(seed: u64, name: &str) -> Random {
        // FNV-1a: enough to keep names apart.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        Random(XorShiftRng::seed_from_u64(seed ^ hash))
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// From 0 to `end` exclusive; 0 for an empty range.
    pub fn below(&mut self, end: u64) -> u64 {
        // The upper half of the product: unbiased but for one part in 2^64 / end.
        ((u128::from(self.any()) * u128::from(end)) >> 64) as u64
    }

    /// From `from` to `end` exclusive.
    pub fn range(&mut self, from: u64, end: u64) -> u64 {
        from + self.below(end.saturating_sub(from))
    }

    /// An index of something that has `len` elements.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True with a probability of `chance` percent.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of several.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// A duration up to `most`.
    pub fn up_to(&mut self, most: Duration) -> Duration {
        Duration(self.below(most.0.saturating_add(1)))
    }

    /// A number of any size up to `most`: its logarithm is evenly spread, so that small ones are as likely as large ones.
    pub fn of_any_size(&mut self, most: u64) -> u64 {
        let bits = self.below(u64::from(64 - most.leading_zeros()) + 1);
        let number = if bits == 0 { 0 } else { self.any() >> (64 - bits) };
        number.min(most)
    }

    /// Any order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let other = self.index(end + 1);
            items.swap(end, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_its_own_and_the_same_each_time() {
        let draw = |seed, name| {
            let mut random = Random::stream(seed, name);
            [random.any(), random.any()]
        };
        assert_eq!(draw(1, "faults"), draw(1, "faults"));
        assert_ne!(draw(1, "faults"), draw(2, "faults"));
        assert_ne!(draw(1, "faults"), draw(1, "commands"));
    }

    #[test]
    fn numbers_stay_in_their_ranges() {
        let mut random = Random::stream(7, "test");
        let mut seen = [0; 5];
        for _ in 0..1000 {
            seen[random.range(2, 7) as usize - 2] += 1;
            assert!(random.of_any_size(1000) <= 1000);
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
        assert_eq!((random.below(0), random.below(1)), (0, 0));
    }
}
