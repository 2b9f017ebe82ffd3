//! Which network interfaces are rails, with which addresses, and why others are not.

mod choice;
mod class;
mod host_address;
mod list;
mod near;
mod paths;
mod wanted;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use fishplate_rails_ofi::wanted::Wanted;

use host_address::Routes;

pub use class::Class;
pub use paths::gateway;
pub use wanted::{are_named, is_word};

use crate::address::{MAX_RAILS, is_link_local};
use crate::netlink;

/// One network interface of this node, or one of several paths over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The kernel's number of it.
    pub index: u32,
    /// It is one of its paths: that of this address.
    pub path: Option<IpAddr>,
    /// Other names that it has.
    pub altnames: Vec<String>,
    /// It leads to no other host itself (loopback, a dummy); others may have a route to one of its addresses.
    pub is_loopback: bool,
    /// Why it is no rail unless the user names it, or there are no others; `None` if it may be one.
    pub left_out: Option<String>,
    /// Its addresses, those that peers likeliest reach first.
    pub addresses: Vec<Network>,
    /// Mbit/s, where the driver says.
    pub speed_mbps: Option<u64>,
    /// Bytes.
    pub mtu: u32,
    /// Why it can carry nothing at present (it is down, or has no carrier); `None` if it can.
    pub outage: Option<&'static str>,
    /// Whether it is a rail.
    pub verdict: Verdict,
    /// Whether the automatic choice makes it a rail once it has an address.
    pub may_get_address: bool,
}

impl Interface {
    /// Its name as a rail: `eth0`, or for a path over it `eth0/10.1.0.5`.
    pub fn rail_name(&self) -> String {
        self.path.map_or_else(|| self.name.clone(), |ip| format!("{}/{ip}", self.name))
    }

    /// Whether it is a rail.
    pub fn is_rail(&self) -> bool {
        matches!(self.verdict, Verdict::Rail(_))
    }

    /// Its class, if it is a rail or in reserve.
    pub fn class(&self) -> Option<Class> {
        match self.verdict {
            Verdict::Rail(_) => Some(Class::Rail),
            Verdict::Reserve { class, .. } => Some(class),
            Verdict::Excluded(_) => None,
        }
    }

    /// Why it is no rail; `None` if it is one.
    pub fn reason(&self) -> Option<&str> {
        match &self.verdict {
            Verdict::Rail(_) => None,
            Verdict::Reserve { reason, .. } | Verdict::Excluded(reason) => Some(reason),
        }
    }

    /// Whether it leads to this host alone: loopback without a global address.
    pub fn is_of_host_alone(&self) -> bool {
        self.is_loopback && !self.addresses.iter().any(|address| is_global(&address.ip))
    }

    /// Whether it can carry something at present.
    pub fn is_up(&self) -> bool {
        self.outage.is_none()
    }

    /// Its addresses for display; of a path only those of the path.
    pub fn shown(&self) -> &[Network] {
        if self.path.is_some() { self.offered() } else { &self.addresses }
    }

    /// Its addresses that peers learn: none if it is neither a rail nor in reserve.
    pub fn offered(&self) -> &[Network] {
        match &self.verdict {
            Verdict::Rail(offered) | Verdict::Reserve { offered, .. } => offered,
            Verdict::Excluded(_) => &[],
        }
    }
}

/// An address with the length of its network prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The address.
    pub ip: IpAddr,
    /// Length of the network's prefix.
    pub prefix: u8,
}

impl Network {
    /// Whether `ip` is in the network. Never for link-local addresses: every link has the same network.
    pub fn contains(&self, ip: IpAddr) -> bool {
        !(ip.is_ipv6() && is_link_local(&ip)) && same_network(self.ip, ip, self.prefix)
    }
}

/// Whether an interface is a rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is a rail with these addresses; during an outage it becomes one once that ends.
    Rail(Vec<Network>),
    /// It is used for peers to which no interface of a better class leads.
    Reserve {
        /// Its addresses.
        offered: Vec<Network>,
        /// Its class.
        class: Class,
        /// Why it is no rail.
        reason: String,
    },
    /// It is no rail, for this reason.
    Excluded(String),
}

