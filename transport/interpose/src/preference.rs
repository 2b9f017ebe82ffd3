//! The user's choice of algorithms.

use fishplate_collectives::{Algorithm, Choice};

/// Value of `FISHPLATE_COLLECTIVES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The algorithm with the shortest estimated time.
    Cluster,
    /// Always the MPI's own; skips the discovery of clusters.
    Native,
    /// One family of algorithms if it has a schedule for the operation; for comparisons.
    Only(Family),
}

/// Algorithms that differ only in the number of segments or in how far ranks send ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Coordinators,
    Shared,
    Direct,
}

/// Valid values.
pub const ALLOWED: &str = "cluster, native, coordinators, shared, direct";

impl Preference {
    /// `None` if the value is invalid.
    pub fn parse(text: &str) -> Option<Preference> {
        Some(match text {
            "cluster" => Preference::Cluster,
            "native" => Preference::Native,
            "coordinators" => Preference::Only(Family::Coordinators),
            "shared" => Preference::Only(Family::Shared),
            "direct" => Preference::Only(Family::Direct),
            _ => return None,
        })
    }

    pub fn algorithm(self, choice: &Choice) -> Algorithm {
        let Preference::Only(family) = self else { return choice.algorithm };
        let fitting = choice.candidates.iter().filter(|candidate| family.has(candidate.algorithm));
        let best = fitting.min_by(|one, other| one.time_ns().total_cmp(&other.time_ns()));
        best.map_or(Algorithm::Native, |best| best.algorithm)
    }
}

impl Family {
    fn has(self, algorithm: Algorithm) -> bool {
        match algorithm {
            Algorithm::Native => false,
            Algorithm::Coordinators { .. } => self == Family::Coordinators,
            Algorithm::Shared { .. } => self == Family::Shared,
            Algorithm::Direct { .. } => self == Family::Direct,
        }
    }
}
