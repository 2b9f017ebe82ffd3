//! The request to a host, and the facts that it reports.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use fishplate_host::HostId;
use fishplate_rails::discover::Interface;
use fishplate_rails::ports::Ports;
use fishplate_rails::rail::Rail;
use fishplate_rails::trial::path::{self, PairTrial};
use fishplate_rails::trial::{Offer, answer};
use fishplate_rails::{Settings, process};
use serde::{Deserialize, Serialize};

use super::checks::{kernel, mpi, open_files, rails, shared_memory, versions};

/// Settings relevant for the checks.
const SETTINGS: [&str; 4] = ["FISHPLATE_RAILS", "FISHPLATE_PORTS", "FISHPLATE_DATAGRAMS", "FISHPLATE_ENCRYPTION"];

/// Request to a host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Assignment {
    /// Settings, as launchers hand them on to all hosts.
    pub settings: BTreeMap<String, String>,
    /// The MPI to start.
    pub mpi: Option<mpi::Wanted>,
    /// Expected file of the provider.
    pub provider: Option<PathBuf>,
}

/// Facts reported by a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostFacts {
    /// Identifies the host: equal for several names of one host.
    pub host: HostId,
    pub versions: versions::Facts,
    /// Whether the provider is where it has to be.
    pub has_provider: bool,
    pub rails: rails::Facts,
    pub kernel: kernel::Facts,
    pub open_files: open_files::Facts,
    /// Memory shared by its ranks.
    pub shared_memory: shared_memory::Facts,
    pub mpi: mpi::Facts,
    /// Where it can be tried, or why it cannot.
    pub offer: Result<Offer, String>,
}

/// A host that has been looked at, from inside.
pub struct Here {
    ports: Option<Ports>,
    /// Rails that are up, and those in reserve, with their MTUs.
    rails: Vec<(Rail, u32)>,
    own: Vec<IpAddr>,
}

impl Assignment {
    /// With the settings of this process.
    pub fn new(mpi: Option<mpi::Wanted>, provider: Option<PathBuf>) -> Assignment {
        let value = |name: &&str| Some((name.to_string(), std::env::var(name).ok().filter(|value| !value.is_empty())?));
        Assignment { settings: SETTINGS.iter().filter_map(value).collect(), mpi, provider }
    }

    /// The settings, read.
    pub fn settings(&self) -> Result<Settings> {
        Settings::from_lookup(|name| self.settings.get(name).cloned()).map_err(|error| anyhow!("{error}"))
    }
}

/// Looks at this host, and lets others try the ways to it from now on.
pub fn gather(assignment: &Assignment) -> Result<(HostFacts, Here)> {
    let settings = assignment.settings()?;
    let (rails, interfaces) = rails::gather(&settings.rails);
    let is_usable = |one: &&Interface| one.class().is_some() && one.is_up() && !one.is_of_host_alone();
    let usable: Vec<Interface> = interfaces.iter().filter(is_usable).cloned().collect();
    let up = Rail::all(&usable);
    let facts = HostFacts {
        host: process::host_id(),
        versions: versions::gather(),
        has_provider: assignment.provider.as_ref().is_none_or(|file| file.is_file()),
        rails,
        kernel: kernel::gather(),
        open_files: open_files::gather(Rail::preferred(&up).len().max(1)),
        shared_memory: shared_memory::gather(),
        mpi: mpi::gather(assignment.mpi.as_ref()),
        offer: answer::begin(&up, settings.ports),
    };
    let own = interfaces.iter().flat_map(|one| &one.addresses).map(|address| address.ip).collect();
    let rails = up.into_iter().zip(usable.iter().map(|interface| interface.mtu)).collect();
    Ok((facts, Here { ports: settings.ports, rails, own }))
}

impl Here {
    /// Tries the ways to other hosts, one after the other; the offers come with the hosts' names.
    pub fn try_ways(&self, offers: &[(String, Offer)]) -> Vec<(String, Vec<PairTrial>)> {
        let one =
            |(host, offer): &(String, Offer)| (host.clone(), path::try_all(&self.rails, &self.own, offer, self.ports));
        offers.iter().map(one).collect()
    }
}
