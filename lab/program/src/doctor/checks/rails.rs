//! The interfaces that are rails, obstacles to their use, and reasons why others are no rails.

use std::net::IpAddr;

use fishplate_rails::discover::{self, Interface};
use fishplate_rails::rail::Rail;
use fishplate_rails::{hints, numa};
use serde::{Deserialize, Serialize};

use super::last_number;
use crate::counters::live::Flows;
use crate::doctor::finding::Finding;

const CHECK: &str = "rails";

/// Interfaces of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Rails first.
    pub interfaces: Vec<InterfaceFacts>,
    /// Names of those that lead to this host alone.
    pub loopbacks: Vec<String>,
    /// Names of those over which the kernel drops what would not go back over them.
    pub with_strict_rp_filter: Vec<String>,
    /// Why FISHPLATE_RAILS cannot be had, if so.
    pub error: Option<String>,
}

/// An interface, or a path over one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InterfaceFacts {
    pub name: String,
    /// It is a path over its interface, and leaves by this gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub altnames: Vec<String>,
    pub rail: bool,
    /// It is used for a host to which no rail leads.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reserve: bool,
    /// The preferred address of the rail.
    pub address: Option<IpAddr>,
    pub addresses: Vec<IpAddr>,
    /// Mbit/s, where the driver says.
    pub speed_mbps: Option<u64>,
    /// Bytes.
    pub mtu: u32,
    /// Of its device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    /// Its connections, from running programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Flows>,
    /// Why it carries nothing at present, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<String>,
    /// Why it is no rail, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Obstacles to its use beside other interfaces of its network, with advice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

impl Facts {
    /// The interface or path of that name.
    pub fn interface(&self, name: &str) -> Option<&InterfaceFacts> {
        self.interfaces.iter().find(|one| one.name == name)
    }

    /// Interfaces that are no rails, with reasons; empty if all are rails.
    pub fn left_out(&self) -> String {
        let reserve = |one: &InterfaceFacts| if one.reserve { " (in reserve)" } else { "" };
        let one = |one: &InterfaceFacts| Some(format!("{}: {}{}", one.name, one.reason.as_ref()?, reserve(one)));
        self.interfaces.iter().filter_map(one).collect::<Vec<_>>().join("; ")
    }

    /// Interfaces in reserve that are up.
    fn reserve(&self) -> impl Iterator<Item = &InterfaceFacts> {
        self.interfaces.iter().filter(|one| one.reserve && one.outage.is_none())
    }

    /// Interfaces that are rails.
    pub fn rails(&self) -> impl Iterator<Item = &InterfaceFacts> {
        self.interfaces.iter().filter(|one| one.reason.is_none())
    }
}

/// Looks at this host, with `wanted` in place of FISHPLATE_RAILS. The interfaces as such, too.
pub fn gather(wanted: &[String]) -> (Facts, Vec<Interface>) {
    let found = discover::survey(wanted);
    let error = found.as_ref().err().map(ToString::to_string);
    let interfaces = found.or_else(|_| discover::survey(&[])).unwrap_or_default();
    let names =
        |has: fn(&Interface) -> bool| interfaces.iter().filter(|one| has(one)).map(Interface::rail_name).collect();
    let is_strict = |one: &Interface| rp_filter(&one.name).max(rp_filter("all")) == 1;
    let (loopbacks, with_strict_rp_filter) = (names(Interface::is_of_host_alone), names(is_strict));
    let facts =
        Facts { interfaces: all(&interfaces, &Rail::all(&interfaces)), loopbacks, with_strict_rp_filter, error };
    (facts, interfaces)
}

