//! endapps-2006: one port, two striped ports, one fast port, at a tenth of the rates.

use super::judgement::{Fact, Judgement, found, near};
use super::medians::{At, Values};

/// Where throughput is at its peak. Shorter windows profit from the bursts that a rail lets through.
const LARGE: u64 = 1 << 20;
/// How far a factor may be from the published one, as a part of it.
const TOLERANCE: f64 = 0.1;
/// Link and stack of the published TCP on one port, striped sockets, and InfiniBand: below MPI, and under MPI.
const NATIVE: [(&str, &str); 3] = [("one port", "tcp"), ("two ports", "mptcp"), ("fast port", "tcp")];
const MPI: [(&str, &str); 3] =
    [("one port", "mpich-tcp"), ("two ports", "fishplate-mpich"), ("fast port", "fishplate-mpich")];

pub const FACTS: &[Fact] = &[
    Fact {
        id: "E1",
        text: "Native latency: 23 us on one port, 12 us striped, 3 us on the fast one: in this order",
        decide: |values| latencies(values, NATIVE),
    },
    Fact {
        id: "E2",
        text: "Native throughput: 897 Mbit/s on one port, 1794 striped, 7457 on the fast one: in this order",
        decide: native_throughput,
    },
    Fact {
        id: "E3",
        text: "MPI latency: 28 us on one port, 13 us striped, 4 us on the fast one: in this order",
        decide: |values| latencies(values, MPI),
    },
    Fact {
        id: "E4",
        text: "MPI peak throughput: 890, 1780, 7321 Mbit/s, that is 1 to 2.00 to 8.23",
        decide: mpi_throughput,
    },
    Fact { id: "E7", text: "NAS: striping brings 55 to 100 % of what InfiniBand brings", decide: application },
    Fact { id: "E9", text: "GROMACS: striping brings 55 to 92 % of what InfiniBand brings", decide: application },
    Fact { id: "E10", text: "PVFS: SDP about twice striped sockets and three times TCP", decide: application },
    Fact { id: "E11", text: "mpi-tile-io, read: 1119, 764, 756 Mbit/s", decide: application },
    Fact { id: "E12", text: "MPI-BLAST, 1 GB: 112, 94, 86 s", decide: application },
    Fact { id: "E13", text: "MPI-BLAST stays near 2 Gbit/s although SDP peaks at 5.8", decide: application },
];

fn latencies(values: &Values, places: [(&str, &str); 3]) -> Judgement {
    let median = |(link, stack)| values.median(stack, At { benchmark: "latency", link, size: 1 });
    let [one, two, fast] = [median(places[0])?, median(places[1])?, median(places[2])?];
    let rule = "each below the one before, at 1 byte; the published order comes from sockets that bypass the kernel, and \
                these do not";
    found(
        fast < two && two < one,
        rule,
        &[("1: one port, us", one), ("2: striped, us", two), ("3: fast port, us", fast)],
    )
}

fn throughputs(values: &Values, places: [(&str, &str); 3]) -> Result<[f64; 3], String> {
    let median = |(link, stack)| values.median(stack, At { benchmark: "bandwidth", link, size: LARGE });
    let mbit = |place| median(place).map(|mb_per_s| mb_per_s * 8.0);
    Ok([mbit(places[0])?, mbit(places[1])?, mbit(places[2])?])
}

fn native_throughput(values: &Values) -> Judgement {
    let [one, two, fast] = throughputs(values, NATIVE)?;
    let named = [("1: one port, Mbit/s", one), ("2: striped, Mbit/s", two), ("3: fast port, Mbit/s", fast)];
    found(one < two && two < fast, "each above the one before, at 1 MiB", &named)
}

fn mpi_throughput(values: &Values) -> Judgement {
    let [one, two, fast] = throughputs(values, MPI)?;
    let holds = near(two / one, 1780.0 / 890.0, TOLERANCE) && near(fast / one, 7321.0 / 890.0, TOLERANCE);
    let rule = "both factors at most 10 % from the published ones, at 1 MiB and a tenth of the rates";
    found(holds, rule, &[("one port, Mbit/s", one), ("striped / one port", two / one), ("fast / one port", fast / one)])
}

fn application(_: &Values) -> Judgement {
    Err("the suite has no applications".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::test_records::{Given, verdicts};

    fn given(latency_us: [f64; 3], mb_per_s: [f64; 3]) -> Vec<Given> {
        let mut all = Vec::new();
        for places in [NATIVE, MPI] {
            for (number, (link, stack)) in places.into_iter().enumerate() {
                all.push(Given::of(stack, "latency", link, 1, latency_us[number]));
                all.push(Given::of(stack, "bandwidth", link, LARGE, mb_per_s[number]));
            }
        }
        all
    }

    #[test]
    fn statements_hold_or_not_by_the_values() {
        let tested = ["E1", "E2", "E3", "E4"];
        let published = given([28.0, 13.0, 4.0], [11.1, 22.2, 91.5]);
        assert_eq!(verdicts("endapps-2006", &published), tested.map(|id| (id.to_string(), true)));
        let other = given([28.0, 30.0, 4.0], [11.1, 11.0, 60.0]);
        assert_eq!(verdicts("endapps-2006", &other), tested.map(|id| (id.to_string(), false)));
    }
}
