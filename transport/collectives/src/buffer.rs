//! The buffers of a schedule and parts of them, counted in elements.

/// A buffer of the rank that runs a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// The user's input; never written. A schedule that is in place does not use it.
    Send,
    /// The user's output. Of a broadcast: its only buffer, also at the root.
    Receive,
    /// [`Schedule::temporary_len`](crate::Schedule::temporary_len) elements of the executor's, with nothing in them.
    Temporary,
}

/// Elements of a buffer that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// Where.
    pub buffer: Buffer,
    /// First element.
    pub start: usize,
    /// Number of elements; can be 0.
    pub len: usize,
}

impl Slice {
    /// Elements of a buffer.
    pub const fn new(buffer: Buffer, start: usize, len: usize) -> Slice {
        Slice { buffer, start, len }
    }

    /// No elements.
    pub const fn empty() -> Slice {
        Slice::new(Buffer::Temporary, 0, 0)
    }

    /// The element after the last.
    pub const fn end(self) -> usize {
        self.start + self.len
    }

    /// A part, counted from this slice's start.
    pub fn part(self, start: usize, len: usize) -> Slice {
        debug_assert!(start + len <= self.len);
        Slice { start: self.start + start, len, ..self }
    }

    /// Whether the two share an element.
    pub fn overlaps(self, other: Slice) -> bool {
        self.buffer == other.buffer && self.start.max(other.start) < self.end().min(other.end())
    }

    /// One slice out of slices that follow each other; nothing if they do not.
    pub(crate) fn joined(slices: &[Slice]) -> Option<Slice> {
        let mut slices = slices.iter().filter(|slice| slice.len > 0);
        let first = slices.next().copied().unwrap_or(Slice::empty());
        slices.try_fold(first, |joined, next| {
            let follows = next.buffer == joined.buffer && next.start == joined.end();
            follows.then_some(Slice { len: joined.len + next.len, ..joined })
        })
    }
}

/// Cuts `len` elements into `parts` parts whose lengths differ by one at most: start and length of part `index`.
pub(crate) fn part_of(len: usize, parts: usize, index: usize) -> (usize, usize) {
    let (each, left) = (len / parts, len % parts);
    (index * each + index.min(left), each + usize::from(index < left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_once_and_differ_by_one() {
        for len in 0..20 {
            for parts in 1..8 {
                let cut: Vec<_> = (0..parts).map(|index| part_of(len, parts, index)).collect();
                assert_eq!(cut[0].0, 0);
                assert!(cut.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0 && pair[0].1 - pair[1].1 <= 1));
                assert_eq!(cut[parts - 1].0 + cut[parts - 1].1, len);
            }
        }
    }

    #[test]
    fn only_slices_that_follow_each_other_are_joined() {
        let slice = |start, len| Slice::new(Buffer::Send, start, len);
        assert_eq!(Slice::joined(&[slice(2, 3), Slice::empty(), slice(5, 1)]), Some(slice(2, 4)));
        assert_eq!(Slice::joined(&[slice(2, 3), slice(6, 1)]), None);
        assert_eq!(Slice::joined(&[slice(2, 3), Slice::new(Buffer::Receive, 5, 1)]), None);
        assert_eq!(Slice::joined(&[]), Some(Slice::empty()));
    }
}
