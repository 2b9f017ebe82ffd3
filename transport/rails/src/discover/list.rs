//! The interfaces of this host, from the kernel.

use std::net::{IpAddr, Ipv6Addr};

use super::choice::{DUMMY, reason_to_leave_out};
use super::{DiscoverError, Interface, Network, Verdict, is_global};
use crate::address::{MAX_RAIL_ADDRESSES, is_link_local};
use crate::netlink;
use crate::sys::interface;

/// Flags in /proc/net/if_inet6: the address changes soon (RFC 8981), is not for new connections, or is a duplicate
/// (`IFA_F_TEMPORARY`, `IFA_F_DEPRECATED`, `IFA_F_DADFAILED` of linux/if_addr.h).
const FLEETING: u8 = 0x01 | 0x20 | 0x08;

/// All interfaces. Each one with an address is a rail so far.
pub fn list() -> Result<Vec<Interface>, DiscoverError> {
    let addresses = if_addrs::get_if_addrs().map_err(|error| DiscoverError::System(error.to_string()))?;
    let links = netlink::links().unwrap_or_default();
    let fleeting = fleeting(&std::fs::read_to_string("/proc/self/net/if_inet6").unwrap_or_default());
    let mut names: Vec<String> = Vec::new();
    let addressed = addresses.iter().map(|address| base_name(&address.name).to_string());
    for name in addressed.chain(interface::names()).chain(links.iter().map(|link| link.name.clone())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let describe = |name: &String| {
        let own = addresses.iter().filter(|address| base_name(&address.name) == name);
        let networks = own.map(network).filter(|network| !fleeting.contains(&network.ip));
        describe(name, networks.collect(), &links)
    };
    Ok(names.iter().map(describe).collect())
}

fn describe(name: &str, mut addresses: Vec<Network>, links: &[netlink::Link]) -> Interface {
    addresses.sort_by_key(|address| (is_link_local(&address.ip), address.ip.is_ipv6()));
    addresses.dedup();
    addresses.truncate(MAX_RAIL_ADDRESSES);
    let facts = interface::facts(name);
    let link = links.iter().find(|link| link.name == name).cloned().unwrap_or_default();
    let owner = links.iter().find(|other| Some(other.index) == link.master);
    let is_wide = addresses.iter().any(|address| !is_link_local(&address.ip));
    let verdict = match (&facts, owner) {
        (Err(error), _) => Verdict::Excluded(format!("the kernel does not describe it: {error}")),
        (Ok(_), Some(owner)) if !is_wide => Verdict::Excluded(format!("it is a part of {}", owner.name)),
        (Ok(_), _) if addresses.is_empty() => Verdict::Excluded("it has no address".into()),
        (Ok(facts), _) if facts.loopback && addresses.iter().any(|address| is_global(&address.ip)) => {
            Verdict::Rail(addresses.iter().filter(|address| is_global(&address.ip)).copied().collect())
        }
        (Ok(_), _) => Verdict::Rail(addresses.clone()),
    };
    let is_led_out = |facts: &interface::Facts| {
        leads_out_by_a_port(facts, &link, links, |port| interface::facts(port).is_ok_and(|facts| facts.is_physical))
    };
    Interface {
        name: name.to_string(),
        index: facts.as_ref().map_or(link.index, |facts| facts.index),
        path: None,
        altnames: link.altnames.clone(),
        is_loopback: facts.as_ref().is_ok_and(|facts| facts.loopback || facts.driver == DUMMY),
        left_out: (facts.as_ref().ok())
            .filter(|facts| !is_led_out(facts))
            .and_then(|facts| reason_to_leave_out(name, facts)),
        may_get_address: !is_wide && owner.is_none() && facts.is_ok(),
        addresses,
        speed_mbps: facts.as_ref().ok().and_then(|facts| facts.speed_mbps),
        mtu: facts.as_ref().map_or(0, |facts| facts.mtu),
        outage: facts.as_ref().ok().and_then(outage),
        verdict,
    }
}

/// Whether it is a bridge with a physical device as a port, as on hosts of virtual machines. All Open vSwitch bridges share one
/// datapath, which owns their ports.
fn leads_out_by_a_port(
    facts: &interface::Facts,
    bridge: &netlink::Link,
    links: &[netlink::Link],
    is_physical: impl Fn(&str) -> bool,
) -> bool {
    let of_switch = links.iter().find(|link| link.name == OPEN_VSWITCH).map(|link| link.index);
    let owner = match facts.driver.as_str() {
        "bridge" => Some(bridge.index),
        "openvswitch" => of_switch,
        _ => None,
    };
    owner.is_some() && links.iter().any(|port| port.master == owner && is_physical(&port.name))
}

/// Its datapath, which owns all ports.
const OPEN_VSWITCH: &str = "ovs-system";

pub fn outage(facts: &interface::Facts) -> Option<&'static str> {
    match facts {
        interface::Facts { up: false, .. } => Some("is down"),
        interface::Facts { running: false, .. } => Some("has no carrier"),
        _ => None,
    }
}

