//! endapps-2006: one port, two striped ports, one fast port, at a tenth of the rates.

use super::judgement::{Fact, Judgement, Null, TOLERANCE, found, near};
use super::medians::{AppTime, At, COMMUNICATION, RUN, Values};
use crate::rpi::published::{self, Published};

/// Where throughput is at its peak. Shorter windows profit from the bursts that a rail lets through.
const LARGE: u64 = 1 << 20;
/// Link and stack of the published TCP on one port, striped sockets, and InfiniBand: below MPI, and under MPI.
const NATIVE: [(&str, &str); 3] = [("one port", "tcp"), ("two ports", "mptcp"), ("fast port", "tcp")];
const MPI: [(&str, &str); 3] =
    [("one port", "mpich-tcp"), ("two ports", "fishplate-mpich"), ("fast port", "fishplate-mpich")];

pub const FACTS: &[Fact] = &[
    Fact {
        id: "E1",
        text: "Native latency: 23 us on one port, 12 us striped, 3 us on the fast one, that is 1 to 0.52 to 0.13",
        null: Null::Alike,
        decide: |values| latencies(values, NATIVE, [23.0, 12.0, 3.0]),
    },
    Fact {
        id: "E2",
        text: "Native throughput: 897 Mbit/s on one port, 1794 striped, 7457 on the fast one, that is 1 to 2.00 to 8.31",
        null: Null::Alike,
        decide: |values| throughputs(values, NATIVE, [897.0, 1794.0, 7457.0]),
    },
    Fact {
        id: "E3",
        text: "MPI latency: 28 us on one port, 13 us striped, 4 us on the fast one, that is 1 to 0.46 to 0.14",
        null: Null::Alike,
        decide: |values| latencies(values, MPI, [28.0, 13.0, 4.0]),
    },
    Fact {
        id: "E4",
        text: "MPI peak throughput: 890, 1780, 7321 Mbit/s, that is 1 to 2.00 to 8.23",
        null: Null::Alike,
        decide: |values| throughputs(values, MPI, [890.0, 1780.0, 7321.0]),
    },
    Fact {
        id: "E5",
        text: "NAS: part of the run time in communication on one port, %: IS 84, CG 65, MG 64, LU 55, SP 51, BT 40",
        null: Null::Alike,
        decide: shares,
    },
    Fact {
        id: "E6",
        text: "NAS, messages by size: IS and CG have the largest, LU the most and the smallest",
        null: Null::Untested,
        decide: |_| {
            Err("counts do not depend on links: `fishplate profile` counts them (`fishplate help experiments`)".into())
        },
    },
    Fact {
        id: "E7",
        text: "NAS: striping has 90 to 100 % of the gain of InfiniBand with MG, EP, LU, SP, BT, about 55 % with IS, CG",
        null: Null::BandwidthAlone,
        decide: relative_improvements,
    },
    Fact {
        id: "E8",
        text: "GROMACS: 83 to 99 % of the run time in communication",
        null: Null::Untested,
        decide: gromacs,
    },
    Fact {
        id: "E9",
        text: "GROMACS: striping has 55 to 92 % of the gain of InfiniBand",
        null: Null::Untested,
        decide: gromacs,
    },
    Fact {
        id: "E10",
        text: "PVFS: SDP about twice striped sockets and three times TCP",
        null: Null::Alike,
        decide: contiguous_files,
    },
    Fact { id: "E11", text: "mpi-tile-io, read: 1119, 764, 756 Mbit/s", null: Null::Alike, decide: tiles },
    Fact {
        id: "E12",
        text: "MPI-BLAST, 1 GB: 112, 94, 86 s, so 67 % of the gain of InfiniBand",
        null: Null::BandwidthAlone,
        decide: search_times,
    },
    Fact {
        id: "E13",
        text: "MPI-BLAST stays near 2 Gbit/s although SDP peaks at 5.8",
        null: Null::Alike,
        decide: search_network_use,
    },
];

/// Stacks of the applications, on all ports.
const APP_STACK: &str = "fishplate-mpich";
/// The applications, in the order of their published shares of communication.
const SHARED: [(&str, f64); 6] =
    [("is", 84.18), ("cg", 65.48), ("mg", 64.08), ("lu", 54.68), ("sp", 51.32), ("bt", 39.57)];
