//! A global address of loopback that is the host's, as in routed fabrics: the links over which routes lead to it are the rails.

use super::wanted::NOT_NAMED;
use super::{Interface, Network, Verdict, is_global};

/// A question about the routes over an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routes {
    /// Are there any to other hosts?
    Any,
    /// Are there any that lead over several interfaces to the same hosts?
    OverSeveral,
}

/// Where loopback is a rail, or in reserve, and routes lead out over several links without addresses of their own, these links
/// become rails, or reserve, in its place, with its addresses. Where the user has named loopback, so do links with addresses over
/// which the same routes lead. `is_routed`: whether such routes lead over an interface, for IPv4 or for IPv6.
pub fn spread(interfaces: &mut [Interface], is_routed: impl Fn(&Interface, Routes, bool) -> bool) {
    let is_host = |one: &&Interface| one.is_loopback && one.offered().iter().any(|address| is_global(&address.ip));
    let Some((addresses, verdict)) =
        interfaces.iter().find(is_host).map(|host| (host.offered().to_vec(), host.verdict.clone()))
    else {
        return;
    };
    let reaches = |link: &Interface, address: &Network| {
        let routes = if is_bare_link(link) { Routes::Any } else { Routes::OverSeveral };
        is_routed(link, routes, address.ip.is_ipv4())
    };
    let mut names = Vec::new();
    for link in interfaces.iter().filter(|one| is_bare_link(one) || is_unnamed_link(one)) {
        if addresses.iter().any(|address| reaches(link, address)) {
            names.push(link.name.clone());
        }
    }
    // With a single link, the kernel's routes suffice.
    if names.len() < 2 {
        return;
    }
    for interface in interfaces {
        if names.contains(&interface.name) {
            let reached = addresses.iter().filter(|address| reaches(interface, address));
            let reached = reached.copied().collect();
            interface.verdict = match &verdict {
                Verdict::Reserve { class, .. } => {
                    let reason = "its link has no address but the host's, and other interfaces have their own".into();
                    Verdict::Reserve { offered: reached, class: *class, reason }
                }
                _ => Verdict::Rail(reached),
            };
            // It has an address now: do not wait for one of its own.
            interface.may_get_address = false;
        } else if interface.is_loopback && interface.class().is_some() {
            let reason = format!("the host's address on it is reached over {}", names.join(", "));
            interface.verdict = Verdict::Excluded(reason);
        }
    }
}

/// Whether it leads out, and has no address that is not link-local.
fn is_bare_link(one: &Interface) -> bool {
    !one.is_loopback && one.may_get_address && one.left_out.is_none() && one.is_up()
}

/// Whether it leads out, and is no rail only because the user has named others.
fn is_unnamed_link(one: &Interface) -> bool {
    !one.is_loopback && one.left_out.is_none() && one.is_up() && one.reason() == Some(NOT_NAMED)
}

#[cfg(test)]
mod tests {
    use super::super::{Class, tests};
    use super::*;

    fn interface(name: &str, address: Option<&str>) -> Interface {
        let addresses: Vec<String> = address.iter().map(|text| format!("{text}/32")).collect();
        let made = tests::interface(name, &[], &addresses.iter().map(String::as_str).collect::<Vec<_>>());
        let left_out = made.is_loopback.then(|| "loopback".into());
        let excluded = Verdict::Excluded("no address".into());
        let verdict = if made.is_loopback { made.verdict.clone() } else { excluded };
        Interface { left_out, verdict, may_get_address: !made.is_loopback, ..made }
    }

    fn rails(routed: &[&str]) -> Vec<String> {
        let mut all = vec![interface("lo", Some("10.255.0.1")), interface("eth0", None), interface("eth1", None)];
        spread(&mut all, |one, _, is_ipv4| is_ipv4 && routed.contains(&one.name.as_str()));
        let rails = all.iter().filter(|one| one.is_rail());
        rails.map(|rail| format!("{} {}", rail.name, rail.offered()[0].ip)).collect()
    }

    #[test]
    fn beside_an_interface_with_an_address_they_are_in_reserve_as_loopback_is() {
        let reserve = Verdict::Reserve {
            offered: interface("lo", Some("10.255.0.1")).offered().to_vec(),
            class: Class::OfHost,
            reason: "loopback".into(),
        };
        let lo = Interface { verdict: reserve, ..interface("lo", Some("10.255.0.1")) };
        let mut all = vec![tests::interface("mgmt0", &[], &["10.0.0.1/24"]), lo];
        all.extend([interface("eth0", None), interface("eth1", None)]);
        spread(&mut all, |one, routes, is_ipv4| is_ipv4 && routes == Routes::Any && one.name.starts_with("eth"));
        let classes: Vec<Option<Class>> = all.iter().map(Interface::class).collect();
        assert_eq!(classes, [Some(Class::Rail), None, Some(Class::OfHost), Some(Class::OfHost)]);
        assert_eq!(all[3].offered()[0].ip, "10.255.0.1".parse::<std::net::IpAddr>().unwrap());
    }

    #[test]
    fn links_with_addresses_are_spread_over_where_loopback_is_named_and_routes_lead_over_several() {
        let unnamed = |name| Interface {
            verdict: Verdict::Excluded(NOT_NAMED.into()),
            ..tests::interface(name, &[], &["10.1.0.1/31"])
        };
        let mut all = vec![interface("lo", Some("10.255.0.1")), unnamed("mgmt0"), unnamed("eth0"), unnamed("eth1")];
        spread(&mut all, |one, routes, is_ipv4| is_ipv4 && (routes == Routes::Any || one.name.starts_with("eth")));
        let rails: Vec<&str> = all.iter().filter(|one| one.is_rail()).map(|one| one.name.as_str()).collect();
        assert_eq!(rails, ["eth0", "eth1"]);
        assert_eq!(all[2].offered()[0].ip, "10.255.0.1".parse::<std::net::IpAddr>().unwrap());
    }

    #[test]
    fn links_that_routes_lead_over_have_the_address_of_the_host() {
        assert_eq!(rails(&["eth0", "eth1"]), ["eth0 10.255.0.1", "eth1 10.255.0.1"]);
        assert_eq!(rails(&["eth0"]), ["lo 10.255.0.1"]);
        assert_eq!(rails(&[]), ["lo 10.255.0.1"]);
    }
}
