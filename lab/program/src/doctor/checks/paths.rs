//! Whether rails lead from one host to another: routes, and firewalls, by trying.

use fishplate_rails::ports::Ports;
use fishplate_rails::trial::path::{Carried, Failure, Outcome, PairTrial, PathTrial};

use super::rails;
use crate::doctor::finding::{Finding, Severity};
use crate::output::text;

const CHECK: &str = "paths";

/// A trial from one host to another.
pub struct Crossing<'a> {
    pub from: &'a str,
    pub rails_here: &'a rails::Facts,
    pub to: &'a str,
    pub rails_there: &'a rails::Facts,
    /// Whether some rail leads the other way: then programs run, as connections carry both ways.
    pub leads_back: bool,
    /// Result of the trial.
    pub trials: &'a [PairTrial],
    /// The port that connections were for.
    pub port: u16,
    /// FISHPLATE_PORTS.
    pub ports: Option<Ports>,
    /// Whether datagrams are used at all.
    pub uses_datagrams: bool,
}

/// A path that was found, and what it carries.
pub fn connected(trials: &[PairTrial]) -> impl Iterator<Item = (&str, &PathTrial, &Carried)> {
    trials.iter().flat_map(|trial| {
        trial.paths.iter().filter_map(|path| match &path.outcome {
            Outcome::Connected(carried) => Some((trial.rail.as_str(), path, carried)),
            Outcome::Failed { .. } => None,
        })
    })
}

/// Findings about the trials.
pub fn judge(crossing: &Crossing) -> Vec<Finding> {
    let Crossing { from, to, trials, .. } = crossing;
    let carry: Vec<_> = connected(trials).collect();
    let is_cut_off = carry.is_empty() && !crossing.leads_back;
    let severity = if is_cut_off { Severity::Prevents } else { Severity::Warning };
    let mut findings = Vec::new();
    for trial in trials.iter().filter(|trial| carry.iter().all(|(rail, ..)| *rail != trial.rail)) {
        let (found, to_do) = match trial.paths.first() {
            Some(path) => crossing.failed(&trial.rail, path),
            None => crossing.leads_nowhere(&trial.rail),
        };
        findings.push(Finding::wrong(severity, CHECK, from, format!("{found}{}", crossing.left_out()), to_do));
    }
    if trials.is_empty() {
        let (found, to_do) =
            (format!("no rail to try towards {to}"), format!("see to the rails of {from} and {to} first"));
        findings.push(Finding::prevents(CHECK, from, format!("{found}{}", crossing.left_out()), to_do));
    }
    for (rail, path, carried) in &carry {
        findings.extend(crossing.imperfect(rail, path, carried));
    }
    if !carry.is_empty() {
        let shown = |(rail, _, carried): &(&str, &PathTrial, &Carried)| {
            format!("{rail} in {}", text::microseconds(carried.round_trip_us))
        };
        let shown: Vec<String> = carry.iter().map(shown).collect();
        findings.push(Finding::fine(CHECK, from, format!("to {to} and back over {}", shown.join(", "))));
    }
    findings
}

