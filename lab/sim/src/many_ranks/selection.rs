//! Cases: those of the page, or others.

use super::case::{Case, Knows};
use super::pattern::Pattern;
use crate::history::or_all;

/// Hosts and ranks on each.
const HOSTS: [(u32, u32); 1] = [(2, 16)];
/// Rates of rails in Mbit/s.
const RAILS: [&[u32]; 4] = [&[1000, 1000], &[1000, 250], &[400, 100], &[1000, 1000, 1000, 1000]];
/// Bytes of messages: one that is sent at once, and one that is cut.
const SIZES: [u64; 2] = [16 << 10, 256 << 10];

/// Which cases. Empty lists: those of the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Patterns.
    pub patterns: Vec<Pattern>,
    /// Hosts and ranks on each.
    pub hosts: Vec<(u32, u32)>,
    /// Rates of rails in Mbit/s.
    pub rails: Vec<Vec<u32>>,
    /// Sizes.
    pub sizes: Vec<u64>,
    /// What ranks know at first.
    pub knows: Vec<Knows>,
}

impl Selection {
    /// The cases, in order.
    pub fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (hosts, per_host) in or_all(&self.hosts, HOSTS.into_iter()) {
            for rails in or_all(&self.rails, RAILS.iter().map(|rates| rates.to_vec())) {
                for pattern in or_all(&self.patterns, Pattern::ALL.iter().map(|(_, pattern)| *pattern)) {
                    for size in or_all(&self.sizes, SIZES.into_iter()) {
                        for knows in or_all(&self.knows, Knows::ALL.iter().map(|(_, knows)| *knows)) {
                            cases.push(Case { pattern, hosts, per_host, rails: rails.clone(), size, knows });
                        }
                    }
                }
            }
        }
        cases
    }
}
