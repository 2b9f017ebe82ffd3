//! The automatic choice: which interfaces are rails where the user has named none.

use super::{Class, Interface, Verdict, is_global};
use crate::address::is_link_local;
use crate::sys::interface::Facts;

/// Drivers of interfaces that lead only to this machine, or over another interface.
const VIRTUAL_DRIVERS: &[(&str, &str)] = &[
    ("bridge", "a bridge of this machine"),
    ("tun", "a tunnel"),
    (DUMMY, "a dummy"),
    ("ifb", INTERMEDIATE),
    ("openvswitch", "a bridge of this machine"),
];

/// Reason for interfaces that lead to this host alone.
const LOOPBACK: &str = "loopback";
/// The driver of dummy interfaces, which lead nowhere, and may have an address of the host as loopback may.
pub const DUMMY: &str = "dummy";
/// Reason for interfaces that lead nowhere.
const INTERMEDIATE: &str = "an intermediate device";

/// Names that container and virtual-machine managers give to the interfaces of their private networks.
const CONTAINER_PREFIXES: &[&str] =
    &["docker", "br-", "virbr", "vnet", "cni", "flannel", "cali", "cilium", "lxc", "lxd", "podman", "kube"];

/// Interfaces that lead out are rails, also those that are down, as they may come up. Link-local addresses count only where no
/// interface that is up has others. Where all addresses of such interfaces are link-local, a global address of loopback is the
/// host's. Where there is no such interface either, nor one that may get an address, others become rails: tunnels and bridges,
/// then interfaces of containers, last loopback for this host alone.
///
/// An interface that is left out is kept in reserve if it may lead to a peer that no rail leads to.
pub fn choose(interfaces: &mut [Interface]) {
    let leads_out = |interface: &&Interface| interface.left_out.is_none() && interface.is_rail() && interface.is_up();
    let up: Vec<bool> = interfaces.iter().filter(leads_out).map(has_wide_address).collect();
    let is_loopback = |interface: &Interface| interface.left_out.as_deref() == Some(LOOPBACK);
    let has_host_address = |interface: &&Interface| is_loopback(interface) && !interface.is_of_host_alone();
    let is_host = !up.contains(&true) && interfaces.iter().any(|interface| has_host_address(&interface));
    let any_can_be =
        interfaces.iter().any(|one| one.left_out.is_none() && (one.is_rail() || one.may_get_address)) || is_host;
    let better = if any_can_be { None } else { interfaces.iter().filter_map(makeshift).min() };
    let (any_is_up, any_is_wide) = (!up.is_empty() || is_host || better.is_some(), up.contains(&true) || is_host);
    for interface in interfaces {
        interface.may_get_address &= interface.left_out.is_none();
        if !interface.is_rail() {
            continue;
        }
        let reason = match &interface.left_out {
            Some(_) if is_loopback(interface) && (!any_is_up || is_host && has_host_address(&&*interface)) => None,
            Some(_) if better.is_some() && makeshift(interface) == better => None,
            Some(reason) => Some(reason.clone()),
            None if any_is_wide && !has_wide_address(interface) => {
                Some("its addresses are of its link alone, and others have more".into())
            }
            None => None,
        };
        if let Some(reason) = reason {
            interface.verdict = match class(interface) {
                Some(class) => Verdict::Reserve { offered: interface.offered().to_vec(), class, reason },
                None => Verdict::Excluded(reason),
            };
        }
    }
}

/// Rank of a left-out interface as a makeshift rail: the least is best.
fn makeshift(interface: &Interface) -> Option<Class> {
    let can_be = |class: &Class| interface.is_rail() && [Class::Virtual, Class::OfContainers].contains(class);
    class(interface).filter(can_be)
}

/// The class of an interface in reserve; `None` if it carries nothing now, or leads nowhere.
fn class(interface: &Interface) -> Option<Class> {
    let class = match &interface.left_out {
        None => return interface.is_up().then_some(Class::OfLink),
        Some(reason) if reason == INTERMEDIATE => return None,
        Some(_) if of_containers(&interface.name).is_some() => Class::OfContainers,
        Some(_) if interface.is_loopback => Class::OfHost,
        Some(_) => Class::Virtual,
    };
    (interface.is_up() && interface.addresses.iter().any(|own| is_global(&own.ip))).then_some(class)
}

/// Whether it has an address that is not link-local.
fn has_wide_address(interface: &Interface) -> bool {
    interface.addresses.iter().any(|address| !is_link_local(&address.ip))
}

/// The prefix of its name, if it is one that managers of containers and virtual machines use.
fn of_containers(name: &str) -> Option<&'static str> {
    CONTAINER_PREFIXES.iter().find(|prefix| name.starts_with(**prefix)).copied()
}

