//! The plan of an emulator: its rails and their settings.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use fishplate_link::Settings;
use serde::{Deserialize, Serialize};

/// Limit of the number of rails: each direction needs a socket, and one of 65536 queue numbers.
const MAX_RAILS: usize = 256;
/// Limit of the length of an interface name in Linux (IFNAMSIZ without the NUL).
const MAX_INTERFACE_NAME: usize = 15;
/// Limit of the bytes on each direction of a TAP rail, whose frames are in this process's memory.
const MAX_TAP_BYTES: u64 = 1 << 30;

/// The rails of one emulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// How frames get to the emulator.
    pub backend: Backend,
    /// Seed of the random numbers: with equal seeds, the frames of a lane at equal positions are lost.
    pub seed: u64,
    /// The rails.
    pub rails: Vec<Rail>,
}

/// How frames get to the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The ends are a pair of veth devices that exists already; packets wait in the kernel for a verdict.
    Nfqueue,
    /// The ends are TAP devices created by the emulator; frames pass through its memory.
    Tap,
}

/// A link between two interfaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rail {
    /// Name of the rail in requests.
    pub name: String,
    /// One end.
    pub a: End,
    /// The other.
    pub b: End,
    /// Settings of the direction from `a` to `b`.
    pub ab: Settings,
    /// Settings of the direction from `b` to `a`.
    pub ba: Settings,
}

/// An interface in a network namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// A file that refers to the namespace, such as `/proc/PID/ns/net`.
    pub namespace: PathBuf,
    /// Name of the interface in the namespace.
    pub interface: String,
}

/// A direction of a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From `a` to `b`.
    Ab,
    /// From `b` to `a`.
    Ba,
}

impl Plan {
    /// Refuses an invalid plan.
    pub fn check(&self) -> Result<()> {
        ensure!(self.rails.len() <= MAX_RAILS, "{} rails are more than the {MAX_RAILS} there may be", self.rails.len());
        let mut names = BTreeSet::new();
        for rail in &self.rails {
            ensure!(names.insert(&rail.name), "there are two rails {}", rail.name);
            for end in [&rail.a, &rail.b] {
                let name = &end.interface;
                let fits = !name.is_empty() && name.len() <= MAX_INTERFACE_NAME && !name.contains(['/', '\0', ' ']);
                ensure!(fits, "rail {}: \"{name}\" is no name of an interface", rail.name);
            }
            for settings in [&rail.ab, &rail.ba] {
                check_settings(settings, self.backend).with_context(|| format!("rail {}", rail.name))?;
            }
        }
        Ok(())
    }
}

/// Refuses settings that are invalid or not supported by the backend.
pub fn check_settings(settings: &Settings, backend: Backend) -> Result<()> {
    settings.check().map_err(anyhow::Error::msg)?;
    if backend == Backend::Nfqueue && settings.flip == 0.0 {
        return Ok(());
    }
    let held_ns = settings.delay_ns + settings.jitter_ns;
    let Some(rate) = settings.rate else {
        ensure!(
            held_ns == 0,
            "over TAP devices, and where bits are changed, a delay needs a rate, or the memory of packets in flight has no bound"
        );
        return Ok(());
    };
    let bytes = rate.bytes_in(held_ns).saturating_add(settings.queue_limit_bytes());
    ensure!(
        bytes <= MAX_TAP_BYTES,
        "{bytes} bytes under way are more than the {MAX_TAP_BYTES} of TAP devices and changed bits"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use fishplate_link::Rate;

    use super::*;

    fn plan(interface: &str, ab: Settings) -> Plan {
        let end = |interface: &str| End { namespace: "/proc/1/ns/net".into(), interface: interface.into() };
        let rail = Rail { name: "r0".into(), a: end("r0"), b: end(interface), ab, ba: Settings::default() };
        Plan { backend: Backend::Tap, seed: 1, rails: vec![rail] }
    }

    #[test]
    fn impossible_plans_are_refused() {
        assert!(plan("r0", Settings::default()).check().is_ok());
        let refusal = |plan: Plan| format!("{:#}", plan.check().unwrap_err());
        assert_eq!(refusal(plan("a/b", Settings::default())), "rail r0: \"a/b\" is no name of an interface");
        let delayed = Settings { delay_ns: 1, ..Settings::default() };
        assert!(refusal(plan("r0", delayed)).contains("a delay needs a rate"));
        let long = Settings { delay_ns: 10_000_000_000, rate: Some(Rate::mbit(1000)), ..Settings::default() };
        assert!(refusal(plan("r0", long)).contains("more than the 1073741824"));
        let mut twice = plan("r0", Settings::default());
        twice.rails.push(twice.rails[0].clone());
        assert_eq!(refusal(twice), "there are two rails r0");
    }
}
