//! The domains of providers that are rails where the user names none: each adapter once.

use std::path::Path;

use crate::adapters::Adapter;
use crate::wanted::{self, Wanted};

/// Providers that drive adapters themselves, in the order of preference: the first that offers an adapter gets it.
pub const NATIVE: [&str; 6] = ["cxi", "efa", "opx", "psm2", "verbs", "psm3"];

/// An offer of a provider, reduced to what the choice needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The provider, including providers that are layered on top of it.
    pub provider: String,
    pub domain: String,
    /// The provider's name of the adapter.
    pub device: String,
    /// Whether its link is up, where that is known.
    pub is_up: Option<bool>,
}

/// The candidates that become rails, where no word of FISHPLATE_RAILS names a domain.
pub fn choose(candidates: &[Candidate], words: &[String], sysfs: &Path) -> Vec<Wanted> {
    let mut taken = Vec::new();
    let mut chosen = Vec::new();
    for provider in NATIVE {
        for candidate in candidates.iter().filter(|one| one.provider == provider && one.is_up != Some(false)) {
            let wanted = Wanted { provider: candidate.provider.clone(), kind: None, domain: candidate.domain.clone() };
            let Some(adapter) = Adapter::of(sysfs, &candidate.device) else { continue };
            if taken.contains(&adapter.device) || wanted::is_excluded(words, &wanted) {
                continue;
            }
            taken.push(adapter.device);
            chosen.push(wanted);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::pretended;

    fn candidate(provider: &str, domain: &str, device: &str) -> Candidate {
        let [provider, domain, device] = [provider, domain, device].map(str::to_string);
        Candidate { provider, domain, device, is_up: Some(true) }
    }

    fn chosen(candidates: &[Candidate], words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        let root = pretended::sysfs();
        choose(candidates, &words, root.path()).iter().map(Wanted::to_string).collect()
    }

    #[test]
    fn adapters_are_taken_once_each_by_the_provider_that_suits_best() {
        let offered = [
            candidate("psm3", "psm3_0", "mlx5_0"),
            candidate("verbs", "mlx5_0", "mlx5_0"),
            candidate("verbs", "mlx5_0", "mlx5_0"),
            candidate("verbs", "mlx5_1", "mlx5_1"),
            candidate("cxi", "cxi0", "cxi0"),
        ];
        assert_eq!(chosen(&offered, &[]), ["cxi:cxi0", "verbs:mlx5_0", "verbs:mlx5_1"]);
        assert_eq!(chosen(&offered[..1], &[]), ["psm3:psm3_0"]);
    }

    #[test]
    fn interfaces_that_are_no_adapters_or_are_down_are_not_used() {
        let down = Candidate { is_up: Some(false), ..candidate("verbs", "mlx5_0", "mlx5_0") };
        let unknown = Candidate { is_up: None, ..candidate("verbs", "mlx5_1", "mlx5_1") };
        let offered = [
            down,
            unknown,
            candidate("verbs", "rxe0", "rxe0"),
            candidate("verbs", "nosuch", "nosuch"),
            candidate("tcp", "eth0", "mlx5_0"),
            candidate("verbs;ofi_rxm", "mlx5_0", "mlx5_0"),
            candidate("shm", "shm", "shm"),
        ];
        assert_eq!(chosen(&offered, &[]), ["verbs:mlx5_1"]);
    }

    #[test]
    fn words_exclude_adapters() {
        let offered = [candidate("verbs", "mlx5_0", "mlx5_0"), candidate("verbs", "mlx5_1", "mlx5_1")];
        assert_eq!(chosen(&offered, &["^verbs:mlx5_0"]), ["verbs:mlx5_1"]);
        assert_eq!(chosen(&offered, &["^eth0", "verbs:*_1"]), ["verbs:mlx5_0"]);
        assert_eq!(chosen(&offered, &["^verbs:*"]), [""; 0]);
        assert_eq!(chosen(&offered, &["^ib0"]), ["verbs:mlx5_0", "verbs:mlx5_1"]);
    }
}