/// Why there are no rails as the setting wants them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoverError {
    /// No interface matches a word of the setting.
    #[error("FISHPLATE_RAILS: no interface {how} \"{wanted}\"; there are: {present}{}", meant(.near.as_deref()))]
    Unknown {
        /// The word of FISHPLATE_RAILS.
        wanted: String,
        /// The unmet condition: `is called`, `has the address`, ...
        how: &'static str,
        /// The available interfaces.
        present: String,
        /// Suggestion.
        near: Option<String>,
        /// The word is an address, and an interface has none so far, so that it may come.
        may_come: bool,
    },
    /// The named interfaces can carry nothing at present.
    #[error("FISHPLATE_RAILS: interface \"{wanted}\" cannot be a rail: {reason}")]
    Unusable {
        /// The word of FISHPLATE_RAILS.
        wanted: String,
        /// Why not.
        reason: String,
    },
    /// All interfaces are excluded.
    #[error("FISHPLATE_RAILS=\"{wanted}\" leaves no interface to be a rail: {reasons}")]
    Nothing {
        /// By what.
        wanted: String,
        /// All interfaces, and why each is no rail.
        reasons: String,
    },
    /// The kernel would not list interfaces.
    #[error("the network interfaces cannot be listed: {0}")]
    System(String),
}

impl DiscoverError {
    /// Whether waiting may help: addresses and carriers can come.
    pub fn may_pass(&self) -> bool {
        matches!(self, DiscoverError::Unusable { .. } | DiscoverError::Unknown { may_come: true, .. })
    }
}

fn meant(near: Option<&str>) -> String {
    near.map_or(String::new(), |near| format!("; did you mean {near}?"))
}

/// All interfaces: rails first, then those in reserve by class, each group in the order of their numbers. `wanted` are the words
/// of FISHPLATE_RAILS: the named interfaces are the rails, and none are in reserve. Empty: every interface that has an address
/// and leads out of the machine, or loopback where none of these is up.
pub fn survey(wanted: &[String]) -> Result<Vec<Interface>, DiscoverError> {
    let of_interfaces = wanted.iter().filter(|word| Wanted::of(word).is_none()).cloned();
    let wanted = &of_interfaces.collect::<Vec<_>>();
    let mut interfaces = list::list()?;
    interfaces = match wanted.first() {
        Some(first) if first.starts_with('^') => wanted::exclude(interfaces, wanted)?,
        Some(_) => wanted::pick(interfaces, wanted)?,
        None => {
            choice::choose(&mut interfaces);
            interfaces
        }
    };
    let known: [OnceCell<BTreeSet<u32>>; 4] = Default::default();
    host_address::spread(&mut interfaces, |link, routes, is_ipv4| {
        let devices = || match routes {
            Routes::Any => netlink::routed_devices(is_ipv4),
            Routes::OverSeveral => netlink::multipath_devices(is_ipv4),
        };
        let known = &known[2 * usize::from(routes == Routes::Any) + usize::from(is_ipv4)];
        known.get_or_init(|| devices().unwrap_or_default()).contains(&link.index)
    });
    let mut interfaces = paths::split(interfaces);
    leave_out_too_many(&mut interfaces);
    interfaces.sort_by_key(|interface| interface.class().map_or((true, Class::LAST), |class| (false, class)));
    Ok(interfaces)
}

/// Every interface that is no rail, and why: `lo: loopback; docker0, br0: a bridge of this machine (in reserve)`.
pub fn reasons(interfaces: &[Interface]) -> String {
    let mut by_reason: Vec<(String, Vec<String>)> = Vec::new();
    for interface in interfaces {
        let Some(reason) = interface.reason() else { continue };
        let in_reserve = if interface.class().is_some() { " (in reserve)" } else { "" };
        let (reason, name) = (format!("{reason}{in_reserve}"), interface.rail_name());
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => by_reason.push((reason, vec![name])),
        }
    }
    let texts: Vec<String> =
        by_reason.into_iter().map(|(reason, names)| format!("{}: {reason}", names.join(", "))).collect();
    if texts.is_empty() { "there are no others".into() } else { texts.join("; ") }
}

/// Why an interface carries nothing at present: `is down`, `has no carrier`; `None` if it carries.
pub fn outage(interface: &str) -> Option<&'static str> {
    list::outage(&crate::sys::interface::facts(interface).ok()?)
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

/// Whether other hosts may reach this one by an address.
fn is_global(ip: &IpAddr) -> bool {
    !ip.is_loopback() && !is_link_local(ip)
}