/// Why an interface that could carry traffic is not chosen unless it is named.
pub fn reason_to_leave_out(name: &str, facts: &Facts) -> Option<String> {
    if facts.loopback {
        return Some(LOOPBACK.into());
    }
    if let Some((_, what)) = VIRTUAL_DRIVERS.iter().find(|(driver, _)| *driver == facts.driver) {
        return Some((*what).into());
    }
    if facts.point_to_point {
        return Some("a tunnel".into());
    }
    let prefix = of_containers(name)?;
    Some(format!("named {prefix}... as by a container or virtual-machine manager"))
}

#[cfg(test)]
mod tests {
    use super::super::tests;
    use super::*;

    fn interface(name: &str, left_out: Option<&str>, address: &str) -> Interface {
        let is_loopback = matches!(left_out, Some("loopback" | "a dummy"));
        let left_out = left_out.map(String::from);
        Interface { left_out, is_loopback, ..tests::interface(name, &[], &[&format!("{address}/24")]) }
    }

    /// Interfaces in reserve, with their classes.
    fn reserve(mut interfaces: Vec<Interface>) -> Vec<(String, Class)> {
        choose(&mut interfaces);
        let in_reserve = interfaces.iter().filter(|one| !one.is_rail());
        in_reserve.filter_map(|one| Some((one.name.clone(), one.class()?))).collect()
    }

    fn chosen(mut interfaces: Vec<Interface>) -> Vec<String> {
        choose(&mut interfaces);
        interfaces.into_iter().filter(Interface::is_rail).map(|rail| rail.name).collect()
    }

    fn host() -> Vec<Interface> {
        vec![
            interface("lo", Some("loopback"), "127.0.0.1"),
            interface("docker0", Some("a bridge of this machine"), "172.17.0.1"),
            interface("dummy0", Some("a dummy"), "10.3.0.1"),
        ]
    }

    #[test]
    fn an_excluded_interface_is_used_where_there_is_no_other() {
        let with = |more: Vec<Interface>| chosen(host().into_iter().chain(more).collect());
        let (tunnel, bridge) = ("a tunnel", "a bridge of this machine");
        let vpn = || interface("wg0", Some(tunnel), "10.8.0.1");
        let bridge = || interface("br0", Some(bridge), "10.9.0.1");
        assert_eq!(with(vec![]), ["docker0"]);
        assert_eq!(with(vec![vpn()]), ["wg0"]);
        assert_eq!(with(vec![vpn(), bridge()]), ["wg0", "br0"]);
        assert_eq!(with(vec![vpn(), interface("eth0", None, "10.0.0.1")]), ["eth0"]);
        // It may get an address.
        let mut coming = interface("eth0", None, "10.0.0.1");
        (coming.verdict, coming.may_get_address) = (Verdict::Excluded("it has no address".into()), true);
        assert_eq!(with(vec![vpn(), coming]), ["lo"]);
    }

    #[test]
    fn an_excluded_interface_that_may_lead_to_a_peer_is_in_reserve() {
        let eth0 = || interface("eth0", None, "10.0.0.1");
        let with = |one: Interface| reserve(vec![eth0(), one]).first().map(|(_, class)| *class);
        for (name, left_out, address, class) in [
            ("wg0", "a tunnel", "10.8.0.1", Some(Class::Virtual)),
            ("tun0", "a tunnel", "fd08::1", Some(Class::Virtual)),
            ("br0", "a bridge of this machine", "10.9.0.1", Some(Class::Virtual)),
            ("docker0", "a bridge of this machine", "172.17.0.1", Some(Class::OfContainers)),
            ("flannel.1", "named flannel... as by a container", "10.244.0.0", Some(Class::OfContainers)),
            ("lo", "loopback", "10.255.0.1", Some(Class::OfHost)),
            ("dummy0", "a dummy", "10.255.0.1", Some(Class::OfHost)),
            ("kube-ipvs0", "a dummy", "10.96.0.1", Some(Class::OfContainers)),
            ("lo", "loopback", "127.0.0.1", None),
            ("ifb0", "an intermediate device", "10.7.0.1", None),
            ("cali1", "named cali... as by a container", "169.254.1.1", None),
        ] {
            assert_eq!(with(interface(name, Some(left_out), address)), class, "{name} {address}");
        }
        assert_eq!(with(interface("eth1", None, "169.254.3.1")), Some(Class::OfLink));
        assert_eq!(with(interface("eth1", None, "10.1.0.1")), None, "that is a rail");
        let down = Interface { outage: Some("is down"), ..interface("wg0", Some("a tunnel"), "10.8.0.1") };
        assert_eq!(with(down), None);
        let bridge = || interface("br0", Some("a bridge of this machine"), "10.9.0.1");
        assert_eq!(reserve([host(), vec![bridge()]].concat()).len(), 2, "docker0 and the dummy: the bridge is a rail");
    }

    #[test]
    fn an_address_of_the_host_counts_where_links_have_none() {
        let lo = || interface("lo", Some("loopback"), "10.255.0.1");
        assert_eq!(chosen(vec![lo(), interface("eth0", None, "fe80::1")]), ["lo"]);
        assert_eq!(chosen(vec![lo(), interface("eth0", None, "10.0.0.1")]), ["eth0"]);
    }
}
