//! Paths: several ways out of one interface, each with addresses and a gateway of its own. A site with one port and two uplinks
//! has them, if routing rules send packets from each address over another uplink.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::{Interface, Network, Verdict, same_network};
use crate::address::is_link_local;
use crate::netlink;

/// Destinations whose routes are compared, at most: hosts with long routing tables have far more, with few gateways.
const MAX_DESTINATIONS: usize = 64;

/// Makes a rail of each path of the interfaces that are rails.
pub fn split(interfaces: Vec<Interface>) -> Vec<Interface> {
    split_with(interfaces, gateways)
}

/// The gateway of packets that leave an interface from an address, if they need one.
pub fn gateway(index: u32, from: IpAddr) -> Option<IpAddr> {
    gateways_of(&destinations(index, from.is_ipv4()), index, from).into_iter().flatten().next()
}

/// `gateways`: for each address of an interface the gateways of its routes to some destinations, which are equal for all addresses.
fn split_with(
    interfaces: Vec<Interface>,
    gateways: impl Fn(u32, &[IpAddr]) -> Vec<Vec<Option<IpAddr>>>,
) -> Vec<Interface> {
    let split_one = |interface: Interface| {
        let wide: Vec<Network> = interface.offered().iter().filter(|own| !is_link_local(&own.ip)).copied().collect();
        if !interface.is_rail() || interface.is_loopback || interface.path.is_some() || wide.len() < 2 {
            return vec![interface];
        }
        for is_ipv4 in [true, false] {
            let (family, others): (Vec<Network>, Vec<Network>) =
                wide.iter().partition(|own| own.ip.is_ipv4() == is_ipv4);
            let groups = grouped(&family, |ips| gateways(interface.index, ips));
            if groups.len() > 1 {
                return paths_of(&interface, groups, others);
            }
        }
        vec![interface]
    };
    interfaces.into_iter().flat_map(split_one).collect()
}

