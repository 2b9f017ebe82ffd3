//! A rail: one independent way out of this host.

use std::net::IpAddr;

/// A rail of this endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Rail {
    /// Name of the interface.
    pub name: String,
    /// Its address.
    pub ip: IpAddr,
    /// Prefix length of its network.
    pub prefix: u8,
    /// Bytes per second, where the driver says.
    pub speed: Option<f64>,
}
