//! Pairs local rails with rails of a peer, and chooses the addresses. Interfaces in reserve are paired separately.

use std::net::IpAddr;

use crate::address::is_scoped;
use crate::discover::{Class, route_to};
use crate::netlink;
use crate::rail::Rail;

/// A local rail, and the addresses at which the peer may be reached over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Position among the local rails.
    pub local: usize,
    /// Addresses of the peer, the likeliest first; at least one.
    pub remotes: Vec<IpAddr>,
}

/// How a local rail may reach a rail of the peer, the surest way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// They have a network in common.
    Network,
    /// There is a route.
    Route,
    /// Both have link-local addresses, possibly on one link.
    Link,
}

/// Pairs rails: first those in one network, then the remaining ones of either side by routes, so that each rail with a route is
/// used at least once.
pub fn pair(locals: &[Rail], remotes: &[Vec<IpAddr>]) -> Vec<Pair> {
    pair_with(locals, remotes, |local, remote| route_to(local, remote).is_ok())
}

/// Whether each local rail is paired with a rail of its own in one network, so that no further addresses are needed.
pub fn is_complete(locals: &[Rail], remotes: &[Vec<IpAddr>]) -> bool {
    let ways = Ways { locals, remotes, routed: &|_, _| false };
    let reached = |remote: usize| (0..locals.len()).any(|local| ways.shares_network(local, remote));
    let leads = |local: usize| (0..remotes.len()).any(|remote| ways.shares_network(local, remote));
    let all_lead = (0..locals.len()).all(|local| leads(local) && !ways.is_crowded(local));
    all_lead && (0..remotes.len()).all(reached)
}

/// The addresses of a peer, and of this host.
#[derive(Clone, Copy, Debug)]
pub struct Peer<'a> {
    /// Addresses of its rails.
    pub rails: &'a [Vec<IpAddr>],
    /// Number of rails at the front of `rails`; the others are in reserve.
    pub preferred: usize,
    /// Addresses of this host. Container networks use the same addresses on many hosts: such an address is the peer's only if the peer
    /// is on this host.
    pub own: &'a [IpAddr],
}

/// Pairs the rails of one class. The first class as [`pair`] does; in other classes, a local interface is paired with all addresses
/// to which the kernel routes over it, and local rails with addresses of the peer in reserve.
pub fn pair_class(locals: &[Rail], peer: Peer<'_>, class: Class) -> Vec<Pair> {
    match class {
        Class::Rail => pair(Rail::preferred(locals), &peer.rails[..peer.preferred.min(peer.rails.len())]),
        _ => pair_reserve(locals, peer, class, |rail, source, remote| match rail.class {
            // Routes never lead over loopback, or over several links.
            Class::OfHost => route_to(source, remote).is_ok(),
            _ if rail.is_loopback => route_to(source, remote).is_ok(),
            _ => netlink::route(source, remote).is_ok_and(|route| route.device == rail.index),
        }),
    }
}

/// `leads`: whether the kernel's route from an address of a rail to one of the peer's leads over it.
fn pair_reserve(
    locals: &[Rail],
    peer: Peer<'_>,
    class: Class,
    leads: impl Fn(&Rail, IpAddr, IpAddr) -> bool,
) -> Vec<Pair> {
    let routed: &dyn Fn(IpAddr, IpAddr) -> bool = &|_, _| false;
    let ways = Ways { locals, remotes: peer.rails, routed };
    let is_here = peer.rails.iter().flatten().all(|ip| peer.own.contains(ip));
    let way = |local: usize, is_in_reserve: bool, remote: IpAddr| {
        let (rail, direct) = (&locals[local], ways.direct_way(local, remote));
        let of_way = match (rail.class, direct) {
            (Class::Rail, _) if !is_in_reserve => return None,
            (Class::Rail, Some(Way::Network)) => Class::OfHost,
            // A default route seems to lead to all container networks: last class.
            (Class::Rail, _) => Class::LAST,
            (of_rail, _) => of_rail,
        };
        if of_way != class || !is_here && peer.own.contains(&remote) {
            return None;
        }
        // The route is queried last, as that takes system calls.
        direct.or_else(|| leads(rail, rail.source_for(remote)?, remote).then_some(Way::Route))
    };
    let pair_of = |local: usize| {
        let remotes = peer.rails.iter().enumerate().flat_map(|(at, ips)| ips.iter().map(move |ip| (at, *ip)));
        let led = remotes.filter_map(|(at, ip)| Some((way(local, at >= peer.preferred, ip)?, ip)));
        let mut led: Vec<(Way, IpAddr)> = led.collect();
        led.sort_by_key(|(way, _)| *way);
        let remotes: Vec<IpAddr> = led.into_iter().map(|(_, ip)| ip).collect();
        (!remotes.is_empty()).then_some(Pair { local, remotes })
    };
    (0..locals.len()).filter_map(pair_of).collect()
}

