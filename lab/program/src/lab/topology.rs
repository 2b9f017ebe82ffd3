//! The topology of a lab: clusters of hosts, their rails, and the links between clusters.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::rail::Rail;
use crate::storage::Asked;
use crate::testbed::{MAX_RAILS, Rate};

/// Most hosts of a lab: each is a process and a network; a machine of a few cores has enough with these.
pub const MAX_HOSTS: usize = 32;
const MAX_CLUSTERS: usize = 8;

/// Clusters and what joins them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Seed of random losses; equal seeds lose equal packets in sequence.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// How rails are emulated.
    #[serde(default)]
    pub emulator: Choice,
    /// Hosts have one port, over which all rails between clusters are paths.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_port: bool,
    /// Clusters; their hosts are numbered on from cluster to cluster.
    #[serde(rename = "cluster", default)]
    pub clusters: Vec<Cluster>,
    /// Links between clusters.
    #[serde(rename = "wan", default, skip_serializing_if = "Vec::is_empty")]
    pub wans: Vec<Wan>,
    /// Storage, whose servers are the last hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Asked>,
}

/// How rails are emulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// The kernel's shaper (HTB) for rates alone; otherwise NFQUEUE, or TAP devices where the kernel has no NFQUEUE.
    #[default]
    Auto,
    /// Packets wait in NFQUEUE.
    Nfqueue,
    /// Packets pass TAP devices.
    Tap,
}

/// Hosts that one switch a rail joins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    pub name: String,
    pub hosts: usize,
    /// The rails of each host, or its one port; absent: rails without limits, as many as the links between clusters
    /// have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rails: Vec<Rail>,
}

/// A link for each rail between two clusters. All hosts of a cluster share it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wan {
    /// Names of the clusters.
    pub between: [String; 2],
    /// Its links, one for each rail.
    pub rails: Vec<Rail>,
}

fn default_seed() -> u64 {
    1
}

impl Topology {
    pub fn cluster(hosts: usize, rails: Vec<Rail>) -> Topology {
        let clusters = vec![Cluster { name: "c0".into(), hosts, rails }];
        let (seed, wans) = (default_seed(), Vec::new());
        Topology { seed, emulator: Choice::Auto, one_port: false, clusters, wans, storage: None }
    }

    /// Clusters of `hosts` each, every two joined by links like `wan`.
    pub fn clusters(clusters: usize, hosts: usize, rails: Vec<Rail>, wan: Vec<Rail>) -> Topology {
        let name = |cluster: usize| format!("c{cluster}");
        let pairs = (0..clusters).flat_map(|one| (one + 1..clusters).map(move |other| [one, other]));
        Topology {
            clusters: (0..clusters).map(|c| Cluster { name: name(c), hosts, rails: rails.clone() }).collect(),
            wans: pairs.map(|pair| Wan { between: pair.map(name), rails: wan.clone() }).collect(),
            ..Topology::cluster(hosts, Vec::new())
        }
    }

    /// Two clusters of `hosts` each, whose hosts have one port; the rails between them are paths over it.
    pub fn paths(hosts: usize, port: Rail, paths: Vec<Rail>) -> Topology {
        Topology { one_port: true, ..Topology::clusters(2, hosts, vec![port], paths) }
    }

    /// A number of hosts, and rails of these rates.
    pub fn of_rates(hosts: usize, rates: &[Rate]) -> Topology {
        Topology::cluster(hosts, rates.iter().copied().map(Rail::of_rate).collect())
    }

    /// From a TOML file.
    pub fn read(file: &Path) -> Result<Topology> {
        let shown = file.display();
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
        let topology: Topology = toml::from_str(&text).with_context(|| format!("{shown} describes no lab"))?;
        topology.check().with_context(|| format!("{shown} describes no lab"))?;
        Ok(topology)
    }

    pub fn hosts(&self) -> usize {
        self.clusters.iter().map(|cluster| cluster.hosts).sum()
    }