/// Facts of `interfaces`, among which are `rails`, those in reserve included.
pub fn all(interfaces: &[Interface], rails: &[Rail]) -> Vec<InterfaceFacts> {
    let known = Flows::of_this_host();
    let facts = |interface: &Interface| {
        let name = interface.rail_name();
        let rail = rails.iter().find(|rail| rail.name == name);
        InterfaceFacts {
            gateway: interface.path.and_then(|ip| discover::gateway(interface.index, ip)),
            altnames: interface.altnames.clone(),
            rail: interface.is_rail(),
            reserve: interface.class().is_some() && !interface.is_rail(),
            address: interface.offered().first().map(|offered| offered.ip),
            addresses: interface.shown().iter().map(|own| own.ip).collect(),
            speed_mbps: interface.speed_mbps,
            mtu: interface.mtu,
            numa_node: numa::node(&interface.name, interface.index),
            flows: rail.and_then(|rail| known.get(&rail.name).copied()),
            outage: interface.outage.map(str::to_string),
            reason: interface.reason().map(str::to_string),
            hints: rail.map_or(Vec::new(), |rail| hints::hints(rail, Rail::preferred(rails))),
            name,
        }
    };
    interfaces.iter().map(facts).collect()
}

/// The interface of a rail, which may be a path over it.
pub fn device(rail: &str) -> &str {
    rail.split_once('/').map_or(rail, |(device, _)| device)
}

fn rp_filter(device: &str) -> u8 {
    last_number(&format!("net/ipv4/conf/{device}/rp_filter")).unwrap_or(0)
}

/// Findings, for ranks on several hosts if `has_peers`.
pub fn judge(host: &str, facts: &Facts, has_peers: bool) -> Vec<Finding> {
    if let Some(error) = &facts.error {
        let to_do = "`fishplate rails` there lists the interfaces; correct or unset FISHPLATE_RAILS".to_string();
        return vec![Finding::prevents(CHECK, host, error.clone(), to_do)];
    }
    let rails: Vec<&InterfaceFacts> = facts.rails().collect();
    let others = facts.left_out();
    let leads_out = |rail: &&&InterfaceFacts| !facts.loopbacks.contains(&rail.name) && rail.outage.is_none();
    let mut findings = Vec::new();
    for (rail, outage) in rails.iter().filter_map(|rail| Some((rail, rail.outage.as_ref()?))) {
        let to_do = format!("`ip link set {} up`, or check its cable and switch port", device(&rail.name));
        findings.push(Finding::warning(CHECK, host, format!("{} {outage} and carries nothing", rail.name), to_do));
    }
    if !rails.iter().any(|rail| leads_out(&rail)) {
        let reserve: Vec<&str> = facts.reserve().map(|one| one.name.as_str()).collect();
        let in_their_place = format!("; in their place {} would be used", reserve.join(", "));
        let in_their_place = if reserve.is_empty() { "" } else { in_their_place.as_str() };
        let found = format!("no interface leads to other hosts ({others}){in_their_place}");
        let to_do = "give an interface an address, or name one that was left out in FISHPLATE_RAILS".to_string();
        findings.push(match has_peers && reserve.is_empty() {
            true => Finding::prevents(CHECK, host, found, to_do),
            false => Finding::warning(CHECK, host, format!("{found}: programs run on this host alone"), to_do),
        });
        return findings;
    }
    for (rail, hint) in rails.iter().flat_map(|rail| rail.hints.iter().map(move |hint| (rail, hint))) {
        let (found, to_do) = hint.split_once(": ").unwrap_or((hint, "use another network for it"));
        findings.push(Finding::warning(CHECK, host, format!("{} {found}", rail.name), to_do.to_string()));
    }
    let shown: Vec<String> = rails.iter().filter(leads_out).map(|rail| shown(rail)).collect();
    let others = if others.is_empty() { String::new() } else { format!("; not used: {others}") };
    findings.push(Finding::fine(CHECK, host, format!("{}{others}", shown.join(", "))));
    for (rail, flows) in rails.iter().filter_map(|rail| Some((rail, rail.flows?))) {
        findings.push(Finding::fine(CHECK, host, format!("{}: {flows}", rail.name)));
    }
    findings
}

