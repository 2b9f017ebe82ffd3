//! An address of loopback that is the host's, as in routed fabrics: the links that it is reached over are the rails.

use super::{Interface, Network, Verdict, is_global};

/// Where loopback is a rail, and routes lead out over several links without addresses of their own, these are the rails, with
/// its addresses. `is_routed`: whether routes to others lead over an interface, for IPv4 or for IPv6.
pub fn spread(interfaces: &mut [Interface], is_routed: impl Fn(&Interface, bool) -> bool) {
    let is_host = |one: &&Interface| one.is_loopback && one.offered().iter().any(|address| is_global(&address.ip));
    let Some(addresses) = interfaces.iter().find(is_host).map(|host| host.offered().to_vec()) else { return };
    let reaches = |link: &Interface, address: &Network| is_routed(link, address.ip.is_ipv4());
    let mut names = Vec::new();
    for link in interfaces.iter().filter(|one| is_bare_link(one)) {
        if addresses.iter().any(|address| reaches(link, address)) {
            names.push(link.name.clone());
        }
    }
    // Over one alone the kernel's routes lead.
    if names.len() < 2 {
        return;
    }
    for interface in interfaces {
        if names.contains(&interface.name) {
            let reached = addresses.iter().filter(|address| reaches(interface, address));
            interface.verdict = Verdict::Rail(reached.copied().collect());
            // Nobody has to wait for one of its own.
            interface.may_get_address = false;
        } else if interface.is_loopback && interface.is_rail() {
            let reason = format!("the host's address on it is reached over {}", names.join(", "));
            interface.verdict = Verdict::Excluded(reason);
        }
    }
}

/// Whether it leads out, and has no address but that of its link.
fn is_bare_link(one: &Interface) -> bool {
    !one.is_loopback && one.may_get_address && one.left_out.is_none() && one.is_up()
}

#[cfg(test)]
mod tests {
    use super::super::tests;
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
        spread(&mut all, |one, is_ipv4| is_ipv4 && routed.contains(&one.name.as_str()));
        let rails = all.iter().filter(|one| one.is_rail());
        rails.map(|rail| format!("{} {}", rail.name, rail.offered()[0].ip)).collect()
    }

    #[test]
    fn links_that_routes_lead_over_have_the_address_of_the_host() {
        assert_eq!(rails(&["eth0", "eth1"]), ["eth0 10.255.0.1", "eth1 10.255.0.1"]);
        assert_eq!(rails(&["eth0"]), ["lo 10.255.0.1"]);
        assert_eq!(rails(&[]), ["lo 10.255.0.1"]);
    }
}
