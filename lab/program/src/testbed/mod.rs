//! Hosts on one machine, of which [`crate::lab`] makes laboratories.
//!
//! The program starts itself again in process, mount and network namespaces of its own ([`isolate`]), so that the kernel
//! removes every process, link and mount when it ends, even by SIGKILL. In there each host is a process that holds a
//! network and a host name ([`host`]).

pub mod flow_limit;
pub mod host;
pub mod isolate;
pub mod multipath;
pub mod orphans;
pub mod rate;
pub mod shaper_burst;

pub use flow_limit::FlowLimit;
pub use rate::Rate;
pub use shaper_burst::Burst;

/// The interface of the network that is no rail, on every host. A bridge, since no stack takes bridges for rails by
/// itself.
pub const MANAGEMENT: &str = "mgmt";

/// Most rails: as many as an endpoint of the provider has.
pub const MAX_RAILS: usize = 8;

/// Name of a rail's interface on every host.
pub fn rail_name(rail: usize) -> String {
    format!("r{rail}")
}

/// Names of the first `rails` rails, as settings take them.
pub fn rail_names(rails: usize) -> String {
    (0..rails).map(rail_name).collect::<Vec<_>>().join(",")
}
