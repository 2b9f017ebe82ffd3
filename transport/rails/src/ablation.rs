//! Mechanisms that can be switched off, to measure the effect of each: the plan `ablation` of `fishplate bench` runs
//! programs with and without. Not for users: a mechanism that a user may want to switch off has a setting of its own.

use std::str::FromStr;

/// The environment variable with the names of the mechanisms that are off, separated by commas.
pub const VARIABLE: &str = "FISHPLATE_ABLATE";

/// A mechanism that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Frames of a burst go out in one system call.
    Batching,
    /// Sends complete before their acknowledgement.
    BufferedSends,
    /// Links go over to the congestion control that fits their distance.
    CongestionSwitching,
    /// Short frames go as datagrams.
    Datagrams,
    /// The start of a long message goes before its CTS.
    EarlyData,
    /// Rails that fail again and again are kept out longer.
    FlapDamping,
    /// The kernel is asked which bytes the peer's kernel has acknowledged.
    KernelAcknowledgements,
    /// More streams where they carry more.
    ParallelStreams,
    /// BBR's Startup phase is bounded.
    StartupPacing,
    /// A PING behind a frame whose acknowledgement is overdue.
    TailLossProbe,
}

use Mechanism::*;

const NAMES: [(&str, Mechanism); 10] = [
    ("batching", Batching),
    ("buffered-sends", BufferedSends),
    ("congestion-switching", CongestionSwitching),
    ("datagrams", Datagrams),
    ("early-data", EarlyData),
    ("flap-damping", FlapDamping),
    ("kernel-acknowledgements", KernelAcknowledgements),
    ("parallel-streams", ParallelStreams),
    ("startup-pacing", StartupPacing),
    ("tail-loss-probe", TailLossProbe),
];

/// The mechanisms that are off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ablation(u32);

impl Ablation {
    #[inline]
    pub fn is_off(self, mechanism: Mechanism) -> bool {
        self.0 & (1 << mechanism as u32) != 0
    }

    /// The names of all mechanisms.
    pub fn names() -> String {
        NAMES.map(|(name, _)| name).join(", ")
    }
}

impl FromStr for Ablation {
    type Err = ();

    fn from_str(text: &str) -> Result<Ablation, ()> {
        let bit = |name: &str| {
            let found = NAMES.iter().find(|(known, _)| *known == name).ok_or(())?;
            Ok(1 << found.1 as u32)
        };
        text.split(',').try_fold(Ablation(0), |off, name| Ok(Ablation(off.0 | bit(name)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_mechanisms_are_off_and_no_others() {
        let off: Ablation = "datagrams,early-data".parse().unwrap();
        let names = NAMES.iter().filter(|(_, mechanism)| off.is_off(*mechanism)).map(|(name, _)| *name);
        assert_eq!(names.collect::<Vec<_>>(), ["datagrams", "early-data"]);
        assert!(NAMES.iter().all(|(_, mechanism)| !Ablation::default().is_off(*mechanism)));
        assert_eq!("datagrams,magic".parse::<Ablation>(), Err(()));
    }
}