struct Ways<'a> {
    locals: &'a [Rail],
    remotes: &'a [Vec<IpAddr>],
    /// Costs some system calls.
    routed: &'a dyn Fn(IpAddr, IpAddr) -> bool,
}

fn pair_with(locals: &[Rail], remotes: &[Vec<IpAddr>], routed: impl Fn(IpAddr, IpAddr) -> bool) -> Vec<Pair> {
    let ways = Ways { locals, remotes, routed: &routed };
    if let Some(pair) = ways.loopback() {
        return vec![pair];
    }
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    let mut free_remotes: Vec<usize> = (0..remotes.len()).collect();
    let mut free_locals: Vec<usize> = Vec::new();
    for local in 0..locals.len() {
        match free_remotes.iter().position(|remote| ways.shares_network(local, *remote)) {
            Some(at) => chosen.push((local, free_remotes.remove(at))),
            None => free_locals.push(local),
        }
    }
    // A rail in a network where the peer has fewer rails shares one of these.
    free_locals.retain(|local| {
        let shared = (0..remotes.len()).find(|remote| ways.shares_network(*local, *remote));
        chosen.extend(shared.map(|remote| (*local, remote)));
        shared.is_none()
    });
    for way in [Way::Route, Way::Link] {
        free_locals.retain(|local| {
            let found = free_remotes.iter().position(|remote| ways.best(*local, *remote) == Some(way));
            chosen.extend(found.map(|at| (*local, free_remotes.remove(at))));
            found.is_none()
        });
    }
    for remote in free_remotes {
        // The remote rail may be paired already: the routes may then share a path.
        let local = (0..locals.len()).find(|local| ways.best(*local, remote).is_some_and(|way| way <= Way::Route));
        chosen.extend(local.map(|local| (local, remote)));
    }
    chosen.iter().map(|(local, remote)| Pair { local: *local, remotes: ways.candidates(*local, *remote) }).collect()
}

