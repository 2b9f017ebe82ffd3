//! The user's settings.

use std::path::PathBuf;

use fishplate_collectives::{Algorithm, Choice};

use crate::topology::NamedClusters;

#[derive(Debug)]
pub struct Settings {
    pub preference: Preference,
    /// The clusters, if the user names them.
    pub clusters: Option<NamedClusters>,
    /// File for statistics of the algorithms used.
    pub log: Option<PathBuf>,
}

impl Settings {
    /// From environment variables; an empty one counts as unset. The error names an invalid value and the allowed ones.
    pub fn from_lookup(lookup: impl Fn(&'static str) -> Option<String>) -> Result<Settings, String> {
        let get = |name| lookup(name).filter(|value| !value.is_empty());
        let wrong = |name: &str, value: String, allowed: &str| {
            format!("{name}=\"{value}\" is not a valid setting; allowed: {allowed}")
        };
        let preference = match get("FISHPLATE_COLLECTIVES") {
            None => Preference::Cluster,
            Some(value) => match Preference::parse(&value) {
                Some(preference) => preference,
                None => return Err(wrong("FISHPLATE_COLLECTIVES", value, ALLOWED)),
            },
        };
        let parse =
            |value: String| NamedClusters::parse(&value).map_err(|allowed| wrong("FISHPLATE_CLUSTERS", value, allowed));
        let clusters = get("FISHPLATE_CLUSTERS").map(parse).transpose()?;
        Ok(Settings { preference, clusters, log: get("FISHPLATE_COLLECTIVES_LOG").map(PathBuf::from) })
    }
}

/// The user's choice of algorithms: value of `FISHPLATE_COLLECTIVES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The algorithm with the shortest estimated time.
    Cluster,
    /// Always the MPI's own; skips the discovery of clusters.
    Native,
    /// The algorithms of one family ([`Algorithm::family`]) if it has a schedule for the operation; for comparisons.
    Only(&'static str),
}

/// Valid values.
const ALLOWED: &str = "cluster, native, coordinators, shared, direct";

impl Preference {
    /// `None` if the value is invalid.
    fn parse(text: &str) -> Option<Preference> {
        match text {
            "cluster" => Some(Preference::Cluster),
            "native" => Some(Preference::Native),
            _ => ["coordinators", "shared", "direct"].into_iter().find(|family| *family == text).map(Preference::Only),
        }
    }

    pub fn algorithm(self, choice: &Choice) -> Algorithm {
        let Preference::Only(family) = self else { return choice.algorithm };
        let fitting = choice.candidates.iter().filter(|candidate| candidate.algorithm.family() == family);
        let best = fitting.min_by(|one, other| one.time_ns().total_cmp(&other.time_ns()));
        best.map_or(Algorithm::Native, |best| best.algorithm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(name: &'static str, value: &str) -> Result<Settings, String> {
        Settings::from_lookup(|asked| (asked == name).then(|| value.to_string()))
    }

    #[test]
    fn a_wrong_value_is_reported_with_the_allowed_ones() {
        let message = settings("FISHPLATE_COLLECTIVES", "fast").unwrap_err();
        assert_eq!(
            message,
            "FISHPLATE_COLLECTIVES=\"fast\" is not a valid setting; allowed: cluster, native, coordinators, shared, direct"
        );
        let message = settings("FISHPLATE_CLUSTERS", "0-3;x 4").unwrap_err();
        assert!(
            message.starts_with("FISHPLATE_CLUSTERS=\"0-3;x 4\" is not a valid setting; allowed: clusters"),
            "{message}"
        );
    }

    #[test]
    fn empty_and_unset_are_the_same() {
        assert_eq!(settings("FISHPLATE_COLLECTIVES", "").unwrap().preference, Preference::Cluster);
        assert!(settings("FISHPLATE_CLUSTERS", "").unwrap().clusters.is_none());
        assert_eq!(settings("FISHPLATE_COLLECTIVES", "native").unwrap().preference, Preference::Native);
    }
}
