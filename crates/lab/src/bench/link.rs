//! A link of a plan: rails between hosts.

use anyhow::{Result, anyhow, ensure};
use serde::{Deserialize, Serialize};

use crate::record;
use crate::testbed::{MAX_RAILS, Rate, Spec, rail_name};

/// Rails side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What it is called.
    pub name: String,
    /// Its rails; they are called r0, r1, ...
    #[serde(default)]
    pub rails: Vec<Rail>,
}

/// One rail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rail {
    /// Mbit/s; absent: as fast as it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_mbit: Option<RateMbit>,
}

/// A rate that a rail can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct RateMbit(u32);

impl TryFrom<i64> for RateMbit {
    type Error = String;

    fn try_from(mbit: i64) -> Result<RateMbit, String> {
        match mbit.to_string().parse()? {
            Rate::Mbit(mbit) => Ok(RateMbit(mbit)),
            Rate::Unshaped => Err("a rate of 0: leave it out for a rail that is not limited".into()),
        }
    }
}

impl From<RateMbit> for i64 {
    fn from(rate: RateMbit) -> i64 {
        rate.0.into()
    }
}

impl Link {
    /// From `NAME=RATE+RATE+...`, as on the command line.
    pub fn parse(text: &str) -> Result<Link> {
        let problem = |why: &str| anyhow!("--links: \"{text}\": {why}");
        let (name, rates) = text.split_once('=').ok_or_else(|| problem("a link is NAME=RATE+RATE..."))?;
        let rail = |text: &str| match text.parse::<Rate>() {
            Ok(Rate::Unshaped) => Ok(Rail { rate_mbit: None }),
            Ok(Rate::Mbit(mbit)) => Ok(Rail { rate_mbit: Some(RateMbit(mbit)) }),
            Err(why) => Err(problem(&why)),
        };
        let rails = rates.split('+').map(rail).collect::<Result<Vec<_>>>()?;
        Ok(Link { name: name.to_string(), rails })
    }

    /// Says what cannot be built.
    pub fn check(&self) -> Result<()> {
        let fits = (1..=MAX_RAILS).contains(&self.rails.len());
        ensure!(fits, "link {}: 1 to {MAX_RAILS} rails are possible, not {}", self.name, self.rails.len());
        Ok(())
    }

    /// What to build.
    pub fn spec(&self, hosts: usize) -> Spec {
        let rate = |rail: &Rail| rail.rate_mbit.map_or(Rate::Unshaped, |rate| Rate::Mbit(rate.0));
        Spec { hosts, rails: self.rails.iter().map(rate).collect() }
    }

    /// Numbers of its rails, the fastest first.
    pub fn best_first(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..self.rails.len()).collect();
        numbers.sort_by_key(|rail| std::cmp::Reverse(self.rails[*rail].rate_mbit.map_or(u32::MAX, |rate| rate.0)));
        numbers
    }

    /// As a record tells it, before anything was measured.
    pub fn recorded(&self) -> record::Link {
        let rail = |(number, rail): (usize, &Rail)| record::Rail {
            name: rail_name(number),
            rate_mbit: rail.rate_mbit.map(|rate| rate.0.into()),
            ..record::Rail::default()
        };
        let rails = self.rails.iter().enumerate().map(rail).collect();
        record::Link { name: self.name.clone(), rails, emulator_cpu: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_from_the_command_line() {
        let link = Link::parse("lan=250+1000+0").unwrap();
        assert_eq!((link.name.as_str(), link.best_first()), ("lan", vec![2, 1, 0]));
        assert_eq!(link.recorded().rails[1].rate_mbit, Some(1000.0));
        for (text, message) in [("lan", "NAME=RATE"), ("lan=-5", "a rate is"), ("lan=", "a rate is")] {
            let error = Link::parse(text).unwrap_err().to_string();
            assert!(error.contains(message) && error.contains(text), "{error}");
        }
    }
}
