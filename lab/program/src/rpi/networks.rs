//! The networks that a program is run on: emulated links, sets of rails of a real network, stacks.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};

use super::asked::AskedNetwork;
use crate::bench::link::Link;
use crate::bench::{plan, selection};
use crate::mpi::stacks::{Catalog, Stack};

/// A base, the best, and one to be rated.
const MIN_NETWORKS: usize = 3;
/// Default networks.
const DEFAULT_STACK: &str = "fishplate-mpich";

/// A network and what runs on it.
#[derive(Clone)]
pub struct Network {
    pub name: String,
    pub place: Place,
    pub stack: Stack,
}

/// Place of a network.
#[derive(Clone)]
pub enum Place {
    Emulated(Link),
    /// It is there.
    Real(plan::Network),
}

/// Networks on the command line.
pub struct Named<'a> {
    /// Names, with rates or interfaces.
    pub networks: &'a [String],
    /// Stacks, or stacks of networks.
    pub stacks: &'a [String],
    /// Links of a plan.
    pub links: &'a [Link],
    /// Hosts of a real network; none: they are emulated.
    pub hosts: &'a [String],
}

impl Named<'_> {
    /// The networks.
    ///
    /// # Errors
    /// Names the invalid option and the valid values.
    pub fn find(&self, catalog: &Catalog) -> Result<Vec<Network>> {
        let count = self.networks.len();
        ensure!(
            count >= MIN_NETWORKS,
            "--networks: {count} of at least {MIN_NETWORKS}: a base, the best one, and those to be rated between them, such as \
             one=100,two=100+100,fast=800"
        );
        let places = self.networks.iter().map(|text| self.place(text)).collect::<Result<Vec<_>>>();
        let places = places.context("--networks")?;
        let names: Vec<&str> = places.iter().map(Place::name).collect();
        let mut seen = BTreeSet::new();
        for name in &names {
            ensure!(!name.is_empty(), "--networks: a network has an empty name");
            ensure!(seen.insert(*name), "--networks: two are called \"{name}\": give one another name");
        }
        let stacks = stacks(self.stacks, &names)?;
        let network = |(place, stack): (&Place, String)| {
            let stack = catalog.find(&stack).context("--stacks")?;
            ensure!(stack.mpi, "--stacks: {} is plain sockets, which run no MPI program", stack.name);
            Ok(Network { name: place.name().to_string(), place: place.clone(), stack })
        };
        places.iter().zip(stacks).map(network).collect()
    }

    fn place(&self, text: &str) -> Result<Place> {
        if self.hosts.is_empty() {
            return Ok(Place::Emulated(selection::link(text, self.links)?));
        }
        let (name, rails) = text.split_once('=').unwrap_or((text, ""));
        let rails: Vec<String> = rails.split('+').filter(|_| text.contains('=')).map(String::from).collect();
        ensure!(
            rails.iter().all(|rail| !rail.is_empty()),
            "\"{text}\": on real hosts a network is NAME=INTERFACE+INTERFACE..., or NAME alone where its stack chooses"
        );
        Ok(Place::Real(plan::Network { name: name.to_string(), hosts: self.hosts.to_vec(), rails, storage: None }))
    }
}

/// The name of each network's stack. One that is named without a network is that of all others.
fn stacks(given: &[String], networks: &[&str]) -> Result<Vec<String>> {
    let mut others = DEFAULT_STACK;
    let mut own = vec![None; networks.len()];
    for text in given {
        let Some((network, stack)) = text.split_once(':') else {
            others = text;
            continue;
        };
        match networks.iter().position(|name| *name == network) {
            Some(position) => own[position] = Some(stack),
            None => bail!("--stacks: there is no network \"{network}\"; there are {}", networks.join(", ")),
        }
    }
    Ok(own.into_iter().map(|own| own.unwrap_or(others).to_string()).collect())
}

impl Place {
    fn name(&self) -> &str {
        match self {
            Place::Emulated(link) => &link.name,
            Place::Real(network) => &network.name,
        }
    }

    fn words(&self) -> String {
        match self {
            Place::Emulated(link) if link.rails.is_empty() => "clusters".into(),
            Place::Emulated(link) => link.rails.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + "),
            Place::Real(network) if network.rails.is_empty() => "as it is".into(),
            Place::Real(network) => network.rails.join(" + "),
        }
    }
}

impl Network {
    /// As in a record.
    pub fn asked(&self) -> AskedNetwork {
        AskedNetwork { name: self.name.clone(), what: self.place.words(), stack: self.stack.name.clone() }
    }
}

/// The base and the best network: the first and the last unless named.
///
/// # Errors
/// If there is no network of this name, or both names are equal.
pub fn ends(networks: &[Network], base: Option<&str>, best: Option<&str>) -> Result<(String, String)> {
    let names: Vec<&str> = networks.iter().map(|network| network.name.as_str()).collect();
    let find = |option: &str, named: Option<&str>, default: Option<&&str>| {
        let name = named.or(default.copied()).unwrap_or_default();
        ensure!(names.contains(&name), "--{option}: there is no network \"{name}\"; there are {}", names.join(", "));
        Ok(name.to_string())
    };
    let (base, best) = (find("base", base, names.first())?, find("best", best, names.last())?);
    ensure!(base != best, "--base and --best are both \"{base}\"");
    Ok((base, best))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(networks: &str, stacks: &str, hosts: &[&str]) -> Result<Vec<Network>> {
        let list = |text: &str| text.split(',').filter(|word| !word.is_empty()).map(String::from).collect::<Vec<_>>();
        let hosts: Vec<String> = hosts.iter().map(|host| host.to_string()).collect();
        let (networks, stacks) = (list(networks), list(stacks));
        let named = Named { networks: &networks, stacks: &stacks, links: &[], hosts: &hosts };
        named.find(&Catalog::load(&[]).unwrap())
    }

    fn described(networks: &[Network]) -> Vec<[String; 3]> {
        networks.iter().map(Network::asked).map(|asked| [asked.name, asked.what, asked.stack]).collect()
    }

    #[test]
    fn networks_are_links_rails_or_stacks() {
        let links = find("one=100,two=100+100,fast=800", "mpich-tcp,fast:mpich-ucx", &[]).unwrap();
        let expected = [
            ["one", "100 Mbit/s", "mpich-tcp"],
            ["two", "100 Mbit/s + 100 Mbit/s", "mpich-tcp"],
            ["fast", "800 Mbit/s", "mpich-ucx"],
        ];
        assert_eq!(described(&links), expected.map(|row| row.map(String::from)));
        let rails = find("one=eth0,both=eth0+eth1,any", "any:openmpi-tcp", &["a", "b"]).unwrap();
        let expected = [
            ["one", "eth0", "fishplate-mpich"],
            ["both", "eth0 + eth1", "fishplate-mpich"],
            ["any", "as it is", "openmpi-tcp"],
        ];
        assert_eq!(described(&rails), expected.map(|row| row.map(String::from)));
        assert_eq!(ends(&rails, None, None).unwrap(), ("one".into(), "any".into()));
        assert_eq!(ends(&rails, Some("both"), Some("one")).unwrap(), ("both".into(), "one".into()));
    }
}