/// How far a share may be from the published one, in percent of the run time.
const SHARE_TOLERANCE: f64 = 10.0;
/// Tolerated relative deviation of RPI from the middle of the published range.
const RPI_TOLERANCE: f64 = 0.15;
/// Minimum part of the time in MPI on one port that the fast port must save: otherwise the divisor is too small.
const MIN_GAIN: f64 = 0.05;

/// Both factors over one port, two-sided.
fn factors(measured: [f64; 3], published: [f64; 3], (rule, unit): (&str, &str)) -> Judgement {
    let [two, fast] = [1, 2].map(|place| measured[place] / measured[0]);
    let [two_published, fast_published] = [1, 2].map(|place| published[place] / published[0]);
    let holds = near(two, two_published, TOLERANCE) && near(fast, fast_published, TOLERANCE);
    let rule =
        format!("{rule}: striped and fast over one port, {two_published:.2} and {fast_published:.2}, at most 10 % off");
    found(holds, &rule, &[(unit, measured[0]), ("striped / one port", two), ("fast / one port", fast)])
}

fn at_places(values: &Values, places: [(&str, &str); 3], benchmark: &str, size: u64) -> Result<[f64; 3], String> {
    let median = |(link, stack)| values.median(stack, At { benchmark, link, size });
    Ok([median(places[0])?, median(places[1])?, median(places[2])?])
}

fn latencies(values: &Values, places: [(&str, &str); 3], published: [f64; 3]) -> Judgement {
    let rule = "1 byte, where the published factors come from sockets that bypass the kernel, and these do not";
    factors(at_places(values, places, "latency", 1)?, published, (rule, "one port, us"))
}

fn throughputs(values: &Values, places: [(&str, &str); 3], published: [f64; 3]) -> Judgement {
    let rule = "1 MiB, a tenth of the rates";
    factors(at_places(values, places, "bandwidth", LARGE)?, published, (rule, "one port, MB/s"))
}

/// A time of an application on one port, on two, on the fast one.
fn app_times(values: &Values, app: &str, metric: &str) -> Result<[f64; 3], String> {
    let seconds = |(link, _)| values.seconds(AppTime { app, stack: APP_STACK, link, metric });
    Ok([seconds(MPI[0])?, seconds(MPI[1])?, seconds(MPI[2])?])
}

fn shares(values: &Values) -> Judgement {
    let share = |(app, published): (&'static str, f64)| {
        let one_port = |metric| app_times(values, app, metric).map(|times| times[0]);
        Ok::<_, String>((app, published, 100.0 * one_port(COMMUNICATION)? / one_port(RUN)?))
    };
    let found_shares = SHARED.into_iter().map(share).collect::<Result<Vec<_>, _>>()?;
    let holds = found_shares.iter().all(|(_, published, share)| (share - published).abs() <= SHARE_TOLERANCE);
    let rule = "smaller classes on two hosts whose processors are faster in proportion to their network: each at most 10 \
                points from the published one";
    found(holds, rule, &found_shares.iter().map(|(app, _, share)| (*app, *share)).collect::<Vec<_>>())
}

fn relative_improvements(values: &Values) -> Judgement {
    let mut rated = Vec::new();
    let mut holds = true;
    for (app, Published { least, greatest }) in published::PROGRAMS {
        let [one, two, fast] = app_times(values, app, COMMUNICATION)?;
        if one - fast < MIN_GAIN * one {
            continue;
        }
        let rpi = 100.0 * (one - two) / (one - fast);
        holds &= near(rpi, 0.5 * (least + greatest), RPI_TOLERANCE);
        rated.push((app, rpi));
    }
    let rule = "100 (X - Y) / (X - Z) of the times in MPI on one port, two, and the fast one, in percent: at most \
                15 % from the published 55 and from 95, the middle of 90 to 100; a program that waits for nothing but bandwidth has 57; those to which \
                the fast port brings less than 5 % are left out";
    found(holds && !rated.is_empty(), rule, &rated)
}