    /// Number of hosts that programs run on: those that serve no storage.
    pub fn clients(&self) -> usize {
        self.hosts().saturating_sub(self.storage.as_ref().map_or(0, Asked::servers))
    }

    /// Number of rails of each host.
    pub fn rails(&self) -> usize {
        let wans = self.wans.iter().map(|wan| wan.rails.len());
        self.clusters.iter().map(|cluster| cluster.rails.len()).chain(wans).max().unwrap_or(0)
    }

    /// Number of interfaces that each host has for its rails.
    pub fn ports(&self) -> usize {
        if self.one_port { 1 } else { self.rails() }
    }

    /// The settings of a host's interface in a cluster.
    pub fn cluster_rail(&self, cluster: usize, rail: usize) -> Rail {
        self.clusters[cluster].rails.get(rail).copied().unwrap_or_default()
    }

    /// Numbers of a cluster's hosts.
    pub fn hosts_of(&self, cluster: usize) -> std::ops::Range<usize> {
        let first = self.clusters[..cluster].iter().map(|cluster| cluster.hosts).sum();
        first..first + self.clusters[cluster].hosts
    }

    /// Hosts for programs of `count` processes on hosts of their own: from the clusters in turn, so that they are in as
    /// many as can be. None of them serves a storage.
    pub fn spread(&self, count: usize) -> Vec<usize> {
        let clients = self.clients();
        let deepest = self.clusters.iter().map(|cluster| cluster.hosts).max().unwrap_or(0);
        let clusters = || (0..self.clusters.len()).map(|cluster| self.hosts_of(cluster));
        let in_turn = (0..deepest).flat_map(|depth| clusters().filter_map(move |mut hosts| hosts.nth(depth)));
        let mut chosen: Vec<usize> = in_turn.filter(|host| *host < clients).take(count).collect();
        chosen.sort_unstable();
        chosen
    }

    /// Numbers of the clusters that a link joins.
    pub fn clusters_of(&self, wan: &Wan) -> [usize; 2] {
        let number = |name: &String| self.clusters.iter().position(|cluster| cluster.name == *name).unwrap_or(0);
        [number(&wan.between[0]), number(&wan.between[1])]
    }

    /// Says what cannot be built.
    pub fn check(&self) -> Result<()> {
        let clusters = self.clusters.len();
        ensure!((1..=MAX_CLUSTERS).contains(&clusters), "there are 1 to {MAX_CLUSTERS} clusters, not {clusters}");
        let hosts = self.hosts();
        ensure!((1..=MAX_HOSTS).contains(&hosts), "a lab has 1 to {MAX_HOSTS} hosts, not {hosts}");
        self.storage.as_ref().map_or(Ok(()), |storage| storage.check_hosts(hosts))?;
        let rails = self.rails();
        ensure!((1..=MAX_RAILS).contains(&rails), "a host has 1 to {MAX_RAILS} rails, not {rails}");
        let mut names = BTreeSet::new();
        for cluster in &self.clusters {
            check_name("cluster", &cluster.name)?;
            ensure!(names.insert(cluster.name.clone()), "there are two clusters {}", cluster.name);
            ensure!(cluster.hosts > 0, "cluster {} has no hosts", cluster.name);
            check_rails(&cluster.rails, self.ports()).with_context(|| format!("cluster {}", cluster.name))?;
        }
        self.check_wans(rails)?;
        self.check_one_port()?;
        self.check_bursts()?;
        let is_limited = |rail: &&Rail| rail.flow_limit.is_none() || !rail.rate_mbit.is_unshaped();
        ensure!(self.all_rails().all(|rail| is_limited(&rail)), "`flow_limit` is for rails that have a rate");
        Ok(())
    }

    /// Of clusters, then of what joins them.
    fn all_rails(&self) -> impl Iterator<Item = &Rail> {
        let inner = self.clusters.iter().flat_map(|cluster| &cluster.rails);
        inner.chain(self.wans.iter().flat_map(|wan| &wan.rails))
    }

