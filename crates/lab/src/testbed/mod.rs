//! Hosts on one machine, of which [`crate::lab`] makes laboratories.
//!
//! The program starts itself again in process, mount and network namespaces of its own ([`isolate`]), so that the kernel
//! removes every process, link and mount when it ends, even by SIGKILL. In there each host is a process that holds a
//! network and a host name ([`host`]).

pub mod host;
pub mod isolate;
pub mod launch;
pub mod link;
pub mod orphans;
pub mod rate;

pub use rate::Rate;

/// Most rails: as many as an endpoint of the provider has.
pub const MAX_RAILS: usize = 8;

/// Hosts and rails.
pub use crate::lab::Lab as Testbed;

/// Hosts, and rails of rates alone.
pub struct Spec {
    /// Number of hosts.
    pub hosts: usize,
    /// Rate of each rail.
    pub rails: Vec<Rate>,
}

impl From<&Spec> for crate::lab::Topology {
    fn from(spec: &Spec) -> Self {
        Self::of_rates(spec.hosts, &spec.rails)
    }
}

/// Name of a rail's interface on every host.
pub fn rail_name(rail: usize) -> String {
    format!("r{rail}")
}

/// Names of the first `rails` rails, as settings take them.
pub fn rail_names(rails: usize) -> String {
    (0..rails).map(rail_name).collect::<Vec<_>>().join(",")
}
