//! Cases and histories: all of them, or some.

use super::before::Before;
use super::case::Case;
use super::pattern::Pattern;

/// Rates of rails in Mbit/s between near hosts. 0: no limit but the processes.
const NEAR: [&[u32]; 14] = [
    &[1000],
    &[1000, 1000],
    &[1000, 1000, 1000],
    &[1000, 250],
    &[800, 300, 100],
    &[700, 140],
    &[1000, 100],
    &[1000, 50],
    &[1000, 10],
    &[1000, 1],
    &[2500, 2500],
    &[10_000, 10_000],
    &[10_000, 2500],
    &[0, 0],
];
/// Rates of rails between distant hosts.
const FAR: [&[u32]; 5] = [&[1000], &[1000, 1000], &[1000, 250], &[800, 300, 100], &[1000, 100]];
/// One way of these, in microseconds; shaped rails between near hosts add none to that of system calls.
const FAR_US: u32 = 1000;
/// Sizes of messages, from the first doubled to the last.
const SIZES: (u64, u64) = (4 << 10, 4 << 20);

/// Which cells. Empty lists: all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Patterns.
    pub patterns: Vec<Pattern>,
    /// Rates of rails in Mbit/s.
    pub rails: Vec<Vec<u32>>,
    /// Sizes.
    pub sizes: Vec<u64>,
    /// One way, in microseconds.
    pub delays_us: Vec<u32>,
    /// Histories.
    pub before: Vec<Before>,
}

impl Selection {
    /// The cases, in order. Rails that are asked for need not be among those of the table.
    pub fn cases(&self) -> Vec<Case> {
        let patterns = or_all(&self.patterns, Pattern::ALL.iter().map(|(_, pattern)| *pattern));
        let mut cases = Vec::new();
        for (rails, delay_us) in self.places() {
            for &pattern in &patterns {
                for size in or_all(&self.sizes, sizes().filter(|size| *size <= pattern.longest())) {
                    cases.push(Case { pattern, rails: rails.clone(), delay_us, size });
                }
            }
        }
        cases
    }

    /// The histories.
    pub fn before(&self) -> Vec<Before> {
        or_all(&self.before, Before::ALL.iter().map(|(_, before)| *before))
    }

    fn places(&self) -> Vec<(Vec<u32>, u32)> {
        if !self.rails.is_empty() {
            let delays_us = or_all(&self.delays_us, [0].into_iter());
            let all = self.rails.iter().flat_map(|rails| delays_us.iter().map(|delay| (rails.clone(), *delay)));
            return all.collect();
        }
        let known =
            NEAR.iter().map(|rails| (rails.to_vec(), 0)).chain(FAR.iter().map(|rails| (rails.to_vec(), FAR_US)));
        known.filter(|(_, delay)| self.delays_us.is_empty() || self.delays_us.contains(delay)).collect()
    }
}

fn sizes() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(SIZES.0), |size| Some(2 * size)).take_while(|size| *size <= SIZES.1)
}

/// What was asked for; without that, all.
pub(crate) fn or_all<T: Clone>(asked: &[T], all: impl Iterator<Item = T>) -> Vec<T> {
    if asked.is_empty() { all.collect() } else { asked.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table_has_thousands_of_cells() {
        let all = Selection::default();
        assert!(all.cases().len() * all.before().len() >= 2000);
    }
}