fn shown(rail: &InterfaceFacts) -> String {
    let address = rail.addresses.first().map_or("no address".into(), ToString::to_string);
    let speed = rail.speed_mbps.map_or(String::new(), |mbps| format!(", {mbps} Mbit/s"));
    let node = rail.numa_node.map_or(String::new(), |node| format!(", NUMA node {node}"));
    format!("{} ({address}{speed}{node})", rail.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;

    fn interface(name: &str, reason: Option<&str>) -> InterfaceFacts {
        InterfaceFacts {
            name: name.into(),
            addresses: vec!["10.0.0.1".parse().unwrap()],
            reason: reason.map(str::to_string),
            ..InterfaceFacts::default()
        }
    }

    fn judged(interfaces: Vec<InterfaceFacts>, has_peers: bool) -> Vec<String> {
        let loopbacks = vec!["lo".into()];
        let findings = judge("a", &Facts { interfaces, loopbacks, ..Facts::default() }, has_peers);
        findings.iter().map(|f| format!("{:?}: {} -> {:?}", f.severity, f.found, f.to_do)).collect()
    }

    #[test]
    fn rails_are_shown_with_interfaces_that_are_none() {
        let all = judged(vec![interface("eth0", None), interface("docker0", Some("a bridge of this machine"))], true);
        assert_eq!(all, ["Fine: eth0 (10.0.0.1); not used: docker0: a bridge of this machine -> None"]);
    }

    #[test]
    fn interfaces_in_reserve_are_reported_and_replace_absent_rails() {
        let wg0 = InterfaceFacts { reserve: true, ..interface("wg0", Some("a tunnel")) };
        let all = judged(vec![interface("eth0", None), wg0.clone()], true);
        assert_eq!(all, ["Fine: eth0 (10.0.0.1); not used: wg0: a tunnel (in reserve) -> None"]);
        let lo = interface("lo", None);
        let all = judged(vec![lo, wg0], true);
        assert!(
            all[0].starts_with("Warning: no interface leads to other hosts (wg0: a tunnel (in reserve)); "),
            "{all:?}"
        );
        assert!(all[0].contains("in their place wg0 would be used"), "{all:?}");
    }

    #[test]
    fn the_node_of_a_rail_and_what_a_flow_gets_are_reported_where_they_are_known() {
        let flows = Some(Flows { streams: 4, flow_rate: Some(62_500_000), port_rate: Some(125_000_000) });
        let all = judged(vec![InterfaceFacts { numa_node: Some(1), flows, ..interface("eth0", None) }], true);
        assert_eq!(all[0], "Fine: eth0 (10.0.0.1, NUMA node 1) -> None");
        assert!(all[1].starts_with("Fine: eth0: a connection gets 62.5 MB/s, its port gives 125 MB/s"), "{all:?}");
    }

    #[test]
    fn a_rail_that_is_down_is_a_warning_and_none_at_all_prevents_where_there_are_peers() {
        let down = InterfaceFacts { outage: Some("has no carrier".into()), ..interface("eth1", None) };
        let all = judged(vec![interface("eth0", None), down.clone()], true);
        assert!(all[0].starts_with("Warning: eth1 has no carrier and carries nothing"), "{all:?}");
        assert_eq!(all.len(), 2);
        let all = judged(vec![down.clone()], true);
        assert!(all[1].starts_with("Prevents: no interface leads to other hosts"), "{all:?}");
        let lo = interface("lo", None);
        assert!(judged(vec![lo.clone()], true)[0].starts_with("Prevents"));
        assert!(judged(vec![lo], false)[0].starts_with("Warning"));
    }

    #[test]
    fn hints_are_divided_into_finding_and_remedy() {
        let hint = "shares its network with r1, and the kernel drops packets that arrive over it: sysctl -w a=2";
        let all = judged(vec![InterfaceFacts { hints: vec![hint.into()], ..interface("r0", None) }], true);
        assert_eq!(
            all[0],
            "Warning: r0 shares its network with r1, and the kernel drops packets that arrive over it -> Some(\"sysctl -w a=2\")"
        );
    }

    #[test]
    fn a_wrong_setting_prevents() {
        let facts = Facts { error: Some("FISHPLATE_RAILS: no interface is called \"x\"".into()), ..Facts::default() };
        assert_eq!(judge("a", &facts, false)[0].severity, Severity::Prevents);
    }

    #[test]
    fn this_host_can_be_looked_at() {
        let (facts, interfaces) = gather(&[]);
        assert_eq!(facts.interfaces.len(), interfaces.len());
        assert!(gather(&["no-such0".into()]).0.error.unwrap().contains("no-such0"));
    }
}
