//! A link of a plan: rails between hosts.

use anyhow::{Context, Result, anyhow, ensure};
use fishplate_longbow::link::Loss;
use serde::{Deserialize, Serialize};

use crate::lab::{Rail, Topology};
use crate::record;
use crate::testbed::rail_name;

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

impl Link {
    /// From `NAME=RATE+RATE+...`, as on the command line.
    pub fn parse(text: &str) -> Result<Link> {
        let problem = |why: &str| anyhow!("--links: \"{text}\": {why}");
        let (name, rates) = text.split_once('=').ok_or_else(|| problem("a link is NAME=RATE+RATE..."))?;
        let rail = |text: &str| text.parse().map(Rail::of_rate).map_err(|why: String| problem(&why));
        let rails = rates.split('+').map(rail).collect::<Result<Vec<_>>>()?;
        Ok(Link { name: name.to_string(), rails })
    }

    /// Says what cannot be built.
    pub fn check(&self, hosts: usize) -> Result<()> {
        ensure!(!self.rails.is_empty(), "link {}: it has no rails", self.name);
        self.topology(hosts).check().with_context(|| format!("link {}", self.name))
    }

    /// What to build.
    pub fn topology(&self, hosts: usize) -> Topology {
        Topology::cluster(hosts, self.rails.clone())
    }

    /// Numbers of its rails, the fastest first.
    pub fn best_first(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..self.rails.len()).collect();
        numbers.sort_by_key(|rail| std::cmp::Reverse(self.rails[*rail].rate_mbit.mbit().unwrap_or(u32::MAX)));
        numbers
    }

    /// As a record tells it, before anything was measured.
    pub fn recorded(&self) -> record::Link {
        let rail = |(number, rail): (usize, &Rail)| record::Rail {
            name: rail_name(number),
            rate_mbit: rail.rate_mbit.mbit().map(f64::from),
            delay_us: Some(rail.delay.ns as f64 / 1e3),
            loss: match rail.loss.0 {
                Loss::None => Some(0.0),
                Loss::Independent { probability } => Some(probability),
                // Bursts have no single probability; the plan in the manifest has all of it.
                _ => None,
            },
            queue_bytes: rail.queue.map(|queue| queue.bytes),
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
