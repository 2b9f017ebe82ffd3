//! A link of a plan: rails between hosts.

use anyhow::{Context, Result, anyhow, ensure};
use fishplate_longbow::link::Loss;
use serde::{Deserialize, Serialize};

use crate::lab::measure::Measured;
use crate::lab::probe::RoundTrips;
use crate::lab::{Choice, Cluster, Rail, Topology, Wan};
use crate::record::{self, RoundTrip};
use crate::storage::Asked;
use crate::testbed::rail_name;

/// Rails side by side: between the hosts of a plan, or between and in clusters of hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What it is called.
    pub name: String,
    /// Rails between the plan's hosts; they are called r0, r1, ...
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rails: Vec<Rail>,
    /// Instead of `rails`: clusters, as in a file of `fishplate lab up`.
    #[serde(rename = "cluster", default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<Cluster>,
    /// Links between clusters.
    #[serde(rename = "wan", default, skip_serializing_if = "Vec::is_empty")]
    pub wans: Vec<Wan>,
    /// How rails are emulated.
    #[serde(default)]
    pub emulator: Choice,
    /// Storage, whose servers are hosts in addition to the plan's, or the last ones of clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Asked>,
}

impl Link {
    /// From `NAME=RATE+RATE+...`, as on the command line.
    pub fn parse(text: &str) -> Result<Link> {
        let problem = |why: &str| anyhow!("\"{text}\": {why}");
        let (name, rates) = text.split_once('=').ok_or_else(|| problem("a link is NAME=RATE+RATE..."))?;
        let rail = |text: &str| text.parse().map(Rail::of_rate).map_err(|why: String| problem(&why));
        let rails = rates.split('+').map(rail).collect::<Result<Vec<_>>>()?;
        Ok(Link { name: name.to_string(), rails, ..Link::default() })
    }

    /// Says what cannot be built.
    pub fn check(&self, hosts: usize) -> Result<()> {
        let (rails, clusters) = (!self.rails.is_empty(), !self.clusters.is_empty());
        ensure!(rails || clusters, "link {}: it has no rails", self.name);
        ensure!(
            !(rails && clusters),
            "link {}: with clusters, each `cluster` and `wan` has its own `rails`",
            self.name
        );
        ensure!(clusters || self.wans.is_empty(), "link {}: a `wan` joins clusters, and there is none", self.name);
        let topology = self.topology(hosts, 0);
        topology.check().with_context(|| format!("link {}", self.name))?;
        ensure!(topology.hosts() >= 2, "link {}: it has a single host", self.name);
        Ok(())
    }

    /// The same with another storage, which its name tells.
    pub fn with_storage(&self, storage: &Asked) -> Link {
        Link { name: format!("{}, {storage}", self.name), storage: Some(storage.clone()), ..self.clone() }
    }

    /// What to build.
    pub fn topology(&self, hosts: usize, seed: u64) -> Topology {
        let servers = self.storage.as_ref().map_or(0, Asked::servers);
        let cluster = Topology::cluster(hosts + servers, self.rails.clone());
        let topology = Topology { seed, emulator: self.emulator, storage: self.storage.clone(), ..cluster };
        match self.clusters.is_empty() {
            true => topology,
            false => Topology { clusters: self.clusters.clone(), wans: self.wans.clone(), ..topology },
        }
    }

    /// Numbers of its rails, the fastest first, by the slowest that is on the way.
    pub fn best_first(&self) -> Vec<usize> {
        let places = || self.places().into_iter().map(|(_, rails)| rails);
        let mut numbers: Vec<usize> = (0..places().map(<[Rail]>::len).max().unwrap_or(0)).collect();
        let mbit = |rail: usize| places().filter_map(|rails| rails.get(rail)?.rate_mbit.mbit()).min();
        numbers.sort_by_key(|rail| std::cmp::Reverse(mbit(*rail).unwrap_or(u32::MAX)));
        numbers
    }

    /// As a record tells it, before anything was measured.
    pub fn recorded(&self) -> record::Link {
        let places = self.places();
        let single = places.len() == 1;
        let rails = places.iter().flat_map(|(place, rails)| {
            let name = move |rail| if single { rail_name(rail) } else { format!("{place}.{}", rail_name(rail)) };
            rails.iter().enumerate().map(move |(number, rail)| recorded(name(number), rail))
        });
        let storage = self.storage.as_ref().map(Asked::recorded);
        record::Link { name: self.name.clone(), rails: rails.collect(), emulator_cpu: None, storage }
    }

