//! A case: a pattern between many ranks, over rails at a message size.

use super::pattern::{Pattern, Step};
use crate::named::named;

named! {
    /// What ranks know of rails when they begin.
    Knows {
        /// Drivers tell no speed: 1 Gbit/s is assumed.
        Nothing = "nothing",
        /// Drivers tell the true rates. Ranks do not rely on them before they have measured.
        Told = "told",
        /// All that they can measure: they have exchanged for a part of a run before, and then paused.
        Measured = "measured",
        /// The true rates, and they rely on them at all times: each message is cut in proportion, nothing is measured.
        Fixed = "fixed",
    }
}

/// A pattern between ranks over rails.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// The pattern.
    pub pattern: Pattern,
    /// Number of hosts,
    pub hosts: u32,
    /// and ranks on each.
    pub per_host: u32,
    /// Rates in Mbit/s, one way.
    pub rails: Vec<u32>,
    /// Bytes of a message.
    pub size: u64,
    /// What ranks know at first.
    pub knows: Knows,
}

impl Case {
    /// Ranks in all.
    pub fn ranks(&self) -> u32 {
        self.hosts * self.per_host
    }

    /// The host of a rank.
    pub fn host(&self, rank: u32) -> u32 {
        rank / self.per_host
    }

    /// Whether a step of a rank is with another host.
    pub(super) fn is_remote(&self, rank: u32, peer: u32) -> bool {
        self.host(rank) != self.host(peer)
    }

    /// Names of rails, such as `1000+250`.
    pub fn place(&self) -> String {
        self.rails.iter().map(u32::to_string).collect::<Vec<_>>().join("+")
    }

    /// Hosts and ranks on each, such as `64x16`.
    pub fn hosts(&self) -> String {
        format!("{}x{}", self.hosts, self.per_host)
    }

    /// By how much more all hosts together carry at best than the rails of one host do one way: as many times as messages
    /// leave all hosts while those of the fullest host and direction leave or arrive.
    pub(super) fn hosts_at_work(&self) -> f64 {
        let (mut out, mut into) = (vec![0_u64; self.hosts as usize], vec![0_u64; self.hosts as usize]);
        for rank in 0..self.ranks() {
            let steps = self.pattern.steps((self.hosts, self.per_host), rank);
            let remote = steps.iter().filter_map(|step: &Step| step.to).filter(|(to, _)| self.is_remote(rank, *to));
            for (to, _) in remote {
                out[self.host(rank) as usize] += 1;
                into[self.host(to) as usize] += 1;
            }
        }
        let fullest = out.iter().chain(&into).copied().max().unwrap_or(0);
        out.iter().sum::<u64>() as f64 / fullest.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_hosts_work_at_a_time_unless_one_receives_everything() {
        let case = |pattern| Case {
            pattern,
            hosts: 4,
            per_host: 8,
            rails: vec![1000, 250],
            size: 1 << 16,
            knows: Knows::Nothing,
        };
        for pattern in [Pattern::Alltoall, Pattern::Halo, Pattern::Pairs] {
            assert_eq!(case(pattern).hosts_at_work(), 4.0, "{pattern:?}");
        }
        assert_eq!(case(Pattern::Incast).hosts_at_work(), 1.0);
    }
}
