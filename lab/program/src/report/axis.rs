//! The horizontal axis of a chart.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::output::page::axis::Base;
use crate::output::page::units;
use crate::record::{Benchmark, Link, Rail, Sample};

/// Unit of a time that passes.
const SECONDS: &str = "s";

/// A horizontal axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    Size,
    Ranks,
    /// One-way delay asked of the link; of its slowest rail, where they differ.
    LinkDelay,
    /// Rate asked of all rails of the link together.
    LinkRate,
    /// A numeric option of the samples, with its unit.
    Option(String, Option<String>),
}

impl Axis {
    /// As the manifest asks.
    pub fn of(benchmark: &Benchmark) -> Axis {
        let Some(name) = benchmark.axis.as_deref() else { return Axis::Size };
        let fixed = [Axis::Size, Axis::Ranks, Axis::LinkDelay, Axis::LinkRate];
        let option = || Axis::Option(name.to_string(), benchmark.axis_unit.clone());
        fixed.into_iter().find(|axis| axis.id() == name).unwrap_or_else(option)
    }

    /// Its name in records, and those for people of it and of its places.
    fn names(&self) -> [&str; 3] {
        match self {
            Axis::Size => ["size_bytes", "message size", "sizes"],
            Axis::Ranks => ["ranks", "ranks", "numbers of ranks"],
            Axis::LinkDelay => ["link.delay_us", "delay of the link, one way", "delays"],
            Axis::LinkRate => ["link.rate_mbit", "rate of the link", "rates"],
            Axis::Option(name, _) => [name.as_str(); 3],
        }
    }

    /// Position of a sample along it.
    ///
    /// # Errors
    /// When the record does not say.
    pub fn place(&self, sample: &Sample, link: Option<&Link>) -> Result<f64> {
        let rails = || {
            let rails = link.map(|link| &link.rails);
            rails.with_context(|| format!("no line of kind \"link\" describes the link {}", sample.link))
        };
        Ok(match self {
            // A barrier has no size; all of its samples are at one place.
            Axis::Size => sample.size_bytes.unwrap_or(0) as f64,
            Axis::Ranks => f64::from(sample.ranks),
            Axis::LinkDelay => rails()?.iter().filter_map(|rail| rail.delay_us).fold(0.0, f64::max),
            Axis::LinkRate => narrowest(rails()?),
            Axis::Option(name, _) => {
                let value = sample.options.get(name).and_then(|value| value.as_f64());
                value.with_context(|| format!("a sample of {} has no number as its option {name}", sample.benchmark))?
            }
        })
    }

    /// Whether it goes over links.
    pub fn is_link(&self) -> bool {
        matches!(self, Axis::LinkDelay | Axis::LinkRate)
    }

    /// Whether it is this option.
    pub fn is_option(&self, name: &str) -> bool {
        matches!(self, Axis::Option(option, _) if option == name)
    }

    /// Its name in records.
    pub fn id(&self) -> &str {
        self.names()[0]
    }

    pub fn caption(&self) -> String {
        self.names()[1].replace('_', " ")
    }

    /// All places in words.
    pub fn all(&self) -> String {
        format!("all {}", self.names()[2].replace('_', " "))
    }

    /// A place in words.
    pub fn name(&self, place: f64) -> String {
        match self {
            Axis::Size => units::size(place as u64),
            Axis::Ranks => format!("{place}"),
            Axis::LinkDelay => units::round(place, "us"),
            Axis::LinkRate => units::round(place, "Mbit/s"),
            Axis::Option(name, None) if name.ends_with("_bytes") => units::size(place as u64),
            Axis::Option(_, None) => format!("{place}"),
            Axis::Option(_, Some(unit)) => units::round(place, unit),
        }
    }

    /// Base of a logarithmic axis; `None`: a linear one, for times.
    pub fn base(&self) -> Option<Base> {
        match self {
            Axis::Size | Axis::Ranks => Some(Base::Two),
            Axis::LinkDelay | Axis::LinkRate => Some(Base::Ten),
            Axis::Option(_, None) => Some(Base::Two),
            Axis::Option(_, Some(unit)) => (unit != SECONDS).then_some(Base::Ten),
        }
    }
}

/// Rates of the rails of a place together; of several places the least.
fn narrowest(rails: &[Rail]) -> f64 {
    // The name of a path, `eth0/10.1.0.5`, has points as well.
    let interface = |rail: &Rail| rail.name.split('/').next().unwrap_or_default().to_string();
    let place = |rail: &Rail| interface(rail).rsplit_once('.').map_or(String::new(), |(place, _)| place.to_string());
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for rail in rails {
        *sums.entry(place(rail)).or_default() += rail.rate_mbit.unwrap_or(0.0);
    }
    sums.into_values().filter(|sum| *sum > 0.0).reduce(f64::min).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_add_up_side_by_side_and_the_narrowest_place_counts() {
        let rail = |(name, rate): (&str, f64)| Rail { name: name.into(), rate_mbit: Some(rate), ..Rail::default() };
        assert_eq!(narrowest(&[("r0", 100.0), ("r1", 50.0)].map(rail)), 150.0);
        let places = [("east.r0", 1000.0), ("east-west.r0", 100.0), ("east-west.r1", 50.0)];
        assert_eq!(narrowest(&places.map(rail)), 150.0);
    }
}
