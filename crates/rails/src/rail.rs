//! A rail: one independent way out of this host.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use crate::address::is_scoped;
use crate::discover::{Interface, Network};

/// A rail of this endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Rail {
    /// Name of the interface.
    pub name: String,
    /// The kernel's number of it.
    pub index: u32,
    /// Its addresses, those that peers are likeliest to reach first; one at least.
    pub addresses: Vec<Network>,
    /// It leads to no other host by itself; an address of it may, over other interfaces.
    pub is_loopback: bool,
    /// Bytes per second, where the driver says.
    pub speed: Option<f64>,
}

impl Rail {
    /// Those among `interfaces`, in their order.
    pub fn all(interfaces: &[Interface]) -> Vec<Rail> {
        let rail = |interface: &Interface| Rail {
            name: interface.name.clone(),
            index: interface.index,
            addresses: interface.offered().to_vec(),
            is_loopback: interface.is_loopback,
            speed: interface.speed_mbps.map(|mbps| mbps as f64 * 1e6 / 8.0),
        };
        interfaces.iter().filter(|interface| interface.is_rail()).map(rail).collect()
    }

    /// The address that stands for it in what users see.
    pub fn ip(&self) -> IpAddr {
        self.addresses[0].ip
    }

    /// The interface to which its sockets are bound; none where its address is reached over others.
    pub fn device(&self) -> Option<&str> {
        (!self.is_loopback).then_some(self.name.as_str())
    }

    /// The address from which it talks to `remote`: one of the same network, else one that reaches as far.
    pub fn source_for(&self, remote: IpAddr) -> Option<IpAddr> {
        let reach = |ip: &IpAddr| (ip.is_ipv4(), matches!(ip, IpAddr::V6(v6) if is_scoped(v6)));
        let near = self.addresses.iter().find(|own| own.contains(remote));
        let far = || self.addresses.iter().find(|own| reach(&own.ip) == reach(&remote));
        near.or_else(far).map(|own| own.ip)
    }

    /// The socket address of an IP address on this rail: what is of a link alone needs an interface.
    pub fn at(&self, ip: IpAddr, port: u16) -> SocketAddr {
        match ip {
            IpAddr::V6(v6) if is_scoped(&v6) => SocketAddrV6::new(v6, port, 0, self.index).into(),
            _ => SocketAddr::new(ip, port),
        }
    }

    /// Whether it has an address in a network of another rail.
    pub fn shares_network(&self, other: &Rail) -> bool {
        self.addresses.iter().any(|own| other.addresses.iter().any(|theirs| own.contains(theirs.ip)))
    }

    /// Another one among `rails` in whose network it is. Then hosts may take one interface for the other.
    pub fn neighbour<'a>(&self, rails: &'a [Rail]) -> Option<&'a Rail> {
        rails.iter().find(|other| other.index != self.index && self.shares_network(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rail(addresses: &[(&str, u8)]) -> Rail {
        let addresses = addresses.iter().map(|(ip, prefix)| Network { ip: ip.parse().unwrap(), prefix: *prefix });
        Rail { name: "r7".into(), index: 7, addresses: addresses.collect(), is_loopback: false, speed: None }
    }

    #[test]
    fn the_address_that_reaches_is_the_source() {
        let rail = rail(&[("10.0.0.1", 24), ("10.1.0.1", 24), ("fd00::1", 64), ("fe80::1", 64)]);
        for (remote, source) in [
            ("10.1.0.9", Some("10.1.0.1")),
            ("10.2.0.9", Some("10.0.0.1")),
            ("fd01::9", Some("fd00::1")),
            ("fe80::9", Some("fe80::1")),
        ] {
            let source: Option<IpAddr> = source.map(|ip| ip.parse().unwrap());
            assert_eq!(rail.source_for(remote.parse().unwrap()), source, "{remote}");
        }
        assert_eq!(self::rail(&[("10.0.0.1", 24)]).source_for("fd01::9".parse().unwrap()), None);
    }

    #[test]
    fn addresses_of_a_link_name_the_interface() {
        let rail = rail(&[("fe80::1", 64)]);
        assert_eq!(rail.at("fe80::9".parse().unwrap(), 5).to_string(), "[fe80::9%7]:5");
        assert_eq!(rail.at("fd00::9".parse().unwrap(), 5).to_string(), "[fd00::9]:5");
        assert!(!rail.shares_network(&self::rail(&[("fe80::2", 64)])), "every link has this network");
    }
}
