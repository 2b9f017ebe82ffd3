//! Which network interfaces are rails, and why others are not.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use crate::address::{Address, MAX_RAILS};
use crate::sys::interface;

/// One network interface of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its addresses, those that a rail can use first.
    pub addresses: Vec<IpAddr>,
    /// Prefix lengths of the addresses, in the same order.
    pub prefixes: Vec<u8>,
    /// Mbit/s, where the driver says.
    pub speed_mbps: Option<u64>,
    /// Bytes.
    pub mtu: u32,
    /// Why it can carry nothing at present, if so: it is down, or has no carrier.
    pub outage: Option<&'static str>,
    /// Whether it is a rail.
    pub verdict: Verdict,
}

impl Interface {
    /// Whether it is a rail.
    pub fn is_rail(&self) -> bool {
        matches!(self.verdict, Verdict::Rail(_))
    }

    /// Whether it can carry something at present.
    pub fn is_up(&self) -> bool {
        self.outage.is_none()
    }
}

/// Whether an interface is a rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is, with this address; during an outage, once that ends.
    Rail(IpAddr),
    /// It is not, for this reason.
    Excluded(String),
}

/// The rails that were asked for cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscoverError {
    /// No interface has this name or address.
    Unknown {
        /// What was asked for.
        wanted: String,
        /// What there is.
        present: String,
    },
    /// It cannot carry anything, for this reason.
    Unusable {
        /// What was asked for.
        wanted: String,
        /// Why not.
        reason: String,
    },
    /// The kernel would not list interfaces.
    System(String),
}

impl fmt::Display for DiscoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiscoverError::Unknown { wanted, present } => {
                write!(f, "FISHPLATE_RAILS: no interface is called \"{wanted}\"; there are: {present}")
            }
            DiscoverError::Unusable { wanted, reason } => {
                write!(f, "FISHPLATE_RAILS: interface \"{wanted}\" cannot be a rail: {reason}")
            }
            DiscoverError::System(cause) => write!(f, "the network interfaces cannot be listed: {cause}"),
        }
    }
}

impl std::error::Error for DiscoverError {}

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

/// All interfaces, rails first, in the order in which they are numbered. `wanted` names the rails by interface or
/// address; empty: every interface that is addressed and leads out of the machine, or loopback where none of these is up.
pub fn survey(wanted: &[String]) -> Result<Vec<Interface>, DiscoverError> {
    let mut interfaces = list()?;
    if wanted.is_empty() {
        choose(&mut interfaces);
    } else {
        interfaces = pick(interfaces, wanted)?;
    }
    leave_room(&mut interfaces);
    interfaces.sort_by_key(|interface| !interface.is_rail());
    Ok(interfaces)
}

/// Whether `peer` can be routed to from `rail`'s address. Sends nothing.
pub fn route_to(rail: IpAddr, peer: IpAddr) -> io::Result<()> {
    let socket = UdpSocket::bind(SocketAddr::new(rail, 0))?;
    // The port does not matter: connecting a datagram socket only looks up the route.
    socket.connect(SocketAddr::new(peer, 9))
}

/// Whether two addresses agree in their first `prefix` bits.
pub fn same_network(a: IpAddr, b: IpAddr, prefix: u8) -> bool {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let differ = u32::from(a) ^ u32::from(b);
            differ.leading_zeros() >= u32::from(prefix.min(32))
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            let differ = u128::from(a) ^ u128::from(b);
            differ.leading_zeros() >= u32::from(prefix.min(128))
        }
        _ => false,
    }
}

fn list() -> Result<Vec<Interface>, DiscoverError> {
    let addresses = if_addrs::get_if_addrs().map_err(|error| DiscoverError::System(error.to_string()))?;
    let mut names: Vec<String> = Vec::new();
    for name in addresses.iter().map(|address| address.name.clone()).chain(interface::names()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names.iter().map(|name| describe(name, &addresses)).collect())
}

fn describe(name: &str, all: &[if_addrs::Interface]) -> Interface {
    let mut usable: Vec<(IpAddr, u8)> =
        all.iter().filter(|a| a.name == name && !a.is_link_local()).map(|a| (a.ip(), prefix(&a.addr))).collect();
    usable.sort_by_key(|(ip, _)| ip.is_ipv6());
    let facts = interface::facts(name);
    let verdict = match (&facts, usable.first()) {
        (Err(error), _) => Verdict::Excluded(format!("the kernel does not describe it: {error}")),
        (_, None) if all.iter().any(|address| address.name == name) => {
            Verdict::Excluded("it has no address other than a link-local one".into())
        }
        (_, None) => Verdict::Excluded("it has no address".into()),
        (Ok(_), Some((ip, _))) => Verdict::Rail(*ip),
    };
    Interface {
        name: name.to_string(),
        prefixes: usable.iter().map(|(_, prefix)| *prefix).collect(),
        addresses: usable.into_iter().map(|(ip, _)| ip).collect(),
        speed_mbps: facts.as_ref().ok().and_then(|facts| facts.speed_mbps),
        mtu: facts.as_ref().map_or(0, |facts| facts.mtu),
        outage: facts.as_ref().ok().and_then(outage),
        verdict,
    }
}