/// Groups addresses by gateway: two are apart if they reach a destination by different gateways. The least address comes first,
/// so that hosts with similar numbers pair alike. A missing gateway, where routes lead out elsewhere or nowhere, separates none.
fn grouped(family: &[Network], gateways: impl Fn(&[IpAddr]) -> Vec<Vec<Option<IpAddr>>>) -> Vec<Vec<Network>> {
    if family.len() < 2 {
        return vec![family.to_vec()];
    }
    let mut family = family.to_vec();
    family.sort_by_key(|own| own.ip);
    let ips: Vec<IpAddr> = family.iter().map(|own| own.ip).collect();
    let mut groups: Vec<(Vec<Option<IpAddr>>, Vec<Network>)> = Vec::new();
    for (own, gateways) in family.into_iter().zip(gateways(&ips)) {
        match groups.iter_mut().find(|(others, _)| !differ(others, &gateways)) {
            Some((others, group)) => {
                others.iter_mut().zip(gateways).for_each(|(known, new)| *known = known.or(new));
                group.push(own);
            }
            None => groups.push((gateways, vec![own])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn differ(a: &[Option<IpAddr>], b: &[Option<IpAddr>]) -> bool {
    a.iter().zip(b).any(|(a, b)| a.zip(*b).is_some_and(|(a, b)| a != b))
}

/// A rail for each group. Addresses of the other family go to the first one, as their path is unknown;
/// link-local addresses go to none, as all paths would share them.
fn paths_of(interface: &Interface, groups: Vec<Vec<Network>>, others: Vec<Network>) -> Vec<Interface> {
    let mut others = Some(others);
    let path = |group: Vec<Network>| Interface {
        path: Some(group[0].ip),
        verdict: Verdict::Rail([group, others.take().unwrap_or_default()].concat()),
        ..interface.clone()
    };
    groups.into_iter().map(path).collect()
}

/// The gateways of packets from each of these addresses of an interface. Without routing rules for any of them, all have equal gateways.
fn gateways(index: u32, own: &[IpAddr]) -> Vec<Vec<Option<IpAddr>>> {
    let is_ipv4 = own.iter().all(IpAddr::is_ipv4);
    let rules = netlink::rule_sources(is_ipv4).unwrap_or_default();
    let has_rule = own.iter().any(|own| rules.iter().any(|(network, prefix)| same_network(*network, *own, *prefix)));
    let to = if has_rule { destinations(index, is_ipv4) } else { Vec::new() };
    own.iter().map(|from| gateways_of(&to, index, *from)).collect()
}

fn gateways_of(destinations: &[IpAddr], index: u32, from: IpAddr) -> Vec<Option<IpAddr>> {
    let route = |to: &IpAddr| netlink::route(from, *to).ok().filter(|route| route.device == index)?.gateway;
    destinations.iter().map(route).collect()
}

/// An address in each network that a route over the interface leads to.
fn destinations(index: u32, is_ipv4: bool) -> Vec<IpAddr> {
    let networks = netlink::routed_networks(is_ipv4, index, MAX_DESTINATIONS).unwrap_or_default();
    let all: BTreeSet<IpAddr> = networks.iter().map(|network| representative(*network)).collect();
    all.into_iter().collect()
}

/// An address that represents a destination network. For a default route any host address does; a network of one or two hosts is
/// represented by its own address.
fn representative((network, prefix): (IpAddr, u8)) -> IpAddr {
    match network {
        IpAddr::V4(_) if prefix >= 31 => network,
        IpAddr::V6(_) if prefix >= 127 => network,
        IpAddr::V4(v4) if v4.octets()[0] == 0 => IpAddr::from([64, 0, 2, 1]),
        IpAddr::V6(v6) if v6.segments()[0] == 0 => IpAddr::from([0x2000, 0, 0, 0, 0, 0, 0, 1]),
        IpAddr::V4(v4) => IpAddr::from((u32::from(v4) | 1).to_be_bytes()),
        IpAddr::V6(v6) => IpAddr::from((u128::from(v6) | 1).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::interface;
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// Names and addresses of the rails, where the second number of an address of IPv4 decides which gateways its routes have.
    fn rails(addresses: &[&str]) -> Vec<String> {
        let gateways = |_: u32, own: &[IpAddr]| {
            let one = |own: &IpAddr| match own {
                IpAddr::V4(v4) => vec![None, Some(IpAddr::from([10, v4.octets()[1], 0, 254]))],
                IpAddr::V6(_) => vec![Some(ip("fd00::fe"))],
            };
            own.iter().map(one).collect()
        };
        let shown = |rail: &Interface| {
            let own: Vec<String> = rail.offered().iter().map(|own| own.ip.to_string()).collect();
            format!("{}: {}", rail.rail_name(), own.join(" "))
        };
        split_with(vec![interface("eth0", &[], addresses)], gateways).iter().map(shown).collect()
    }

    #[test]
    fn addresses_by_different_gateways_are_paths_in_the_order_of_their_numbers() {
        let two = ["eth0/10.1.0.5: 10.1.0.5", "eth0/10.2.0.5: 10.2.0.5"];
        assert_eq!(rails(&["10.2.0.5/24", "10.1.0.5/24"]), two);
        assert_eq!(rails(&["10.1.0.5/24", "10.2.0.5/24", "fe80::1/64"]), two, "all links have this network");
        let three = ["eth0/10.1.0.5: 10.1.0.5 10.1.0.6", "eth0/10.2.0.5: 10.2.0.5"];
        assert_eq!(rails(&["10.1.0.6/24", "10.1.0.5/24", "10.2.0.5/24"]), three);
        let both = ["eth0/10.1.0.5: 10.1.0.5 fd00::1", "eth0/10.2.0.5: 10.2.0.5"];
        assert_eq!(rails(&["10.1.0.5/24", "10.2.0.5/24", "fd00::1/64"]), both);
    }

    #[test]
    fn addresses_by_one_gateway_are_those_of_their_interface() {
        assert_eq!(rails(&["10.1.0.5/24", "10.1.1.5/24"]), ["eth0: 10.1.0.5 10.1.1.5"]);
        assert_eq!(rails(&["10.1.0.5/24", "fd00::1/64", "fd00::2/64"]), ["eth0: 10.1.0.5 fd00::1 fd00::2"]);
    }

    #[test]
    fn an_address_whose_routes_lead_elsewhere_is_no_path_of_its_own() {
        let gateways = |_: u32, own: &[IpAddr]| {
            let has_one = |own: &IpAddr| (*own != ip("10.1.0.6")).then(|| ip("10.1.0.254"));
            own.iter().map(|own| vec![has_one(own), None]).collect()
        };
        let eth0 = interface("eth0", &[], &["10.1.0.5/24", "10.1.0.6/24"]);
        assert_eq!(split_with(vec![eth0], gateways).len(), 1);
    }

    #[test]
    fn without_rules_there_are_no_paths() {
        let own = [ip("127.0.0.1"), ip("127.0.0.2")];
        assert_eq!(gateways(1, &own), [vec![], vec![]]);
        assert_eq!(gateway(1, own[0]), None);
    }

    #[test]
    fn an_address_stands_for_its_network() {
        for (network, prefix, one) in [
            ("0.0.0.0", 0, "64.0.2.1"),
            ("10.1.0.0", 16, "10.1.0.1"),
            ("10.9.0.4", 32, "10.9.0.4"),
            ("::", 0, "2000::1"),
            ("fd00::", 64, "fd00::1"),
            ("fd00::4", 128, "fd00::4"),
        ] {
            assert_eq!(representative((ip(network), prefix)), ip(one), "{network}");
        }
    }
}
