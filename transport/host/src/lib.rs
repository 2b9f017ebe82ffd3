//! Which host a process is on. Two processes are on the same host if they use the same network interfaces: of one boot of
//! one machine, in one network namespace. Names of hosts are for display only: cloned machines and containers have equal
//! ones, and containers that share the network of their machine have names of their own.

#![forbid(unsafe_code)]

mod host;
mod id;
mod labels;

pub use host::Host;
pub use id::HostId;
pub use labels::Labels;
