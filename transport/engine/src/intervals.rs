//! A set of bytes of a message, as ranges.

/// Disjoint, in order, not adjacent. As stripes arrive nearly in order, there are about as many as subchannels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    ranges: Vec<(u64, u64)>,
}

/// Some of the bytes were in the set already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap;

impl Intervals {
    /// Adds bytes `[start, end)`, none of which may be in the set.
    pub fn add(&mut self, start: u64, end: u64) -> Result<(), Overlap> {
        if start >= end {
            return Ok(());
        }
        let at = self.ranges.partition_point(|range| range.1 < start);
        let Some(range) = self.ranges.get_mut(at).filter(|range| range.0 <= end) else {
            self.ranges.insert(at, (start, end));
            return Ok(());
        };
        if range.0 == end {
            range.0 = start;
            return Ok(());
        }
        if range.1 != start {
            return Err(Overlap);
        }
        match self.ranges.get(at + 1).copied() {
            Some(next) if next.0 < end => return Err(Overlap),
            Some(next) if next.0 == end => {
                self.ranges[at].1 = next.1;
                self.ranges.remove(at + 1);
            }
            _ => self.ranges[at].1 = end,
        }
        Ok(())
    }
    /// Whether bytes `[start, end)` are all in the set.
    pub fn contains(&self, start: u64, end: u64) -> bool {
        let at = self.ranges.partition_point(|range| range.1 < end);
        self.ranges.get(at).is_some_and(|range| range.0 <= start)
    }

    /// Number of ranges.
    pub fn ranges(&self) -> usize {
        self.ranges.len()
    }

    /// Removes bytes `[start, end)`, all of which are in the set.
    pub fn remove(&mut self, start: u64, end: u64) {
        let at = self.ranges.partition_point(|range| range.1 < end);
        let Some(range) = self.ranges.get(at).copied().filter(|range| range.0 <= start && start < end) else { return };
        self.ranges.remove(at);
        for part in [(end, range.1), (range.0, start)].into_iter().filter(|part| part.0 < part.1) {
            self.ranges.insert(at, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_set_of_bytes(ranges in prop::collection::vec((0u64..60, 0u64..12), 0..40)) {
            let (mut intervals, mut bytes) = (Intervals::default(), [false; 80]);
            for (start, len) in ranges {
                let range = start as usize..(start + len) as usize;
                let free = bytes[range.clone()].iter().all(|taken| !taken);
                prop_assert_eq!(intervals.add(start, start + len).is_ok(), free);
                if free {
                    bytes[range].fill(true);
                } else if intervals.contains(start, start + len) {
                    prop_assert!(bytes[range.clone()].iter().all(|taken| *taken));
                    intervals.remove(start, start + len);
                    bytes[range].fill(false);
                }
                let parts = bytes.chunk_by(|a, b| a == b).filter(|part| part[0]).count();
                prop_assert_eq!(intervals.ranges(), parts);
            }
        }
    }
}
