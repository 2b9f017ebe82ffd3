//! This host: its rails over interfaces, its addresses, and other interfaces.

use std::net::IpAddr;
use std::ops::Index;

use fishplate_engine::RailId;

use crate::discover::{self, Interface, outage, survey};
use crate::rail::Rail;

/// The host of an endpoint.
#[derive(Debug)]
pub struct Host {
    /// The rails over interfaces, in the order in which they are numbered.
    pub rails: Vec<Rail>,
    /// At least one rail was up when the endpoint was opened.
    were_up: bool,
    /// All addresses of the host: peers at one of them are on this host.
    pub addresses: Vec<IpAddr>,
    /// Interfaces that are no rails, and why, for the user.
    other_interfaces: String,
    /// Why no rail leads to other hosts, where it is known.
    no_way: Option<String>,
}

impl Host {
    /// `no_way`: why none of `interfaces` leads to other hosts, where it is known.
    pub fn new(interfaces: &[Interface], no_way: Option<String>) -> Host {
        Host {
            rails: Rail::all(interfaces),
            were_up: interfaces.iter().any(|one| one.is_rail() && !one.is_loopback && one.outage.is_none()),
            addresses: addresses(interfaces),
            other_interfaces: discover::reasons(interfaces),
            no_way,
        }
    }

    /// The rails that are not in reserve.
    pub fn preferred(&self) -> &[Rail] {
        Rail::preferred(&self.rails)
    }

    /// Whether a rail is in one network with another that is not in reserve.
    pub fn is_crowded(&self, rail: &Rail) -> bool {
        rail.neighbour(self.preferred()).is_some()
    }

    /// Whether an address is of this host.
    pub fn has(&self, ip: IpAddr) -> bool {
        self.addresses.contains(&ip)
    }

    /// The rail that has an address, if no other has it too.
    pub fn rail_at(&self, ip: IpAddr) -> Option<RailId> {
        let has = |rail: &Rail| rail.addresses.iter().any(|own| own.ip == ip);
        let mut with_it = (0..).zip(&self.rails).filter(|(_, rail)| has(rail)).map(|(at, _)| RailId(at));
        let first = with_it.next();
        first.filter(|_| with_it.next().is_none())
    }

    /// The interface to bind a connection over a rail to, so that it cannot be routed over another one. `None` for peers on this host.
    pub fn device(&self, rail: RailId, remote: IpAddr) -> Option<&str> {
        self[rail].device().filter(|_| !self.has(remote))
    }

    /// Whether all rails that are not in reserve have gone down.
    pub fn is_down(&self) -> bool {
        self.were_up && self.preferred().iter().all(|rail| outage(&rail.interface).is_some())
    }

    /// Why no rail can lead to other hosts. `None`: one may.
    pub fn no_way_out(&self) -> Option<String> {
        let others = || format!("no network interface leads to other hosts: {}", self.other_interfaces);
        // Both texts name all interfaces already.
        self.rails.iter().all(Rail::is_of_host_alone).then(|| self.no_way.clone().unwrap_or_else(others))
    }

    /// Rails and interfaces in reserve that are down, and why, for the user.
    pub fn outages(&self) -> Vec<String> {
        let outage = |rail: &Rail| Some(format!("{} {}", rail.describe(), outage(&rail.interface)?));
        self.rails.iter().filter_map(outage).collect()
    }

    /// Interfaces that are no rails, and why, for the user.
    pub fn left_out(&self) -> String {
        format!("no rails: {}", self.other_interfaces)
    }

    /// Says, for the user, that no rail and no interface in reserve has a route.
    pub fn routeless(&self) -> String {
        let (rails, reserve) = self.rails.split_at(self.preferred().len());
        let list = |rails: &[Rail]| rails.iter().map(with_addresses).collect::<Vec<_>>().join("; ");
        let rails = format!("no rail of this node has a route to it: {}", list(rails));
        if reserve.is_empty() {
            rails
        } else {
            format!("{rails}; nor have the interfaces in reserve: {}", list(reserve))
        }
    }

    /// Adds addresses that rails have got since. `names`: the words of FISHPLATE_RAILS.
    pub fn refresh(&mut self, names: &[String]) {
        if let Ok(interfaces) = survey(names) {
            self.update(&interfaces);
        }
    }

    fn update(&mut self, interfaces: &[Interface]) {
        for new in Rail::all(interfaces) {
            if let Some(rail) = self.rails.iter_mut().find(|rail| rail.is(&new)) {
                rail.addresses = new.addresses;
            }
        }
        self.other_interfaces = discover::reasons(interfaces);
        self.addresses = addresses(interfaces);
    }
}