/// The interface of an address with a label: `eth0` for `eth0:1`.
fn base_name(label: &str) -> &str {
    label.split_once(':').map_or(label, |(name, _)| name)
}

fn network(address: &if_addrs::Interface) -> Network {
    let prefix = match &address.addr {
        if_addrs::IfAddr::V4(v4) => u32::from(v4.netmask).leading_ones() as u8,
        if_addrs::IfAddr::V6(v6) => u128::from(v6.netmask).leading_ones() as u8,
    };
    Network { ip: address.ip(), prefix }
}

/// Addresses in the text of /proc/net/if_inet6 that peers must not learn.
fn fleeting(table: &str) -> Vec<IpAddr> {
    let address = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let flags = u8::from_str_radix(words.get(4)?, 16).ok()?;
        let ip = Ipv6Addr::from(u128::from_str_radix(words.first()?, 16).ok()?);
        (flags & FLEETING != 0).then_some(IpAddr::V6(ip))
    };
    table.lines().filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_pass_are_distinguished_from_the_others() {
        let table = "00000000000000000000000000000001 01 80 10 80       lo\n\
                     fd000000000000000000000000000001 02 40 00 80       r0\n\
                     fd000000000000000000000000000002 02 40 00 01       r0\n\
                     fd000000000000000000000000000003 02 40 00 20       r0\n";
        assert_eq!(fleeting(table), ["fd00::2", "fd00::3"].map(|ip| ip.parse::<IpAddr>().unwrap()));
    }

    #[test]
    fn a_bridge_with_a_device_as_a_port_leads_out() {
        let link = |index, name: &str, master| netlink::Link { index, name: name.into(), altnames: Vec::new(), master };
        let links = [
            link(1, "br0", None),
            link(2, "eth0", Some(1)),
            link(3, "br1", None),
            link(4, "veth0", Some(3)),
            link(5, "ovs-system", None),
            link(6, "eth1", Some(5)),
            link(7, "br-ex", None),
        ];
        let facts = |driver: &str| interface::Facts {
            index: 1,
            up: true,
            running: true,
            loopback: false,
            point_to_point: false,
            mtu: 1500,
            driver: driver.into(),
            is_physical: false,
            speed_mbps: None,
        };
        let leads_out =
            |at: usize, driver| leads_out_by_a_port(&facts(driver), &links[at], &links, |port| port.starts_with("eth"));
        assert!(leads_out(0, "bridge") && leads_out(6, "openvswitch"));
        assert!(!leads_out(2, "bridge") && !leads_out(1, "e1000e"));
    }

    #[test]
    fn a_label_is_no_interface() {
        assert_eq!(base_name("eth0:1"), "eth0");
        assert_eq!(base_name("enp3s0f1np1"), "enp3s0f1np1");
    }
}
