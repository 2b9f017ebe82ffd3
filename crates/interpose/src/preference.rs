//! Which algorithms the user wants.

use fishplate_collectives::{Algorithm, Choice};

/// What `FISHPLATE_COLLECTIVES` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// Whatever looks fastest.
    Cluster,
    /// The MPI's own, always: nothing is looked at.
    Native,
    /// One family of algorithms, wherever it has a schedule; for comparisons.
    Only(Family),
}

/// Algorithms that differ in segments, or in how far ranks send ahead, only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// [`Algorithm::Coordinators`]
    Coordinators,
    /// [`Algorithm::Shared`]
    Shared,
    /// [`Algorithm::Direct`]
    Direct,
}

/// What is allowed.
pub const ALLOWED: &str = "cluster, native, coordinators, shared, direct";

impl Preference {
    /// Nothing when it is not allowed.
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

    /// The algorithm to use.
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
