//! Samples the traffic of this rank's rails over time, if it uses the provider.

use fishplate_profile::series_file::{STEP_NS, rank_column};

use super::timeline::{Timeline, columns_of};
use crate::ffi::{Counter, Provider};

/// The rails, and their counters at the last sample.
pub struct Rails {
    provider: Provider,
    before: Vec<Counter>,
    since: u64,
}

impl Rails {
    /// Finds the rails of the provider in this process; `now` is the time of day.
    pub fn find(now: u64) -> Option<Rails> {
        let provider = Provider::find()?;
        Some(Rails { provider, before: provider.rails(), since: now })
    }

    /// Names of their columns, which follow those of every rank.
    pub fn columns(&self) -> impl Iterator<Item = String> {
        columns_of(&self.before)
    }

    /// Adds the traffic since the last sample, at most once per step.
    pub fn look(&mut self, now: u64, timeline: &mut Timeline) {
        if now / STEP_NS == self.since / STEP_NS {
            return;
        }
        let rails = self.provider.rails();
        for (at, (old, new)) in self.before.iter().zip(&rails).enumerate() {
            timeline.spread_traffic(rank_column::NAMES.len() + 2 * at, (self.since, now), old, new);
        }
        (self.before, self.since) = (rails, now);
    }
}