impl Ways<'_> {
    /// Pairs loopback addresses, if both are on this host and no other addresses exist.
    fn loopback(&self) -> Option<Pair> {
        let loops = |ip: &IpAddr| ip.is_loopback();
        let remote = self.remotes.iter().flatten().copied().find(loops)?;
        let local = self.locals.iter().position(|rail| rail.addresses.iter().any(|own| loops(&own.ip)))?;
        self.locals[local].source_for(remote).map(|_| Pair { local, remotes: vec![remote] })
    }

    fn way(&self, local: usize, remote: IpAddr) -> Option<Way> {
        self.direct_way(local, remote).or_else(|| {
            let source = self.locals[local].source_for(remote)?;
            (self.routed)(source, remote).then_some(Way::Route)
        })
    }

    /// The way between a local rail and an address without routes.
    fn direct_way(&self, local: usize, remote: IpAddr) -> Option<Way> {
        let rail = &self.locals[local];
        match remote {
            IpAddr::V6(v6) if is_scoped(&v6) => rail.source_for(remote).map(|_| Way::Link),
            _ => rail.addresses.iter().any(|own| own.contains(remote)).then_some(Way::Network),
        }
    }

    fn shares_network(&self, local: usize, remote: usize) -> bool {
        self.remotes[remote].iter().any(|ip| self.direct_way(local, *ip) == Some(Way::Network))
    }

    fn best(&self, local: usize, remote: usize) -> Option<Way> {
        self.remotes[remote].iter().filter_map(|ip| self.way(local, *ip)).min()
    }

    /// Whether several rails of either side are in a network of this rail. There, IPv4 addresses do not identify interfaces, as each
    /// interface may answer for all (ARP in the weak host model).
    fn is_crowded(&self, local: usize) -> bool {
        let of_peer = (0..self.remotes.len()).filter(|remote| self.shares_network(local, *remote));
        of_peer.count() > 1 || self.locals[local].neighbour(self.locals).is_some()
    }

    /// Addresses by which `local` may reach `remote`, or other rails of the peer on its link.
    fn candidates(&self, local: usize, remote: usize) -> Vec<IpAddr> {
        let is_crowded = self.is_crowded(local);
        let mut ranked: Vec<(bool, usize, IpAddr)> = Vec::new();
        for (at, ips) in self.remotes.iter().enumerate() {
            let is_other = at != remote;
            for ip in ips {
                let way = if is_other { self.direct_way(local, *ip) } else { self.way(local, *ip) };
                let rank = match way {
                    Some(Way::Link) if is_crowded => 0,
                    Some(Way::Network) => 1,
                    Some(Way::Route) => 2,
                    Some(Way::Link) if !is_other || self.best(local, remote) == Some(Way::Link) => 3,
                    _ => continue,
                };
                ranked.push((is_other, rank, *ip));
            }
        }
        // Link-local addresses come first, as they identify interfaces.
        ranked.sort_by_key(|(is_other, rank, _)| (*rank != 0, *is_other, *rank));
        ranked.into_iter().map(|(_, _, ip)| ip).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rail::tests::rail;

    fn rails(rails: &[&[&str]]) -> Vec<Rail> {
        let network = |ip: &&str| format!("{ip}/{}", if ip.contains(':') { 64 } else { 24 });
        let rail = |(at, ips): (usize, &&[&str])| {
            let own: Vec<String> = ips.iter().map(network).collect();
            rail(&format!("r{at}"), at as u32 + 1, &own.iter().map(String::as_str).collect::<Vec<_>>())
        };
        rails.iter().enumerate().map(rail).collect()
    }

    fn remotes(remotes: &[&[&str]]) -> Vec<Vec<IpAddr>> {
        remotes.iter().map(|ips| ips.iter().map(|ip| ip.parse().unwrap()).collect()).collect()
    }

    /// [`text`] of each pair.
    fn pairs(locals: &[&[&str]], others: &[&[&str]], routed: bool) -> Vec<String> {
        let pairs = pair_with(&rails(locals), &remotes(others), |a, b| routed && a.is_ipv4() == b.is_ipv4());
        pairs.iter().map(text).collect()
    }

    /// The rail of a pair and its addresses.
    fn text(pair: &Pair) -> String {
        let remotes: Vec<String> = pair.remotes.iter().map(ToString::to_string).collect();
        format!("{} {}", pair.local, remotes.join(" "))
    }

    #[test]
    fn rails_in_the_same_network_meet_whatever_their_order() {
        let got = pairs(&[&["10.0.1.1"], &["10.0.2.1"]], &[&["10.0.2.2"], &["10.0.1.2"]], true);
        assert_eq!(got, ["0 10.0.1.2", "1 10.0.2.2"]);
    }

    #[test]
    fn an_interface_stands_for_all_its_addresses() {
        let got = pairs(&[&["10.0.1.1", "fd01::1"], &["10.0.2.1", "fd02::1"]], &[&["fd02::2"], &["fd01::2"]], true);
        assert_eq!(got, ["0 fd01::2", "1 fd02::2"]);
        let got = pairs(&[&["10.9.0.1", "10.0.1.1"]], &[&["10.8.0.1", "10.0.1.2"]], false);
        assert_eq!(got, ["0 10.0.1.2"]);
        let got = pairs(&[&["10.0.1.1", "fd01::1", "fe80::1"]], &[&["10.0.1.2", "fd01::2", "fe80::2"]], true);
        assert_eq!(got, ["0 10.0.1.2 fd01::2 fe80::2"], "one after the other");
    }

    #[test]
    fn two_rails_in_one_network_pair_in_order_and_share_a_lone_one() {
        let got = pairs(&[&["10.0.1.1"], &["10.0.1.2"]], &[&["10.0.1.3"], &["10.0.1.4"]], true);
        assert_eq!(got, ["0 10.0.1.3 10.0.1.4", "1 10.0.1.4 10.0.1.3"]);
        let got = pairs(&[&["10.0.1.1"], &["10.0.1.2"]], &[&["10.0.1.3"]], true);
        assert_eq!(got, ["0 10.0.1.3", "1 10.0.1.3"]);
    }

    #[test]
    fn in_one_network_the_addresses_that_distinguish_interfaces_are_tried_first() {
        let got = pairs(
            &[&["10.0.1.1", "fe80::1"], &["10.0.1.2", "fe80::2"]],
            &[&["10.0.1.3", "fe80::3"], &["10.0.1.4", "fe80::4"]],
            true,
        );
        assert_eq!(got, ["0 fe80::3 fe80::4 10.0.1.3 10.0.1.4", "1 fe80::4 fe80::3 10.0.1.4 10.0.1.3"]);
    }

    #[test]
    fn routed_rails_pair_in_order_and_none_is_left_out() {
        let got = pairs(&[&["10.0.1.1"], &["10.0.2.1"]], &[&["10.9.1.1"], &["10.9.2.1"]], true);
        assert_eq!(got, ["0 10.9.1.1", "1 10.9.2.1"]);
        let got = pairs(&[&["10.0.1.1"]], &[&["10.9.1.1"], &["10.9.2.1"]], true);
        assert_eq!(got, ["0 10.9.1.1", "0 10.9.2.1"]);
        assert!(pairs(&[&["10.0.1.1"]], &[&["10.9.1.1"]], false).is_empty());
        assert!(pairs(&[&["10.0.1.1"]], &[&["fd00::1"]], true).is_empty());
    }

    #[test]
    fn addresses_of_a_link_serve_where_nothing_else_does() {
        let got = pairs(&[&["fe80::1"], &["10.0.2.1", "fe80::2"]], &[&["10.0.2.2", "fe80::3"], &["fe80::4"]], true);
        assert_eq!(got, ["1 10.0.2.2 fe80::3", "0 fe80::4 fe80::3"]);
    }

    #[test]
    fn on_one_host_without_a_network_there_is_loopback() {
        let got = pairs(&[&["10.0.1.1"], &["127.0.0.1", "::1"]], &[&["10.0.1.1"], &["127.0.0.1", "::1"]], true);
        assert_eq!(got, ["1 127.0.0.1"]);
    }

    /// As `pairs`, of the reserve: each rail with its class, `preferred` of the peer's, with routes by the interface of the same
    /// position as the third number of the peer's address.
    fn reserve(
        locals: &[(&[&str], Class)],
        others: &[&[&str]],
        preferred: usize,
        own: &[&str],
        class: Class,
    ) -> Vec<String> {
        let (addresses, classes): (Vec<&[&str]>, Vec<Class>) = locals.iter().copied().unzip();
        let of_class = |(rail, class)| Rail { class, ..rail };
        let locals: Vec<Rail> = rails(&addresses).into_iter().zip(classes).map(of_class).collect();
        let own: Vec<IpAddr> = own.iter().map(|ip| ip.parse().unwrap()).collect();
        let others = remotes(others);
        let leads = |rail: &Rail, _, remote| match remote {
            IpAddr::V4(v4) => u32::from(v4.octets()[2]) == rail.index - 1,
            IpAddr::V6(_) => false,
        };
        let peer = Peer { rails: &others, preferred, own: &own };
        pair_reserve(&locals, peer, class, leads).iter().map(text).collect()
    }

    #[test]
    fn a_tunnel_is_paired_with_what_routes_lead_to_over_it() {
        let locals: &[(&[&str], Class)] =
            &[(&["10.1.0.1"], Class::Rail), (&["10.8.1.1"], Class::Virtual), (&["172.17.0.1"], Class::OfContainers)];
        let peer: &[&[&str]] = &[&["10.2.0.2"], &["10.8.1.2", "10.9.1.2"], &["172.17.0.1"]];
        let own = &["10.1.0.1", "10.8.1.1", "172.17.0.1"];
        assert_eq!(reserve(locals, peer, 1, own, Class::Virtual), ["1 10.8.1.2 10.9.1.2"]);
        assert!(reserve(locals, peer, 1, own, Class::OfHost).is_empty());
        // All hosts have that address; it means this one.
        assert!(reserve(locals, &peer[1..], 0, own, Class::OfContainers).is_empty());
        assert_eq!(
            reserve(locals, &[&["172.17.0.1"]], 0, own, Class::OfContainers),
            ["0 172.17.0.1", "2 172.17.0.1"],
            "it is here"
        );
    }

    #[test]
    fn a_rail_leads_to_what_the_peer_has_in_reserve() {
        let locals: &[(&[&str], Class)] = &[(&["10.5.9.1"], Class::Rail)];
        let peer: &[&[&str]] = &[&["10.1.9.2"], &["10.5.9.2"], &["172.17.0.1"]];
        assert_eq!(reserve(locals, peer, 1, &["10.5.9.1"], Class::OfHost), ["0 10.5.9.2"]);
        assert_eq!(reserve(locals, peer, 1, &["10.5.9.1"], Class::LAST), ["0 172.17.0.1"], "as a route leads there");
        assert!(reserve(locals, peer, 3, &["10.5.9.1"], Class::OfHost).is_empty(), "nothing is in reserve");
    }

    #[test]
    fn nobody_asks_for_routes_where_networks_pair_all_rails() {
        let own: &[&[&str]] = &[&["10.0.1.1", "fd01::1", "fe80::1"], &["10.0.2.1", "fd02::1", "fe80::2"]];
        let peer: &[&[&str]] = &[&["10.0.2.2", "fd02::2", "fe80::3"], &["10.0.1.2", "fd01::2", "fe80::4"]];
        let asked = std::cell::RefCell::new(Vec::new());
        let pairs = pair_with(&rails(own), &remotes(peer), |_, remote| {
            asked.borrow_mut().push(remote);
            true
        });
        assert_eq!(pairs.len(), 2);
        assert_eq!(asked.take(), Vec::<IpAddr>::new());
    }

    #[test]
    fn more_addresses_are_needed_where_not_every_rail_is_paired_by_its_network() {
        let complete = |locals: &[&[&str]], others: &[&[&str]]| is_complete(&rails(locals), &remotes(others));
        assert!(complete(&[&["10.0.1.1"], &["10.0.2.1"]], &[&["10.0.2.2"], &["10.0.1.2"]]));
        assert!(!complete(&[&["10.0.1.1"], &["10.0.2.1"]], &[&["10.0.2.2"], &[]]));
        assert!(
            !complete(&[&["10.0.1.1"], &["10.0.1.2"]], &[&["10.0.1.3"], &["10.0.1.4"]]),
            "interfaces are not distinguished"
        );
        assert!(!complete(&[&["10.0.1.1"]], &[&["10.0.1.3"], &["10.0.2.4"]]));
    }
}