    /// The emulator lets packets pass one by one, whatever was asked.
    fn check_bursts(&self) -> Result<()> {
        let shaped = self.emulator == Choice::Auto && self.all_rails().all(Rail::is_rate_alone);
        let asked = self.all_rails().any(|rail| !rail.burst.is_default());
        ensure!(shaped || !asked, "`burst` is for the kernel's shaper, which is used where all rails have rates alone");
        Ok(())
    }

    fn check_one_port(&self) -> Result<()> {
        ensure!(!self.one_port || !self.wans.is_empty(), "`one_port` is for clusters that a [[wan]] joins");
        ensure!(!self.one_port || self.storage.is_none(), "`one_port` and `storage` do not go together");
        Ok(())
    }

    fn check_wans(&self, rails: usize) -> Result<()> {
        let mut joined = BTreeSet::new();
        for wan in &self.wans {
            for name in &wan.between {
                let known = self.clusters.iter().any(|cluster| cluster.name == *name);
                let names = || self.clusters.iter().map(|cluster| cluster.name.as_str()).collect::<Vec<_>>().join(", ");
                ensure!(known, "wan {}: there is no cluster {name}; there are: {}", wan.name(), names());
            }
            let [one, other] = self.clusters_of(wan);
            ensure!(one != other, "wan {}: a cluster is not joined with itself", wan.name());
            ensure!(joined.insert([one.min(other), one.max(other)]), "there are two links {}", wan.name());
            ensure!(!wan.rails.is_empty(), "wan {}: it has no rails", wan.name());
            check_rails(&wan.rails, rails).with_context(|| format!("wan {}", wan.name()))?;
        }
        for one in 0..self.clusters.len() {
            for other in one + 1..self.clusters.len() {
                let (one_name, other_name) = (&self.clusters[one].name, &self.clusters[other].name);
                ensure!(joined.contains(&[one, other]), "no [[wan]] joins the clusters {one_name} and {other_name}");
            }
        }
        Ok(())
    }
}

impl Wan {
    pub fn name(&self) -> String {
        self.between.join("-")
    }
}

fn check_name(what: &str, name: &str) -> Result<()> {
    let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && (1..=32).contains(&name.len());
    ensure!(fits, "\"{name}\" is no name of a {what}: 1 to 32 letters, digits and _");
    Ok(())
}

