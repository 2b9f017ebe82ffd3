//! MPI stacks over two unequal rails, side by side: what is measured, and how it is shown.

pub mod chart;
pub mod contenders;
pub mod measure;
pub mod page;
pub mod stream;
pub mod table;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the file of results calls its schema.
pub const SCHEMA: &str = "fishplate-demo/1";

/// Rates of the rails in Mbit/s.
pub const RAILS_MBIT: [u32; 2] = [1000, 250];

/// Size in bytes of the messages whose latency is measured.
pub const LATENCY_SIZE: u64 = 8;

/// Everything that one demonstration found out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: String,
    /// Under which conditions.
    pub conditions: Conditions,
    /// The rails, each measured alone.
    pub rails: Vec<RailAlone>,
    /// All rails at once by plain TCP streams, MB/s, one value a round.
    pub sum: Vec<f64>,
    /// The stacks, in the order in which they took turns.
    pub stacks: Vec<StackResults>,
    /// What Fishplate sent over each rail during the large messages.
    pub shares: Vec<Share>,
}

/// Under which conditions was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conditions {
    /// When.
    pub date: String,
    /// Names and values, in the order to show.
    pub facts: Vec<(String, String)>,
    /// How often each stack had its turn.
    pub rounds: usize,
}

/// A rail by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RailAlone {
    /// Interface.
    pub name: String,
    /// Rate of its shaper.
    pub mbit: u32,
    /// One plain TCP stream, MB/s, one value a round.
    pub alone: Vec<f64>,
}

/// One stack.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StackResults {
    /// Name.
    pub name: String,
    /// Which rails it was given.
    pub rails: String,
    /// Whether somebody told it the rates of the rails.
    pub told: bool,
    /// Version of the MPI library, as it says itself.
    pub version: String,
    /// The command line that measured it.
    pub command: String,
    /// Half of a round trip, us, the median of each round.
    pub latency: Vec<f64>,
    /// MB/s by message size, one value a round.
    pub bandwidth: BTreeMap<u64, Vec<f64>>,
    /// Why there are no (more) values.
    pub failure: Option<String>,
}

/// What went over one rail.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Share {
    /// Interface.
    pub rail: String,
    /// Bytes sent.
    pub bytes: u64,
    /// Of all bytes, 0 to 1.
    pub share: f64,
    /// TCP segments sent again.
    pub retransmitted: u64,
}

/// Median, least and greatest of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Least.
    pub least: f64,
    /// Greatest.
    pub greatest: f64,
}

impl Spread {
    /// `None` without values.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, greatest) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median =
            if sorted.len().is_multiple_of(2) { (sorted[middle - 1] + sorted[middle]) / 2.0 } else { sorted[middle] };
        Some(Spread { median, least, greatest })
    }
}

impl Results {
    /// Sizes that any stack has values for.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.stacks.iter().flat_map(|stack| stack.bandwidth.keys().copied()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Bandwidth of a stack over the sum of the rails in the same round.
    pub fn ratio(&self, stack: &StackResults, size: u64) -> Option<Spread> {
        let values = stack.bandwidth.get(&size)?;
        let ratios: Vec<f64> = values.iter().zip(&self.sum).map(|(value, sum)| value / sum).collect();
        Spread::of(&ratios)
    }

    /// The product.
    pub fn fishplate(&self) -> Option<&StackResults> {
        self.stacks.iter().find(|stack| stack.name == contenders::FISHPLATE)
    }

    /// The fastest of the others at a size, with its bandwidth, among those that were told the rates or were not.
    pub fn best_other(&self, size: u64, told: bool) -> Option<(&StackResults, Spread)> {
        let eligible = |stack: &&StackResults| stack.name != contenders::FISHPLATE && stack.told == told;
        let others = self.stacks.iter().filter(eligible);
        let measured = others.filter_map(|stack| Some((stack, Spread::of(stack.bandwidth.get(&size)?)?)));
        measured.max_by(|(_, a), (_, b)| a.median.total_cmp(&b.median))
    }
}

/// `4 MiB`, `64 KiB`, `8 B`.
pub fn size_name(size: u64) -> String {
    match size {
        s if s >= 1 << 20 && s % (1 << 20) == 0 => format!("{} MiB", s >> 20),
        s if s >= 1 << 10 && s % (1 << 10) == 0 => format!("{} KiB", s >> 10),
        s => format!("{s} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, least: 1.0, greatest: 3.0 }));
        assert_eq!(Spread::of(&[1.0, 2.0]).unwrap().median, 1.5);
    }

    #[test]
    fn sizes_have_names() {
        assert_eq!(size_name(8), "8 B");
        assert_eq!(size_name(65536), "64 KiB");
        assert_eq!(size_name(4 << 20), "4 MiB");
        assert_eq!(size_name(1500), "1500 B");
    }
}
