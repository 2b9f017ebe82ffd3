//! The automatic choice: which interfaces are rails where nobody has named any.

use super::{Interface, Verdict};
use crate::address::is_link_local;
use crate::sys::interface::Facts;

/// Drivers of interfaces that lead no further than this machine, or over another interface.
const VIRTUAL_DRIVERS: &[(&str, &str)] = &[
    ("bridge", "a bridge of this machine"),
    ("tun", "a tunnel"),
    ("dummy", "a dummy"),
    ("ifb", "an intermediate device"),
    ("openvswitch", "a bridge of this machine"),
];

/// Names that container and virtual-machine managers give to the interfaces of their private networks.
const CONTAINER_PREFIXES: &[&str] =
    &["docker", "br-", "virbr", "vnet", "cni", "flannel", "cali", "cilium", "lxc", "lxd", "podman", "kube"];

/// What leads out is a rail, also what is not up, in case it comes up. Addresses of a link alone count where nothing that is
/// up has others. Where no such interface has an address of more than its link, one of loopback that others can have a
/// route to is the host's; where there is none at all, nor one that may get an address, what else is there is better than
/// nothing: tunnels and bridges, then what containers have, last loopback for this host alone.
pub fn choose(interfaces: &mut [Interface]) {
    let leads_out = |interface: &&Interface| interface.left_out.is_none() && interface.is_rail() && interface.is_up();
    let up: Vec<bool> = interfaces.iter().filter(leads_out).map(has_wide_address).collect();
    let has_host_address = |interface: &&Interface| interface.is_loopback && !interface.is_of_host_alone();
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
            Some(_) if interface.is_loopback && (!any_is_up || is_host && has_host_address(&&*interface)) => None,
            Some(_) if better.is_some() && makeshift(interface) == better => None,
            Some(reason) => Some(reason.clone()),
            None if any_is_wide && !has_wide_address(interface) => {
                Some("its addresses are of its link alone, and others have more".into())
            }
            None => None,
        };
        if let Some(reason) = reason {
            interface.verdict = Verdict::Excluded(reason);
        }
    }
}

/// How good an interface is that is left out, but for want of others: the least is best.
fn makeshift(interface: &Interface) -> Option<usize> {
    let reason = interface.left_out.as_ref()?;
    let never = interface.is_loopback || NEVER.contains(&reason.as_str());
    let can_be = interface.is_rail() && interface.is_up() && has_wide_address(interface);
    (can_be && !never).then_some(usize::from(of_containers(&interface.name).is_some()))
}

/// Whether it has an address that means something beyond its link.
fn has_wide_address(interface: &Interface) -> bool {
    interface.addresses.iter().any(|address| !is_link_local(&address.ip))
}

/// How its name begins, if it is one that managers of containers and virtual machines give.
fn of_containers(name: &str) -> Option<&'static str> {
    CONTAINER_PREFIXES.iter().find(|prefix| name.starts_with(**prefix)).copied()
}

/// What leads nowhere, by the reason to leave it out.
const NEVER: [&str; 2] = ["a dummy", "an intermediate device"];

/// Why an interface that could carry traffic is not chosen unless it is named.
pub fn reason_to_leave_out(name: &str, facts: &Facts) -> Option<String> {
    if facts.loopback {
        return Some("loopback".into());
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
        let left_out = left_out.map(String::from);
        Interface { left_out, ..tests::interface(name, &[], &[&format!("{address}/24")]) }
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
    fn what_is_left_out_is_better_than_nothing() {
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
    fn an_address_of_the_host_counts_where_links_have_none() {
        let lo = || interface("lo", Some("loopback"), "10.255.0.1");
        assert_eq!(chosen(vec![lo(), interface("eth0", None, "fe80::1")]), ["lo"]);
        assert_eq!(chosen(vec![lo(), interface("eth0", None, "10.0.0.1")]), ["eth0"]);
    }
}