/// Excludes interfaces beyond [`MAX_RAILS`](crate::address::MAX_RAILS): first those in reserve, then those that are down.
fn leave_out_too_many(interfaces: &mut [Interface]) {
    let mut kept = 0;
    for (class, is_up) in Class::ALL.into_iter().flat_map(|class| [(class, true), (class, false)]) {
        let is_meant = |one: &&mut Interface| one.is_up() == is_up && one.class() == Some(class);
        for interface in interfaces.iter_mut().filter(is_meant) {
            kept += 1;
            if kept > MAX_RAILS {
                interface.verdict =
                    Verdict::Excluded(format!("there are {MAX_RAILS} rails already, the most there may be"));
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// One that is a rail, with addresses as `ip address` writes them.
    pub fn interface(name: &str, altnames: &[&str], addresses: &[&str]) -> Interface {
        let network = |text: &&str| {
            let (ip, prefix) = text.split_once('/').unwrap();
            Network { ip: ip.parse().unwrap(), prefix: prefix.parse().unwrap() }
        };
        let addresses: Vec<Network> = addresses.iter().map(network).collect();
        Interface {
            name: name.into(),
            index: 1,
            path: None,
            altnames: altnames.iter().map(|name| (*name).into()).collect(),
            addresses: addresses.clone(),
            is_loopback: name == "lo",
            left_out: None,
            speed_mbps: None,
            mtu: 1500,
            outage: None,
            verdict: Verdict::Rail(addresses),
            may_get_address: false,
        }
    }

    #[test]
    fn something_is_always_found_and_rails_come_first() {
        let interfaces = survey(&[]).unwrap();
        let rails = interfaces.iter().take_while(|i| i.is_rail()).count();
        assert!(rails > 0);
        assert!(interfaces[rails..].iter().all(|i| !i.is_rail()));
    }

    #[test]
    fn all_that_are_no_rails_are_named_with_their_reasons() {
        let excluded = |name, reason: &str| Interface {
            verdict: Verdict::Excluded(reason.into()),
            ..interface(name, &[], &["10.0.0.1/24"])
        };
        let (offered, class, reason) = (Vec::new(), Class::Virtual, "a tunnel".to_string());
        let wg0 = Interface { verdict: Verdict::Reserve { offered, class, reason }, ..interface("wg0", &[], &[]) };
        let bare = "it has no address";
        let all =
            [interface("eth0", &[], &[]), wg0, excluded("v0", bare), excluded("lo", "loopback"), excluded("v1", bare)];
        assert_eq!(reasons(&all), "wg0: a tunnel (in reserve); v0, v1: it has no address; lo: loopback");
        assert_eq!(reasons(&all[..1]), "there are no others");
    }

    #[test]
    fn rails_have_room_before_interfaces_in_reserve() {
        let rail = || interface("r", &[], &["10.0.0.1/24"]);
        let down = || Interface { outage: Some("is down"), ..rail() };
        let (offered, reason) = (rail().addresses, String::new());
        let verdict = Verdict::Reserve { offered, class: Class::Virtual, reason };
        let reserve = || Interface { verdict: verdict.clone(), ..rail() };
        let mut all: Vec<Interface> = (0..MAX_RAILS - 2).map(|_| rail()).collect();
        all.splice(0..0, [reserve(), reserve(), down()]);
        leave_out_too_many(&mut all);
        let kept: Vec<bool> = all.iter().map(|one| one.class().is_some()).collect();
        assert_eq!((&kept[..3], kept.len() - 1), (&[true, false, true][..], kept.iter().filter(|kept| **kept).count()));
    }

    #[test]
    fn networks_compare_by_prefix() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(same_network(ip("10.1.2.3"), ip("10.1.9.9"), 16));
        assert!(!same_network(ip("10.1.2.3"), ip("10.1.9.9"), 24));
        assert!(same_network(ip("fd00::1"), ip("fd00::2"), 64));
        assert!(!same_network(ip("10.1.2.3"), ip("fd00::2"), 0));
        assert!(same_network(ip("10.1.2.3"), ip("11.1.2.3"), 0));
        let link = Network { ip: ip("fe80::1"), prefix: 64 };
        assert!(!link.contains(ip("fe80::2")), "that may be another link");
    }
}