fn check_rails(rails: &[Rail], expected: usize) -> Result<()> {
    let count = rails.len();
    ensure!(count == 0 || count == expected, "{count} rails, where others have {expected}");
    for (number, rail) in rails.iter().enumerate() {
        rail.settings().check().map_err(anyhow::Error::msg).with_context(|| format!("rail r{number}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_CLUSTERS: &str = r#"
        [[cluster]]
        name = "east"
        hosts = 2
        rails = [{ rate_mbit = 1000 }, { rate_mbit = 250, delay = "10us" }]

        [[cluster]]
        name = "west"
        hosts = 3

        [[wan]]
        between = ["east", "west"]
        rails = [{ rate_mbit = 500, delay = "10ms", loss = 0.001 }, { delay = "1ms", queue = "1M" }]
    "#;

    #[test]
    fn a_file_is_read_and_written() {
        let topology: Topology = toml::from_str(TWO_CLUSTERS).unwrap();
        topology.check().unwrap();
        assert_eq!((topology.hosts(), topology.rails(), topology.hosts_of(1)), (5, 2, 2..5));
        assert_eq!(topology.cluster_rail(1, 0), Rail::default());
        assert_eq!(topology.wans[0].rails[0].to_string(), "500 Mbit/s, delay 10ms, loss 0.001");
        let json = serde_json::to_string(&topology).unwrap();
        assert_eq!(serde_json::from_str::<Topology>(&json).unwrap(), topology);
    }

    #[test]
    fn few_processes_are_in_as_many_clusters_as_can_be() {
        let topology: Topology = toml::from_str(TWO_CLUSTERS).unwrap();
        let expected: [&[usize]; 5] = [&[0], &[0, 2], &[0, 1, 2], &[0, 1, 2, 3], &[0, 1, 2, 3, 4]];
        assert_eq!([1, 2, 3, 4, 9].map(|count| topology.spread(count)), expected);
        assert_eq!(Topology::cluster(3, Vec::new()).spread(2), [0, 1]);
    }

    #[test]
    fn impossible_topologies_are_refused() {
        let refusal = |from: &str, to: &str| {
            let text = TWO_CLUSTERS.replace(from, to);
            match toml::from_str::<Topology>(&text) {
                Ok(topology) => format!("{:#}", topology.check().unwrap_err()),
                Err(error) => error.to_string(),
            }
        };
        for (from, to, message) in [
            ("rate_mbit = 500", "rate_mbit = -5", "a rate is a whole number"),
            ("rate_mbit = 500", "rate = 500", "unknown field `rate`"),
            ("delay = \"10ms\"", "delay = \"10\"", "\"10\" is no time"),
            ("loss = 0.001", "loss = 2", "from 0 to 1, not 2"),
            ("loss = 0.001", "loss = \"x\"", "loss is a probability"),
            ("hosts = 3", "hosts = 0", "cluster west has no hosts"),
            ("hosts = 3", "hosts = 300", "1 to 32 hosts"),
            ("\"east\", \"west\"", "\"east\", \"north\"", "no cluster north; there are: east, west"),
            ("\"east\", \"west\"", "\"east\", \"east\"", "not joined with itself"),
            ("name = \"west\"", "name = \"east\"", "two clusters east"),
            ("name = \"west\"", "name = \"w-t\"", "no name of a cluster"),
            ("rate_mbit = 1000 }", "rate_mbit = 1000, burst = \"packet\" }", "where all rails have rates alone"),
            ("rate_mbit = 1000 }", "rate_mbit = 1000, burst = 2048 }", "burst"),
            ("rate_mbit = 1000 }", "rate_mbit = 1000, flow_limit = \"500:3\" }", "no limit of flows"),
            ("rate_mbit = 1000 }", "flow_limit = \"500:2\" }", "`flow_limit` is for rails that have a rate"),
            (", { delay = \"1ms\", queue = \"1M\" }", "", "wan east-west: 1 rails, where others have 2"),
            (
                "[[cluster]]\n        name = \"east\"",
                "one_port = true\n[[cluster]]\nname = \"east\"",
                "2 rails, where others have 1",
            ),
        ] {
            let found = refusal(from, to);
            assert!(found.contains(message), "{message}: {found}");
        }
        assert!(Topology::cluster(2, Vec::new()).check().is_err());
        let alone = Topology { one_port: true, ..Topology::cluster(2, vec![Rail::default()]) };
        assert_eq!(alone.check().unwrap_err().to_string(), "`one_port` is for clusters that a [[wan]] joins");
        let paths = Topology::paths(1, Rail::default(), vec![Rail::default(); 2]);
        assert_eq!((paths.check().is_ok(), paths.rails(), paths.ports()), (true, 2, 1));
        let storage = Some("nfs".parse().unwrap());
        let refused = Topology { storage, ..paths }.check().unwrap_err().to_string();
        assert_eq!(refused, "`one_port` and `storage` do not go together");
    }

    #[test]
    fn every_two_clusters_are_joined() {
        let mut topology = Topology::clusters(3, 1, Vec::new(), vec![Rail::default()]);
        topology.check().unwrap();
        assert_eq!(topology.wans.len(), 3);
        topology.wans.pop();
        assert_eq!(topology.check().unwrap_err().to_string(), "no [[wan]] joins the clusters c1 and c2");
    }
}