    /// Where it has rails of its own, in the order in which labs measure.
    fn places(&self) -> Vec<(String, &[Rail])> {
        if self.clusters.is_empty() {
            return vec![(String::new(), &self.rails)];
        }
        let inside = self.clusters.iter().filter(|cluster| cluster.hosts > 1 && !cluster.rails.is_empty());
        let inside = inside.map(|cluster| (cluster.name.clone(), cluster.rails.as_slice()));
        inside.chain(self.wans.iter().map(|wan| (wan.name(), wan.rails.as_slice()))).collect()
    }

    /// Adds what a lab of this link has measured.
    pub fn add_measured(&self, link: &mut record::Link, measured: &[Measured]) {
        let single = self.places().len() == 1;
        let tenths = |value: f64| (value * 10.0).round() / 10.0;
        for found in measured {
            let short = rail_name(found.rail);
            let name = if single { short } else { format!("{}.{short}", found.place) };
            if let Some(rail) = link.rails.iter_mut().find(|rail| rail.name == name) {
                rail.measured_mbit = Some(tenths(found.measured_mbit));
                let RoundTrips { mean_us, p99_us } = found.round_trip;
                rail.round_trip_us = Some(RoundTrip { mean: tenths(mean_us), p99: tenths(p99_us) });
            }
        }
    }
}

fn recorded(name: String, rail: &Rail) -> record::Rail {
    record::Rail {
        name,
        rate_mbit: rail.rate_mbit.mbit().map(f64::from),
        delay_us: Some(rail.delay.us()),
        loss: match rail.loss {
            Loss::Independent(probability) => Some(probability),
            // Bursts have no single probability; the plan in the manifest has all of it.
            _ => None,
        },
        flip: (!rail.flip.is_none()).then_some(rail.flip.0),
        path_mtu: rail.path_mtu,
        queue_bytes: rail.queue.map(|queue| queue.bytes),
        burst: rail.burst,
        ..record::Rail::default()
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
    const CLUSTERS: &str = r#"
        name = "far"
        cluster = [{ name = "a", hosts = 2, rails = [{ rate_mbit = 100 }, { rate_mbit = 1000 }] }, { name = "b", hosts = 1 }]
        wan = [{ between = ["a", "b"], rails = [{ rate_mbit = 500, delay = "1ms" }, { rate_mbit = 50 }] }]
    "#;

    #[test]
    fn clusters_have_rails_inside_and_between() {
        let link: Link = toml::from_str(CLUSTERS).unwrap();
        link.check(7).unwrap();
        assert_eq!((link.topology(7, 3).hosts(), link.topology(7, 3).seed), (3, 3));
        assert_eq!(link.best_first(), [0, 1], "100 and 50 Mbit/s on the whole way");
        let mut recorded = link.recorded();
        let summary = |link: &record::Link| -> Vec<(String, Option<f64>, Option<f64>)> {
            link.rails.iter().map(|rail| (rail.name.clone(), rail.delay_us, rail.measured_mbit)).collect()
        };
        let round_trip = RoundTrips { mean_us: 2100.04, p99_us: 2200.0 };
        let measured = Measured {
            place: "a-b".into(),
            rail: 1,
            asked_mbit: Some(50.0),
            measured_mbit: 49.96,
            asked_round_trip_us: 0.0,
            plain: round_trip,
            round_trip,
            lossy: false,
        };
        link.add_measured(&mut recorded, &[measured]);
        let expected =
            [("a.r0", 0.0, None), ("a.r1", 0.0, None), ("a-b.r0", 1000.0, None), ("a-b.r1", 0.0, Some(50.0))];
        assert_eq!(summary(&recorded), expected.map(|(name, delay, mbit)| (name.into(), Some(delay), mbit)));
        assert_eq!(recorded.rails[3].round_trip_us, Some(RoundTrip { mean: 2100.0, p99: 2200.0 }));
    }

    #[test]
    fn rails_and_clusters_exclude_each_other() {
        let error = |text: &str| {
            let link: Link = toml::from_str(text).unwrap();
            format!("{:#}", link.check(2).unwrap_err())
        };
        assert!(error(&format!("rails = [{{}}]\n{CLUSTERS}")).contains("each `cluster` and `wan` has its own"));
        assert!(error(&CLUSTERS.replace("cluster = ", "rails = [{}] #")).contains("a `wan` joins clusters"));
        assert!(error(&CLUSTERS.replace("\"b\"]", "\"c\"]")).contains("link far: wan a-c: there is no cluster c"));
        assert!(error("name = \"x\"\ncluster = [{ name = \"a\", hosts = 1, rails = [{}] }]").contains("a single host"));
    }
}
