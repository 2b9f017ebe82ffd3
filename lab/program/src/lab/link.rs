//! The links of a lab: which there are, and between which interfaces.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use super::change::Target;
use super::rail::Rail;
use super::topology::Topology;
use crate::testbed::{host, rail_name};

/// A link of one rail.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name in the emulator.
    pub name: String,
    /// The cluster or the two clusters that it belongs to.
    pub place: String,
    pub rail: usize,
    pub kind: Kind,
    pub a: End,
    pub b: End,
    /// Its settings.
    pub asked: Rail,
    pub up: bool,
}

/// Ends of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Two hosts, or one host without a peer.
    Direct,
    /// A cluster's switch (a) and a host (b) of this number.
    Port(usize),
    /// Two clusters' switches; the number is that of the wan.
    Wan(usize),
}

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub at: At,
    /// Its name there.
    pub interface: String,
}

/// A network of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The namespace of a host.
    Host(usize),
    /// The namespace of a cluster's switch.
    Switch(usize),
    /// The namespace of the lab's own process.
    Here,
}

/// Whether a lab has switches: not if two hosts can be joined directly.
pub fn is_switched(topology: &Topology) -> bool {
    let plain = || (0..2).all(|cluster| topology.clusters[cluster].rails.iter().all(Rail::is_plain));
    match topology.clusters.len() {
        1 => topology.hosts() > 2,
        2 => topology.one_port || topology.hosts() > 2 || !plain(),
        _ => true,
    }
}

/// All links, in the order of their rails.
pub fn links(topology: &Topology) -> Vec<Link> {
    (0..topology.rails()).flat_map(|rail| links_of_rail(topology, rail)).collect()
}

fn links_of_rail(topology: &Topology, rail: usize) -> Vec<Link> {
    let name = rail_name(rail);
    if !is_switched(topology) {
        let b = match topology.hosts() {
            1 => End { at: At::Here, interface: format!("{name}-end") },
            _ => End { at: At::Host(1), interface: name.clone() },
        };
        let (place, asked) = match topology.wans.first() {
            Some(wan) => (wan.name(), wan.rails[rail]),
            None => (topology.clusters[0].name.clone(), topology.cluster_rail(0, rail)),
        };
        let a = End { at: At::Host(0), interface: name.clone() };
        return vec![Link { name, place, rail, kind: Kind::Direct, a, b, asked, up: true }];
    }
    let mut links = Vec::new();
    for (number, cluster) in topology.clusters.iter().enumerate() {
        for index in topology.hosts_of(number).filter(|_| rail < topology.ports()) {
            links.push(Link {
                name: format!("{}.{name}", host::name(index)),
                place: cluster.name.clone(),
                rail,
                kind: Kind::Port(index),
                a: End { at: At::Switch(number), interface: format!("h{index}-{name}") },
                b: End { at: At::Host(index), interface: name.clone() },
                asked: topology.cluster_rail(number, rail),
                up: true,
            });
        }
    }
    for (number, wan) in topology.wans.iter().enumerate() {
        let [a, b] = topology
            .clusters_of(wan)
            .map(|cluster| End { at: At::Switch(cluster), interface: format!("w{number}-{name}") });
        let link = Link {
            name: format!("{}.{name}", wan.name()),
            place: wan.name(),
            rail,
            kind: Kind::Wan(number),
            a,
            b,
            asked: wan.rails[rail],
            up: true,
        };
        links.push(link);
    }
    links
}

/// Numbers of the links that a target names.
pub fn find(links: &[Link], target: &Target) -> Result<Vec<usize>> {
    let has_wans = links.iter().any(|link| matches!(link.kind, Kind::Wan(_)));
    let fits = |link: &Link| match &target.place {
        None => !has_wans || matches!(link.kind, Kind::Wan(_)),
        Some(place) => {
            let of_host = matches!(link.kind, Kind::Port(index) if host::name(index) == *place);
            link.place == *place || of_host
        }
    };
    let found: Vec<usize> =
        (0..links.len()).filter(|number| links[*number].rail == target.rail && fits(&links[*number])).collect();
    ensure!(!found.is_empty(), "there is no rail {target}; there are: {}", targets(links).join(", "));
    Ok(found)
}

/// Possible names of rails.
fn targets(links: &[Link]) -> Vec<String> {
    let mut names: Vec<String> = links.iter().map(|link| format!("{}.{}", link.place, rail_name(link.rail))).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

impl Link {
    /// Its ends that a user may take down: at hosts, or at both switches.
    pub fn ends(&self) -> Vec<&End> {
        match self.kind {
            Kind::Port(_) => vec![&self.b],
            Kind::Direct | Kind::Wan(_) => [&self.a, &self.b].into_iter().filter(|end| end.at != At::Here).collect(),
        }
    }
}

impl Topology {
    /// Numbers of the links that a target names.
    ///
    /// # Errors
    /// When there are none.
    pub fn find(&self, target: &Target) -> Result<Vec<usize>> {
        find(&links(self), target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::Rate;

    fn names(topology: &Topology) -> Vec<String> {
        topology.check().unwrap();
        links(topology).into_iter().map(|link| link.name).collect()
    }

    #[test]
    fn two_hosts_are_joined_directly() {
        assert_eq!(names(&Topology::of_rates(2, &[Rate::Unshaped, Rate::Mbit(1)])), ["r0", "r1"]);
        assert_eq!(names(&Topology::of_rates(1, &[Rate::Unshaped])), ["r0"]);
        let wan = vec![Rail::of_rate(Rate::Mbit(10))];
        let topology = Topology::clusters(2, 1, Vec::new(), wan.clone());
        assert_eq!(links(&topology)[0].asked, wan[0]);
        assert_eq!(links(&topology)[0].kind, Kind::Direct);
        let limited = Topology::clusters(2, 1, wan.clone(), wan);
        assert_eq!(names(&limited), ["node0.r0", "node1.r0", "c0-c1.r0"]);
    }

    #[test]
    fn paths_are_links_between_switches_that_hosts_have_one_port_to() {
        let paths = vec![Rail::of_rate(Rate::Mbit(400)), Rail::of_rate(Rate::Mbit(100))];
        let topology = Topology::paths(1, Rail::default(), paths);
        assert_eq!(names(&topology), ["node0.r0", "node1.r0", "c0-c1.r0", "c0-c1.r1"]);
    }

    #[test]
    fn more_hosts_have_switches() {
        assert_eq!(names(&Topology::of_rates(3, &[Rate::Unshaped])), ["node0.r0", "node1.r0", "node2.r0"]);
        let topology = Topology::clusters(3, 1, Vec::new(), vec![Rail::default()]);
        let wans = ["c0-c1.r0", "c0-c2.r0", "c1-c2.r0"];
        assert_eq!(names(&topology)[3..], wans);
        // Linux takes 15 characters.
        assert!(links(&topology).iter().all(|link| link.a.interface.len() <= 15));
    }
}