fn gromacs(_: &Values) -> Judgement {
    Err("the inputs of 2006 come with no package; `fishplate bench` runs GROMACS with others (`fishplate help apps`)"
        .into())
}

/// Links with a parallel file system: one port, two, the fast one.
const FILES: [&str; 3] = ["files, one port", "files, two ports", "files, fast port"];
/// Stack of its clients.
const FILES_STACK: &str = "mpich-tcp";
/// Regions that are on all of its servers.
const REGION: u64 = 16 << 20;
/// How far "about" is from a published factor, as a part of it.
const FILES_TOLERANCE: f64 = 0.15;

/// Gains of two ports and of the fast port, as factors over one port.
fn file_factors(values: &Values, metric: &str, benchmark: &str, size: u64) -> Result<[f64; 2], String> {
    let rate = |link| values.median_of(metric, FILES_STACK, At { benchmark, link, size });
    let [one, two, fast] = [rate(FILES[0])?, rate(FILES[1])?, rate(FILES[2])?];
    Ok([two / one, fast / one])
}

fn contiguous_files(values: &Values) -> Judgement {
    let [read_two, read_fast] = file_factors(values, "read_bandwidth", "contiguous files", REGION)?;
    let [write_two, write_fast] = file_factors(values, "write_bandwidth", "contiguous files", REGION)?;
    let fits = |two: f64, fast: f64| near(fast, 3.0, FILES_TOLERANCE) && near(fast / two, 2.0, FILES_TOLERANCE);
    let rule = "four clients on two hosts, four servers, regions of 16 MiB each, read and written: the fast port 3 times one \
                port and twice two, at most 15 % off; in place of PVFS a file system in user space, whose processes \
                share this machine's processors";
    let named = [
        ("read, two ports / one port", read_two),
        ("read, fast / one port", read_fast),
        ("write, two ports / one port", write_two),
        ("write, fast / one port", write_fast),
    ];
    found(fits(read_two, read_fast) && fits(write_two, write_fast), rule, &named)
}

fn tiles(values: &Values) -> Judgement {
    let [two, fast] = file_factors(values, "read_bandwidth", "tiles", 0)?;
    let fits = |factor, published| near(factor, published / 756.0, TOLERANCE);
    let rule = "four ranks, 2 tiles of 1024 x 768 x 32 bytes, independent calls of MPI-IO: what two ports and the fast one \
                bring to one at most 10 % from the published factors, 1.01 and 1.48";
    found(fits(two, 764.0) && fits(fast, 1119.0), rule, &[("two ports / one port", two), ("fast / one port", fast)])
}

/// The search whose database is in these files.
const SEARCH: &str = "search in files";
/// Published of MPI-BLAST with 1 GB: RPI in percent; how much of the peak of the fast port is used.
const SEARCH_RPI: f64 = 67.0;
const SEARCH_USE: f64 = 2.0 / 5.8;

fn search_times(values: &Values) -> Judgement {
    let run = |link| values.seconds(AppTime { app: SEARCH, stack: FILES_STACK, link, metric: RUN });
    let [one, two, fast] = [run(FILES[0])?, run(FILES[1])?, run(FILES[2])?];
    let gain = (one - fast) / one;
    if gain < MIN_GAIN {
        return Err(format!("the fast port brings {:.1} % of the run time, too little to divide by", 100.0 * gain));
    }
    let rpi = 100.0 * (one - two) / (one - fast);
    let rule = "one query, a database of 37 MB in four servers, four ranks on two hosts, 100 (X - Y) / (X - Z) of the run times \
                on one port, two, and the fast one: at most 10 % from the published 67; a program that waits for nothing but bandwidth \
                has 57";
    let named = [("one port, s", one), ("two ports, s", two), ("fast port, s", fast), ("RPI, %", rpi)];
    found(near(rpi, SEARCH_RPI, TOLERANCE), rule, &named)
}