fn with_addresses(rail: &Rail) -> String {
    let addresses: Vec<String> = rail.addresses.iter().map(|own| format!("{}/{}", own.ip, own.prefix)).collect();
    format!("{} with {}", rail.name, addresses.join(", "))
}

fn addresses(interfaces: &[Interface]) -> Vec<IpAddr> {
    interfaces.iter().flat_map(|one| &one.addresses).map(|address| address.ip).collect()
}

impl Index<RailId> for Host {
    type Output = Rail;

    fn index(&self, rail: RailId) -> &Rail {
        &self.rails[usize::from(rail.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::Verdict;
    use crate::discover::tests::interface;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn numbered(index: u32, name: &str, addresses: &[&str]) -> Interface {
        Interface { index, ..interface(name, &[], addresses) }
    }

    #[test]
    fn a_rail_is_found_by_an_address_that_it_alone_has() {
        let interfaces = [
            numbered(1, "eth0", &["10.0.0.1/24", "10.9.0.1/24"]),
            numbered(2, "eth1", &["10.1.0.1/24", "10.9.0.1/24"]),
        ];
        let host = Host::new(&interfaces, None);
        let found = ["10.0.0.1", "10.1.0.1", "10.9.0.1", "10.2.0.1"].map(|text| host.rail_at(ip(text)));
        assert_eq!(found, [Some(RailId(0)), Some(RailId(1)), None, None]);
        assert!(host.rails.iter().all(|rail| host.is_crowded(rail)));
    }

    #[test]
    fn connections_to_this_host_are_bound_to_no_interface() {
        let host = Host::new(&[numbered(1, "eth0", &["10.0.0.1/24"])], None);
        let devices = ["10.0.0.9", "10.0.0.1"].map(|text| host.device(RailId(0), ip(text)));
        assert_eq!(devices, [Some("eth0"), None]);
    }

    #[test]
    fn addresses_that_come_later_are_those_of_the_rails_that_are_known() {
        let mut host = Host::new(&[numbered(1, "eth0", &["10.0.0.1/24"])], None);
        let excluded = |why: &str| Verdict::Excluded(why.into());
        host.update(&[
            numbered(2, "eth1", &["10.1.0.1/24"]),
            numbered(1, "eth0", &["10.2.0.1/24"]),
            Interface { verdict: excluded("it is down"), ..numbered(3, "eth2", &["10.3.0.1/24"]) },
        ]);
        assert_eq!(host.rails.iter().map(Rail::ip).collect::<Vec<_>>(), [ip("10.2.0.1")]);
        assert!(
            ["10.1.0.1", "10.2.0.1", "10.3.0.1"].iter().all(|text| host.has(ip(text))) && !host.has(ip("10.0.0.1"))
        );
        assert_eq!(host.left_out(), "no rails: eth2: it is down");
    }

    #[test]
    fn interfaces_in_reserve_are_distinguished_from_rails() {
        let (offered, class) = (interface("", &[], &["172.17.0.1/16"]).addresses, crate::discover::Class::Virtual);
        let verdict = Verdict::Reserve { offered, class, reason: "a bridge".into() };
        let bridge = Interface { verdict, ..numbered(2, "docker0", &["172.17.0.1/16"]) };
        let rail = numbered(1, "eth0", &["10.0.0.1/24"]);
        assert_eq!(
            Host::new(std::slice::from_ref(&rail), None).routeless(),
            "no rail of this node has a route to it: eth0 with 10.0.0.1/24"
        );
        assert_eq!(
            Host::new(&[rail, bridge], None).routeless(),
            "no rail of this node has a route to it: eth0 with 10.0.0.1/24; nor have the interfaces in reserve: docker0 with \
             172.17.0.1/16"
        );
    }

    #[test]
    fn only_a_host_that_has_nothing_but_loopback_has_no_way_out() {
        let alone = [numbered(1, "lo", &["127.0.0.1/8"])];
        let why = Host::new(&alone, Some("as the test has it".into())).no_way_out();
        assert_eq!(why.as_deref(), Some("as the test has it"));
        let why = Host::new(&alone, None).no_way_out().unwrap();
        assert!(why.starts_with("no network interface leads to other hosts: "), "{why}");
        assert_eq!(Host::new(&[numbered(1, "eth0", &["10.0.0.1/24"])], None).no_way_out(), None);
    }
}
