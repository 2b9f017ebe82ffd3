//! Checks whether full-size segments arrive: a *black hole* drops long packets without an ICMP message.

use fishplate_rails::trial::path::PairTrial;

use super::paths::connected;
use super::rails;
use crate::doctor::finding::Finding;

const CHECK: &str = "packet sizes";

/// Findings from the trials from a host with these rails to another host.
pub fn judge(from: &str, rails_here: &rails::Facts, to: &str, trials: &[PairTrial]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (rail, path, carried) in connected(trials).filter(|(_, _, carried)| !carried.long_arrives) {
        let mtu = rails_here.interface(rail).map_or(0, |one| one.mtu);
        let way =
            format!("full segments over {rail} (MTU {mtu}) from {} to {} ({to}) do not arrive", path.from, path.to);
        let cost = "Fishplate sends short segments after a while, which costs time";
        let (found, to_do) = match carried.longest_datagram {
            Some(longest) if longest < mtu => (
                format!("{way}; packets of up to {longest} bytes do, and no ICMP error reports longer ones; {cost}"),
                format!(
                    "`ip link set {rail} mtu {longest}` on {from} and `ip link set {} mtu {longest}` on {to}, or have \
                     the routers between them pass longer packets, or send ICMP \"fragmentation needed\"",
                    path.to_rail
                ),
            ),
            _ => (
                format!("{way}; {cost}"),
                format!(
                    "find the longest packet that arrives (`tracepath -n {}`) and set the MTUs to its length",
                    path.to
                ),
            ),
        };
        findings.push(Finding::warning(CHECK, from, found, to_do));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use fishplate_rails::trial::path::{Carried, Outcome, PathTrial};

    fn judged(long_arrives: bool, longest_datagram: Option<u32>) -> Vec<Finding> {
        let rail = rails::InterfaceFacts { name: "r0".into(), mtu: 1500, ..rails::InterfaceFacts::default() };
        let carried = Carried { long_arrives, longest_datagram, ..Carried::default() };
        let [from, to] = ["10.0.0.1", "10.0.0.2"].map(|ip| ip.parse().unwrap());
        let path = PathTrial { from, to, to_rail: "eth7".into(), outcome: Outcome::Connected(carried) };
        let trials = [PairTrial { rail: "r0".into(), paths: vec![path] }];
        judge("a", &rails::Facts { interfaces: vec![rail], ..Default::default() }, "b", &trials)
    }

    #[test]
    fn a_black_hole_is_reported_with_the_mtu_that_helps() {
        let text = format!("{:?}", judged(false, Some(1300)));
        for part in
            ["r0 (MTU 1500)", "up to 1300 bytes", "ip link set r0 mtu 1300` on a", "ip link set eth7 mtu 1300` on b"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(format!("{:?}", judged(false, None)).contains("tracepath -n 10.0.0.2"));
    }

    #[test]
    fn a_path_with_icmp_errors_is_fine() {
        assert!(judged(true, Some(1300)).is_empty());
    }
}