fn search_network_use(values: &Values) -> Judgement {
    let link = FILES[2];
    let read = |benchmark, size| values.median_of("read_bandwidth", FILES_STACK, At { benchmark, link, size });
    let (used, peak) = (read(SEARCH, 0)?, read("contiguous files", REGION)?);
    let rule = "what the search reads in its run time on the fast port, over what regions of 16 MiB are read with there: 2/5.8, \
                at most 10 % off";
    let named = [("search, MB/s", used), ("regions, MB/s", peak), ("part used", used / peak)];
    found(near(used / peak, SEARCH_USE, TOLERANCE), rule, &named)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::experiments::test_records::{Given, verdicts};

    fn given(latency_us: [[f64; 3]; 2], mb_per_s: [f64; 3]) -> Vec<Given> {
        let mut all = Vec::new();
        for (places, latency_us) in [NATIVE, MPI].into_iter().zip(latency_us) {
            for (number, (link, stack)) in places.into_iter().enumerate() {
                all.push(Given::of(stack, "latency", link, 1, latency_us[number]));
                all.push(Given::of(stack, "bandwidth", link, LARGE, mb_per_s[number]));
            }
        }
        all
    }

    /// Run time 100 s on one port; of the gain in MPI two ports have such parts.
    fn apps(share_off: f64, parts: [f64; 2]) -> Vec<Given> {
        let mut all = Vec::new();
        for (app, _) in published::PROGRAMS {
            let published = SHARED.iter().find(|(name, _)| *name == app).map_or(20.0, |(_, share)| *share);
            let one = published + share_off;
            let part = if ["is", "cg"].contains(&app) { parts[0] } else { parts[1] };
            for ((link, _), in_mpi) in MPI.into_iter().zip([one, one - part * one / 2.0, one / 2.0]) {
                all.push(Given::without_size(app, APP_STACK, link, COMMUNICATION, in_mpi));
                all.push(Given::without_size(app, APP_STACK, link, RUN, 100.0 - one + in_mpi));
            }
        }
        all
    }

    /// MB/s of regions and of tiles, seconds of the search.
    fn files(regions: [f64; 3], tiles: [f64; 3], search: [f64; 3]) -> Vec<Given> {
        let mut all = Vec::new();
        for (number, link) in FILES.into_iter().enumerate() {
            for metric in ["read_bandwidth", "write_bandwidth"] {
                let region = Given::of(FILES_STACK, "contiguous files", link, REGION, regions[number]);
                all.push(Given { metric, ..region });
            }
            all.push(Given::without_size("tiles", FILES_STACK, link, "read_bandwidth", tiles[number]));
            all.push(Given::without_size(SEARCH, FILES_STACK, link, RUN, search[number]));
            all.push(Given::without_size(SEARCH, FILES_STACK, link, "read_bandwidth", 1780.0 / search[number]));
        }
        all
    }

    pub fn as_published() -> Vec<Given> {
        let published = [given([[23.0, 12.0, 3.0], [28.0, 13.0, 4.0]], [11.1, 22.2, 91.5]), apps(0.0, [0.55, 0.95])];
        [published.concat(), files([20.0, 30.0, 60.0], [75.0, 76.0, 112.0], [112.0, 94.0, 86.0])].concat()
    }

    #[test]
    fn a_search_that_waits_for_no_network_has_no_rpi() {
        let values = files([1.0; 3], [1.0; 3], [100.0, 99.0, 98.0]);
        let record = crate::experiments::test_records::record("endapps-2006", &values);
        let why = search_times(&Values::of(&record)).err();
        assert_eq!(why.as_deref(), Some("the fast port brings 2.0 % of the run time, too little to divide by"));
    }

    #[test]
    fn statements_hold_or_not_by_the_values() {
        let tested = ["E1", "E2", "E3", "E4", "E5", "E7", "E10", "E11", "E12", "E13"];
        assert_eq!(verdicts("endapps-2006", &as_published()), tested.map(|id| (id.to_string(), true)));
        let other = [given([[28.0, 30.0, 4.0]; 2], [11.1, 11.0, 60.0]), apps(-15.0, [0.9, 0.5])];
        let other = [other.concat(), files([20.0, 40.0, 160.0], [75.0, 150.0, 300.0], [50.0, 48.0, 10.0])].concat();
        assert_eq!(verdicts("endapps-2006", &other), tested.map(|id| (id.to_string(), false)));
    }
}
