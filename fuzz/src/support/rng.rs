//! Choices that the bytes of an input make. Where they end, random numbers go on from their hash, so that a short input is
//! a whole run as well.

/// A source of choices.
pub struct Rng {
    bytes: Vec<u8>,
    at: usize,
    random: fastrand::Rng,
}

impl Rng {
    /// Choices made by `bytes`.
    pub fn over(bytes: &[u8]) -> Rng {
        // FNV-1a.
        let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let seed = bytes.iter().fold(0xcbf2_9ce4_8422_2325, hash);
        Rng { bytes: bytes.to_vec(), at: 0, random: fastrand::Rng::with_seed(seed) }
    }

    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.take(8)
    }

    /// In `0..end`; 0 for an empty range. Takes no more bytes than it needs.
    pub fn below(&mut self, end: u64) -> u64 {
        match end {
            0 | 1 => 0,
            2..=0x100 => self.take(1) % end,
            0x101..=0x1_0000 => self.take(2) % end,
            _ => self.take(8) % end,
        }
    }

    /// In `from..end`.
    pub fn range(&mut self, from: u64, end: u64) -> u64 {
        from + self.below(end - from)
    }

    /// True with a probability of `chance` percent.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    fn take(&mut self, count: usize) -> u64 {
        match self.bytes.get(self.at..self.at + count) {
            Some(bytes) => {
                self.at += count;
                bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
            }
            None => self.random.u64(..),
        }
    }
}
