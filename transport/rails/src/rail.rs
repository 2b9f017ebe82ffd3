//! A rail: one independent way out of this host.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use crate::address::is_scoped;
use crate::discover::{Class, Interface, Network};
use crate::listen::Place;

/// Length of the longest name, in bytes: an interface, a slash, and an IPv6 address.
pub const MAX_RAIL_NAME_LEN: usize = 15 + 1 + 39;

/// A rail of this endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Rail {
    /// Its name: the interface, with the address if it is a path (`eth0/10.1.0.5`).
    pub name: String,
    /// Name of the interface.
    pub interface: String,
    /// The kernel's number of it.
    pub index: u32,
    /// It is one of several paths over its interface: only packets to and from its addresses.
    pub is_path: bool,
    /// Its addresses, those that peers likeliest reach first; at least one.
    pub addresses: Vec<Network>,
    /// It leads to no other host itself; others may reach its address over other interfaces.
    pub is_loopback: bool,
    /// Bytes per second, where the driver says.
    pub speed: Option<f64>,
    /// Its class; all but the first are in reserve.
    pub class: Class,
}

impl Rail {
    /// The rails among `interfaces`, in their order, including those in reserve.
    pub fn all(interfaces: &[Interface]) -> Vec<Rail> {
        let rail = |interface: &Interface| Rail {
            name: interface.rail_name(),
            interface: interface.name.clone(),
            is_path: interface.path.is_some(),
            index: interface.index,
            addresses: interface.offered().to_vec(),
            is_loopback: interface.is_loopback,
            speed: interface.speed_mbps.map(|mbps| mbps as f64 * 1e6 / 8.0),
            class: interface.class().unwrap_or_default(),
        };
        interfaces.iter().filter(|interface| interface.class().is_some()).map(rail).collect()
    }

    /// The rails that are not in reserve, which come first in `rails`.
    pub fn preferred(rails: &[Rail]) -> &[Rail] {
        &rails[..rails.iter().take_while(|rail| rail.class == Class::Rail).count()]
    }

    /// Its name for messages.
    pub fn describe(&self) -> String {
        match self.class {
            Class::Rail => format!("rail {}", self.name),
            _ => format!("interface {} in reserve", self.name),
        }
    }

    /// Whether other hosts cannot reach any of its addresses.
    pub fn is_of_host_alone(&self) -> bool {
        self.addresses.iter().all(|own| own.ip.is_loopback())
    }

    /// The address that is shown to users.
    pub fn ip(&self) -> IpAddr {
        self.addresses[0].ip
    }

    /// The interface to which its sockets are bound; `None` where its address is reached over other interfaces.
    pub fn device(&self) -> Option<&str> {
        (!self.is_loopback).then_some(self.interface.as_str())
    }

    /// The interface whose counters show the bytes of its port. `None` where the interface has several paths, or other interfaces lead
    /// to the rail's address.
    pub fn counted_interface(&self) -> Option<&str> {
        self.device().filter(|_| !self.is_path)
    }

    /// Interface and addresses that it listens at.
    pub(crate) fn place(&self) -> Place<'_> {
        let addresses = if self.is_path { self.addresses.iter().map(|own| own.ip).collect() } else { Vec::new() };
        Place { device: self.device(), addresses }
    }

    /// Whether `other` is this rail in a later survey.
    pub(crate) fn is(&self, other: &Rail) -> bool {
        let is_path = (self.is_path, other.is_path);
        self.index == other.index && (is_path == (false, false) || is_path == (true, true) && self.name == other.name)
    }

    /// The local address for connections to `remote`: one in the same network, else one of at least the same scope.
    pub fn source_for(&self, remote: IpAddr) -> Option<IpAddr> {
        let reach = |ip: &IpAddr| (ip.is_ipv4(), matches!(ip, IpAddr::V6(v6) if is_scoped(v6)));
        let near = self.addresses.iter().find(|own| own.contains(remote));
        let far = || self.addresses.iter().find(|own| reach(&own.ip) == reach(&remote));
        near.or_else(far).map(|own| own.ip)
    }

    /// The socket address of an IP address on this rail: a link-local one needs the interface.
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

    /// Another rail in its network. ARP may then mix up the two interfaces.
    pub fn neighbour<'a>(&self, rails: &'a [Rail]) -> Option<&'a Rail> {
        rails.iter().find(|other| other.index != self.index && self.shares_network(other))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::discover;

    /// A rail over an interface, with addresses as `ip address` writes them.
    pub fn rail(interface: &str, index: u32, addresses: &[&str]) -> Rail {
        let interface = Interface { index, ..discover::tests::interface(interface, &[], addresses) };
        Rail::all(&[interface]).remove(0)
    }

    fn r7(addresses: &[&str]) -> Rail {
        rail("r7", 7, addresses)
    }

    #[test]
    fn a_path_listens_at_its_addresses_and_an_interface_at_any() {
        let whole = r7(&["10.1.0.5/24"]);
        assert_eq!(whole.place(), Place { device: Some("r7"), addresses: Vec::new() });
        let path = Rail { name: "r7/10.1.0.5".into(), is_path: true, ..whole.clone() };
        assert_eq!(path.place(), Place { device: Some("r7"), addresses: vec!["10.1.0.5".parse().unwrap()] });
        let other = Rail { name: "r7/10.2.0.5".into(), ..path.clone() };
        assert!(path.is(&path) && whole.is(&whole) && !path.is(&other) && !whole.is(&path));
    }

    #[test]
    fn the_address_that_reaches_is_the_source() {
        let rail = r7(&["10.0.0.1/24", "10.1.0.1/24", "fd00::1/64", "fe80::1/64"]);
        for (remote, source) in [
            ("10.1.0.9", Some("10.1.0.1")),
            ("10.2.0.9", Some("10.0.0.1")),
            ("fd01::9", Some("fd00::1")),
            ("fe80::9", Some("fe80::1")),
        ] {
            let source: Option<IpAddr> = source.map(|ip| ip.parse().unwrap());
            assert_eq!(rail.source_for(remote.parse().unwrap()), source, "{remote}");
        }
        assert_eq!(r7(&["10.0.0.1/24"]).source_for("fd01::9".parse().unwrap()), None);
    }

    #[test]
    fn an_interface_in_reserve_is_not_called_a_rail() {
        let own = r7(&["10.1.0.5/24"]);
        let reserve = Rail { class: Class::Virtual, ..own.clone() };
        assert_eq!([own, reserve].map(|rail| rail.describe()), ["rail r7", "interface r7 in reserve"]);
    }

    #[test]
    fn addresses_of_a_link_name_the_interface() {
        let rail = r7(&["fe80::1/64"]);
        assert_eq!(rail.at("fe80::9".parse().unwrap(), 5).to_string(), "[fe80::9%7]:5");
        assert_eq!(rail.at("fd00::9".parse().unwrap(), 5).to_string(), "[fd00::9]:5");
        assert!(!rail.shares_network(&r7(&["fe80::2/64"])), "every link has this network");
    }
}
