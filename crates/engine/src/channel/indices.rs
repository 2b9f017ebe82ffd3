//! A list of subchannels by index: without memory of its own where there are few, as nearly everywhere.

use std::ops::Deref;

use arrayvec::ArrayVec;

use crate::limits::MAX_SUBCHANNELS;

/// So many fit beside the length into a pointer's place and another one.
const FEW: usize = 8;

/// Indices, in the order in which they were added; as a slice when read.
#[derive(Debug)]
pub enum Indices {
    /// Up to [`FEW`].
    Few(ArrayVec<u8, FEW>),
    /// More.
    Many(Box<ArrayVec<u8, MAX_SUBCHANNELS>>),
}

impl Indices {
    /// Adds one, behind all others.
    ///
    /// # Panics
    /// If there are [`MAX_SUBCHANNELS`].
    pub fn push(&mut self, index: u8) {
        if let Indices::Few(few) = self {
            if few.try_push(index).is_ok() {
                return;
            }
            *self = Indices::Many(Box::new(few.iter().copied().collect()));
        }
        if let Indices::Many(many) = self {
            many.push(index);
        }
    }

    /// Takes one out, if it is there.
    pub fn remove(&mut self, index: usize) {
        match self {
            Indices::Few(few) => few.retain(|other| usize::from(*other) != index),
            Indices::Many(many) => many.retain(|other| usize::from(*other) != index),
        }
    }
}

impl Default for Indices {
    fn default() -> Self {
        Indices::Few(ArrayVec::new_const())
    }
}

impl Deref for Indices {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Indices::Few(few) => few,
            Indices::Many(many) => many,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_stay_in_order() {
        let mut indices = Indices::default();
        let all = 0..MAX_SUBCHANNELS as u8;
        all.clone().for_each(|index| indices.push(index));
        assert!(indices.iter().copied().eq(all));
        (0..MAX_SUBCHANNELS).filter(|index| index % 9 != 0).for_each(|index| indices.remove(index));
        assert_eq!(indices[..], [0, 9, 18, 27, 36, 45, 54, 63]);
    }
}
