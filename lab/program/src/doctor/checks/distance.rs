//! Whether the kernel lets connections fill distant paths: by their windows, and with congestion control for distance.

use fishplate_rails::trial::path::PairTrial;

use super::{kernel, paths::connected, rails};
use crate::doctor::finding::Finding;
use crate::output::text;

const CHECK: &str = "distance";

/// Assumed speed of an interface of unknown speed, in Mbit/s, as for new connections.
const ASSUMED_MBPS: u64 = 1000;
/// A path counts as distant from this round trip on, in microseconds: within clusters they are shorter.
const DISTANT_US: f64 = 1000.0;
/// The kernel uses about half of `tcp_rmem` and `tcp_wmem` for overhead.
const OVERHEAD: f64 = 2.0;

/// One of the two hosts.
pub struct End<'a> {
    pub host: &'a str,
    pub rails: &'a rails::Facts,
    pub kernel: &'a kernel::Facts,
}

/// Findings about data from one to the other.
pub fn judge(from: &End, to: &End, trials: &[PairTrial]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (rail, path, carried) in connected(trials).filter(|(_, _, carried)| carried.round_trip_us >= DISTANT_US) {
        let far = format!("{} is {} away over {rail}", to.host, text::microseconds(carried.round_trip_us));
        if !from.kernel.congestion_controls.iter().any(|name| name == "bbr") {
            let found = format!("{far}, and the kernel has no BBR, which keeps such paths full when packets are lost");
            let to_do = "modprobe tcp_bbr; sysctl -w net.ipv4.tcp_allowed_congestion_control='reno cubic bbr'";
            findings.push(Finding::warning(CHECK, from.host, found, to_do.into()));
        }
        let mbps = speed(from.rails, rail).min(speed(to.rails, &path.to_rail));
        let bytes = mbps as f64 * 1e6 / 8.0 * carried.round_trip_us / 1e6;
        let needed = (bytes * OVERHEAD) as u64;
        for (end, name, most) in
            [(from, "tcp_wmem", from.kernel.most_send_buffer), (to, "tcp_rmem", to.kernel.most_receive_buffer)]
        {
            let Some(most) = most.filter(|most| *most < needed) else { continue };
            let found = format!(
                "{name} ends at {}, and a path of {mbps} Mbit/s and {} ({rail} of {} to {}) holds {}, for which it \
                 takes twice as much: a connection alone cannot fill it",
                text::bytes(most),
                text::microseconds(carried.round_trip_us),
                from.host,
                to.host,
                text::bytes(bytes as u64)
            );
            let first = if name == "tcp_rmem" { "4096 131072" } else { "4096 16384" };
            let to_do =
                format!("sysctl -w net.ipv4.{name}='{first} {needed}'; FISHPLATE_STREAMS helps as far as 16 do");
            findings.push(Finding::warning(CHECK, end.host, found, to_do));
        }
    }
    findings
}

fn speed(rails: &rails::Facts, name: &str) -> u64 {
    rails.interface(name).and_then(|rail| rail.speed_mbps).unwrap_or(ASSUMED_MBPS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fishplate_rails::trial::path::{Carried, Outcome, PathTrial};

    fn judged(round_trip_us: f64, speed_mbps: Option<u64>, controls: &[&str]) -> Vec<String> {
        let rail = rails::InterfaceFacts { name: "r0".into(), speed_mbps, ..rails::InterfaceFacts::default() };
        let rails = rails::Facts { interfaces: vec![rail], ..Default::default() };
        let kernel = kernel::Facts {
            most_send_buffer: Some(4 << 20),
            most_receive_buffer: Some(6 << 20),
            congestion_controls: controls.iter().map(|name| name.to_string()).collect(),
            ..kernel::Facts::default()
        };
        let carried = Carried { round_trip_us, ..Carried::default() };
        let ip = "10.0.0.2".parse().unwrap();
        let path = PathTrial { from: ip, to: ip, to_rail: "r0".into(), outcome: Outcome::Connected(carried) };
        let trials = [PairTrial { rail: "r0".into(), paths: vec![path] }];
        let end = |host| End { host, rails: &rails, kernel: &kernel };
        let findings = judge(&end("a"), &end("b"), &trials);
        findings.into_iter().map(|f| format!("{}: {} -> {}", f.hosts[0], f.found, f.to_do.unwrap())).collect()
    }

    #[test]
    fn near_paths_need_nothing() {
        assert!(judged(300.0, Some(100_000), &["reno"]).is_empty());
    }

    #[test]
    fn windows_are_held_against_what_the_path_holds() {
        let all = judged(20_000.0, Some(10_000), &["reno", "bbr"]);
        assert!(all[0].starts_with("a: tcp_wmem ends at 4.19 MB") && all[0].contains("holds 25.0 MB"), "{all:?}");
        assert!(all[1].starts_with("b: tcp_rmem") && all[1].contains("tcp_rmem='4096 131072 50000000'"), "{all:?}");
        assert!(judged(10_000.0, None, &["bbr"]).is_empty(), "1 Gbit/s and 10 ms are 1.25 MB");
    }

    #[test]
    fn far_away_bbr_is_missed() {
        let all = judged(20_000.0, Some(100), &["reno", "cubic"]);
        assert!(
            all.len() == 1 && all[0].contains("b is 20.0 ms away over r0") && all[0].contains("modprobe"),
            "{all:?}"
        );
    }
}