fn outage(facts: &interface::Facts) -> Option<&'static str> {
    match facts {
        interface::Facts { up: false, .. } => Some("is down"),
        interface::Facts { running: false, .. } => Some("has no carrier"),
        _ => None,
    }
}

fn prefix(address: &if_addrs::IfAddr) -> u8 {
    match address {
        if_addrs::IfAddr::V4(v4) => u32::from(v4.netmask).leading_ones() as u8,
        if_addrs::IfAddr::V6(v6) => u128::from(v6.netmask).leading_ones() as u8,
    }
}

/// Automatic choice: what leads out, also what is not up, in case it comes up; loopback where nothing is up.
fn choose(interfaces: &mut [Interface]) {
    let rails = interfaces.iter_mut().filter(|interface| interface.is_rail());
    let rails: Vec<_> = rails.map(|rail| (reason_to_leave_out(&rail.name), rail)).collect();
    let any_is_up = rails.iter().any(|(reason, rail)| reason.is_none() && rail.is_up());
    for (reason, rail) in rails {
        let reason = match (reason, rail.outage) {
            (_, Some(outage)) if !any_is_up => Some(format!("it {outage}")),
            (Some(reason), None) if reason == LOOPBACK && !any_is_up => None,
            (reason, _) => reason,
        };
        if let Some(reason) = reason {
            rail.verdict = Verdict::Excluded(reason);
        }
    }
}

/// Leaves out what an endpoint's address has no room for; of what there is room for, what is up comes first.
fn leave_room(interfaces: &mut [Interface]) {
    let mut kept = Vec::new();
    for is_up in [true, false] {
        for interface in interfaces.iter_mut().filter(|interface| interface.is_up() == is_up) {
            let Verdict::Rail(ip) = interface.verdict else { continue };
            kept.push(ip);
            if Address::fitting(&kept) < kept.len() {
                kept.pop();
                let reason = format!("there are {} rails already, of {MAX_RAILS}, or 2 with IPv6, at most", kept.len());
                interface.verdict = Verdict::Excluded(reason);
            }
        }
    }
}

const LOOPBACK: &str = "loopback";

/// Why an interface that could carry traffic is not chosen unless it is named.
fn reason_to_leave_out(name: &str) -> Option<String> {
    let facts = interface::facts(name).ok()?;
    if facts.loopback {
        return Some(LOOPBACK.into());
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

/// The user's choice. One of them at least must be up.
fn pick(interfaces: Vec<Interface>, wanted: &[String]) -> Result<Vec<Interface>, DiscoverError> {
    let present: Vec<&str> = interfaces.iter().map(|interface| interface.name.as_str()).collect();
    let present = present.join(", ");
    let mut rest = interfaces;
    let mut chosen = Vec::new();
    for wanted in wanted {
        let as_address: Option<IpAddr> = wanted.parse().ok();
        let named = |interface: &Interface| {
            interface.name == *wanted || as_address.is_some_and(|ip| interface.addresses.contains(&ip))
        };
        let Some(position) = rest.iter().position(named) else {
            return Err(DiscoverError::Unknown { wanted: wanted.clone(), present });
        };
        let mut interface = rest.remove(position);
        match (&interface.verdict, as_address) {
            (Verdict::Excluded(reason), _) => {
                return Err(DiscoverError::Unusable { wanted: wanted.clone(), reason: reason.clone() });
            }
            (Verdict::Rail(_), Some(ip)) => interface.verdict = Verdict::Rail(ip),
            (Verdict::Rail(_), None) => {}
        }
        chosen.push(interface);
    }
    if let Some(outage) = chosen[0].outage
        && !chosen.iter().any(Interface::is_up)
    {
        return Err(DiscoverError::Unusable { wanted: wanted[0].clone(), reason: format!("it {outage}") });
    }
    for mut interface in rest {
        if interface.is_rail() {
            interface.verdict = Verdict::Excluded("not named by FISHPLATE_RAILS".into());
        }
        chosen.push(interface);
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_can_be_named_by_name_and_by_address() {
        for wanted in ["lo", "127.0.0.1"] {
            let interfaces = survey(&[wanted.to_string()]).unwrap();
            assert_eq!(interfaces[0].verdict, Verdict::Rail("127.0.0.1".parse().unwrap()));
            assert!(interfaces[1..].iter().all(|other| !other.is_rail()));
        }
    }

    #[test]
    fn an_unknown_rail_is_named_beside_what_there_is() {
        let text = survey(&["eth77".into()]).unwrap_err().to_string();
        assert!(text.contains("eth77") && text.contains("lo"), "{text}");
    }

    #[test]
    fn something_is_always_found_and_rails_come_first() {
        let interfaces = survey(&[]).unwrap();
        let rails = interfaces.iter().take_while(|i| i.is_rail()).count();
        assert!(rails > 0);
        assert!(interfaces[rails..].iter().all(|i| !i.is_rail()));
    }

    #[test]
    fn networks_compare_by_prefix() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(same_network(ip("10.1.2.3"), ip("10.1.9.9"), 16));
        assert!(!same_network(ip("10.1.2.3"), ip("10.1.9.9"), 24));
        assert!(same_network(ip("fd00::1"), ip("fd00::2"), 64));
        assert!(!same_network(ip("10.1.2.3"), ip("fd00::2"), 0));
        assert!(same_network(ip("10.1.2.3"), ip("11.1.2.3"), 0));
    }
}
