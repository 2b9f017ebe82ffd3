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

/// What leads out is a rail, also what is not up, in case it comes up; loopback where nothing is up. Addresses of a link
/// alone count where nothing that is up has others.
pub fn choose(interfaces: &mut [Interface]) {
    let leads_out = |interface: &&Interface| interface.left_out.is_none() && interface.is_rail() && interface.is_up();
    let up: Vec<bool> = interfaces.iter().filter(leads_out).map(has_wide_address).collect();
    let (any_is_up, any_is_wide) = (!up.is_empty(), up.contains(&true));
    for interface in interfaces {
        interface.may_get_address &= interface.left_out.is_none();
        if !interface.is_rail() {
            continue;
        }
        let reason = match &interface.left_out {
            Some(_) if interface.is_loopback && !any_is_up => None,
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

/// Whether it has an address that means something beyond its link.
fn has_wide_address(interface: &Interface) -> bool {
    interface.addresses.iter().any(|address| !is_link_local(&address.ip))
}

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
    let prefix = CONTAINER_PREFIXES.iter().find(|prefix| name.starts_with(**prefix))?;
    Some(format!("named {prefix}... as by a container or virtual-machine manager"))
}
