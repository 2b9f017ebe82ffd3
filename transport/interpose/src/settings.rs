//! The user's settings.

use std::path::PathBuf;

use crate::preference::{ALLOWED, Preference};
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