impl Crossing<'_> {
    /// Interfaces of either host that are no rails, and why.
    fn left_out(&self) -> String {
        let of_host = |(host, rails): (&str, &rails::Facts)| {
            let others = rails.left_out();
            (!others.is_empty()).then(|| format!("; no rails of {host}: {others}"))
        };
        [(self.from, self.rails_here), (self.to, self.rails_there)].into_iter().filter_map(of_host).collect()
    }

    /// No connection: the observation, and the advice.
    fn failed(&self, rail: &str, path: &PathTrial) -> (String, String) {
        let Outcome::Failed { failure, host_answers } = &path.outcome else { return Default::default() };
        let way = format!("TCP over {rail} from {} to {} ({}) port {}", path.from, path.to, self.to, self.port);
        let (what, is_firewall) = match (failure, host_answers) {
            (Failure::Silence, true) => ("gets no answer, unlike other ports: a firewall drops it".into(), true),
            (Failure::Silence, false) => ("gets no answer, as on any other port".into(), false),
            (Failure::Refused, _) => ("is refused although it is listened on: a firewall rejects it".into(), true),
            (Failure::Broken, _) => (format!("is connected, and ends before {} has answered", self.to), false),
            (Failure::NoWay(why), true) => (format!("fails ({why}), but not on other ports: a firewall"), true),
            (Failure::NoWay(why), false) => (format!("fails, as on any other port: {why}"), false),
        };
        let found = format!("{way} {what}");
        if is_firewall {
            return (found, self.let_through());
        }
        if matches!(failure, Failure::Broken) {
            return (
                found,
                format!(
                    "look for a second host that has {}, and for proxies and firewalls that end connections",
                    path.to
                ),
            );
        }
        let look = format!(
            "look at the cable, VLAN and routes (`ip route get {} from {}`), and for a firewall that drops everything",
            path.to, path.from
        );
        match self.strict_end(rail, &path.to_rail) {
            Some((host, name)) => (
                format!(
                    "{found}; {host} has rp_filter 1, and may drop packets whose reply would not leave over {name}"
                ),
                format!("on {host}: sysctl -w net.ipv4.conf.{name}.rp_filter=2; if that does not help, {look}"),
            ),
            None => (found, look),
        }
    }

    /// The end whose kernel drops what comes over a rail and would not go back over it.
    fn strict_end<'a>(&'a self, rail: &'a str, to_rail: &'a str) -> Option<(&'a str, &'a str)> {
        let is_strict =
            |rails: &rails::Facts, name: &str| rails.with_strict_rp_filter.iter().any(|strict| strict == name);
        let there = is_strict(self.rails_there, to_rail).then(|| (self.to, rails::device(to_rail)));
        there.or_else(|| is_strict(self.rails_here, rail).then(|| (self.from, rails::device(rail))))
    }

    /// No address of the other host's is to be reached.
    fn leads_nowhere(&self, rail: &str) -> (String, String) {
        let found = format!("{rail} leads to no address of {}", self.to);
        let outage = |one: &rails::InterfaceFacts| Some(format!("{} {}", one.name, one.outage.as_ref()?));
        let down: Vec<String> = self.rails_there.rails().filter_map(outage).collect();
        if !down.is_empty() {
            return (format!("{found}, where {}", down.join(", ")), format!("repair the rails of {} first", self.to));
        }
        let to_do =
            "give both hosts an address in one network, or a route; `fishplate rails --peer ADDRESS` shows more";
        (found, to_do.into())
    }

    /// A connection that is not all that there should be.
    fn imperfect(&self, rail: &str, path: &PathTrial, carried: &Carried) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Some(other) = carried.arrived_over.as_ref().filter(|other| **other != path.to_rail) {
            let found = format!(
                "packets over {rail} to {} arrive over {other} of {}, not {}: interfaces answer for each other (ARP)",
                path.to, self.to, path.to_rail
            );
            let to_do = "on both: sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2";
            findings.push(Finding::warning(CHECK, self.from, found, to_do.into()));
        }
        if self.uses_datagrams && carried.longest_datagram.is_none() {
            let found = format!(
                "UDP over {rail} from {} to {} ({}) does not arrive; short messages take TCP, which costs time",
                path.from, path.to, self.to
            );
            findings.push(Finding::warning(CHECK, self.from, found, self.let_through()));
        }
        findings
    }

    fn let_through(&self) -> String {
        match self.ports {
            Some(ports) => format!("let TCP and UDP to ports {ports} through on {}", self.to),
            None => format!(
                "set FISHPLATE_PORTS=50000-50100 for all processes, and let TCP and UDP to these ports through on {}",
                self.to
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(outcome: Outcome) -> PathTrial {
        let [from, to] = ["10.0.0.1", "10.0.0.2"].map(|ip| ip.parse().unwrap());
        PathTrial { from, to, to_rail: "r0".into(), outcome }
    }

    fn pair(rail: &str, outcome: Outcome) -> PairTrial {
        PairTrial { rail: rail.into(), paths: vec![path(outcome)] }
    }

    fn carried() -> Carried {
        Carried {
            round_trip_us: 120.0,
            arrived_over: Some("r0".into()),
            long_arrives: true,
            longest_datagram: Some(1500),
        }
    }

    fn fails(failure: Failure, host_answers: bool) -> Outcome {
        Outcome::Failed { failure, host_answers }
    }

    fn crossing<'a>([rails_here, rails_there]: [&'a rails::Facts; 2], trials: &'a [PairTrial]) -> Crossing<'a> {
        Crossing {
            from: "a",
            rails_here,
            to: "b",
            rails_there,
            leads_back: false,
            trials,
            port: 50007,
            ports: None,
            uses_datagrams: true,
        }
    }

    fn judged(trials: &[PairTrial], ports: Option<&str>, strict: bool) -> Vec<String> {
        let here = rails::Facts::default();
        let with_strict_rp_filter = if strict { vec!["r0".into()] } else { Vec::new() };
        let there = rails::Facts { with_strict_rp_filter, ..here.clone() };
        let ports = ports.map(|ports| ports.parse().unwrap());
        let text = |f: Finding| format!("{:?}: {} -> {}", f.severity, f.found, f.to_do.unwrap_or_default());
        judge(&Crossing { ports, ..crossing([&here, &there], trials) }).into_iter().map(text).collect()
    }

    #[test]
    fn a_path_that_carries_is_fine() {
        let all = judged(&[pair("r0", Outcome::Connected(carried()))], None, false);
        assert_eq!(all, ["Fine: to b and back over r0 in 120 us -> "]);
    }

    #[test]
    fn interfaces_that_are_no_rails_are_named_with_reasons() {
        let tunnel = |name: &str, reserve| {
            let (name, reason) = (name.into(), Some("a tunnel".into()));
            let tunnel = rails::InterfaceFacts { name, reason, reserve, ..Default::default() };
            rails::Facts { interfaces: vec![tunnel], ..Default::default() }
        };
        let rails = [&tunnel("tun0", false), &tunnel("wg0", true)];
        let others = "; no rails of a: tun0: a tunnel; no rails of b: wg0: a tunnel (in reserve)";
        let silent = [pair("r0", fails(Failure::Silence, false))];
        for trials in [&silent[..], &[]] {
            let found = judge(&crossing(rails, trials)).remove(0).found;
            assert!(found.ends_with(others), "{found}");
        }
    }

    #[test]
    fn a_firewall_is_distinguished_from_a_host_that_does_not_answer() {
        let ports = Some("50000-50100");
        for (failure, says) in [
            (Failure::Silence, "gets no answer, unlike other ports: a firewall drops it"),
            (Failure::Refused, "is refused although it is listened on"),
            (Failure::NoWay("No route to host".into()), "fails (No route to host), but not on other ports: a firewall"),
        ] {
            let all = judged(&[pair("r0", fails(failure, true))], ports, false);
            assert!(all[0].starts_with("Prevents: TCP over r0 from 10.0.0.1 to 10.0.0.2 (b) port 50007"), "{all:?}");
            assert!(all[0].contains(says), "{all:?}");
            assert!(all[0].ends_with("-> let TCP and UDP to ports 50000-50100 through on b"), "{all:?}");
        }
        let all = judged(&[pair("r0", fails(Failure::Silence, true))], None, false);
        assert!(all[0].contains("-> set FISHPLATE_PORTS=50000-50100"), "{all:?}");
        let all = judged(&[pair("r0", fails(Failure::Silence, false))], None, false);
        assert!(all[0].contains("as on any other port") && all[0].contains("cable"), "{all:?}");
        let all = judged(&[pair("r0", fails(Failure::Silence, false))], None, true);
        assert!(
            all[0].contains("on b: sysctl -w net.ipv4.conf.r0.rp_filter=2; if that does not help, look"),
            "{all:?}"
        );
    }

    #[test]
    fn a_connection_that_somebody_else_takes_is_reported_by_what_was_seen() {
        let all = judged(&[pair("r0", fails(Failure::Broken, true))], None, false);
        assert!(all[0].contains("port 50007 is connected, and ends before b has answered"), "{all:?}");
        assert!(
            all[0].ends_with(
                "-> look for a second host that has 10.0.0.2, and for proxies and firewalls that end \
                                  connections"
            ),
            "{all:?}"
        );
    }

    #[test]
    fn connections_that_can_be_made_from_the_other_side_alone_are_enough() {
        let trials = [pair("r0", fails(Failure::Silence, true))];
        let rails = rails::Facts::default();
        let way = Crossing { leads_back: true, ..crossing([&rails, &rails], &trials) };
        assert_eq!(judge(&way)[0].severity, Severity::Warning);
    }

    #[test]
    fn while_another_rail_carries_it_is_a_warning() {
        let lone = PairTrial { rail: "r1".into(), paths: Vec::new() };
        let all = judged(&[pair("r0", Outcome::Connected(carried())), lone.clone()], None, false);
        assert!(all[0].starts_with("Warning: r1 leads to no address of b -> give both"), "{all:?}");
        assert!(judged(&[lone], None, false)[0].starts_with("Prevents"));
        assert!(judged(&[], None, false)[0].starts_with("Prevents: no rail to try"));
    }

    #[test]
    fn datagrams_that_do_not_arrive_and_interfaces_that_answer_for_each_other_are_warnings() {
        let carried = Carried { arrived_over: Some("r1".into()), longest_datagram: None, ..carried() };
        let all = judged(&[pair("r0", Outcome::Connected(carried))], None, false);
        assert!(all[0].contains("arrive over r1 of b, not r0") && all[0].contains("arp_ignore=1"), "{all:?}");
        assert!(all[1].starts_with("Warning: UDP over r0"), "{all:?}");
        assert_eq!(all.len(), 3);
    }
}
