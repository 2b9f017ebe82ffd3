//! wan-2008: one rail whose delay grows.

use super::judgement::{Fact, Judgement, Null, TOLERANCE, found, near};
use super::medians::{AppTime, At, RUN, Values};

const KIB: u64 = 1 << 10;
const LARGE: u64 = 4 << 20;
const LINKS: [&str; 5] = ["0 us", "10 us", "100 us", "1 ms", "10 ms"];
const FISHPLATE: &str = "fishplate-mpich";
/// Part of the value without delay that counts as keeping it, and as having lost it.
const KEEPS: f64 = 0.9;
const FALLEN: f64 = 0.7;

pub const FACTS: &[Fact] = &[
    Fact { id: "W2", text: "Verbs, unreliable datagrams: independent of delay", null: Null::Untested, decide: verbs },
    Fact {
        id: "W4",
        text: "Verbs, reliable: the peak is reached at every delay with large messages; small and medium ones fall with \
               delay",
        null: Null::Alike,
        decide: large_reach_the_peak,
    },
    Fact {
        id: "W5",
        text: "IPoIB: larger TCP windows help, and all fall with delay",
        null: Null::Alike,
        decide: windows,
    },
    Fact {
        id: "W6",
        text: "IPoIB: parallel streams gain up to 50 % at high delay, and hold the peak at 1 ms",
        null: Null::Alike,
        decide: streams_gain,
    },
    Fact {
        id: "W8",
        text: "IPoIB: one stream falls sharply beyond 100 us, two or more hold",
        null: Null::Alike,
        decide: streams_hold,
    },
    Fact {
        id: "W10",
        text: "1 ms, threshold of 64 KB instead of 8 KB: messages of 8 KB gain about 44 %, at most 83 %",
        null: Null::Alike,
        decide: threshold,
    },
    Fact {
        id: "W11",
        text: "The message rate of several pairs grows in proportion to the pairs, at high delay for medium messages too",
        null: Null::Alike,
        decide: pairs,
    },
    Fact {
        id: "W12",
        text: "Hierarchical broadcast of 128 KB: 20, 18, 90 % faster at 10, 100, 1000 us; comparable for small messages",
        null: Null::Alike,
        decide: broadcast,
    },
    Fact {
        id: "W13",
        text: "NAS: IS and FT keep their speed to 1 ms, CG degrades markedly",
        null: Null::Alike,
        decide: applications,
    },
    Fact {
        id: "W14",
        text: "NAS: 41 % of IS' messages are large, 83 % of FT's; CG's are mostly small and medium",
        null: Null::Untested,
        decide: |_| Err("what counts as large is not published; `fishplate profile` counts messages by size".into()),
    },
    Fact {
        id: "W16",
        text: "NFS over RDMA: 700 MB/s at 10 us, 500 at 100 us, 100 at 1 ms",
        null: Null::Untested,
        decide: nfs,
    },
    Fact {
        id: "W17",
        text: "NFS over RDMA is best at 10 us, NFS over IPoIB at 1 ms",
        null: Null::Untested,
        decide: nfs,
    },
    Fact { id: "W18", text: "A newer adapter gains at 1 ms", null: Null::Untested, decide: verbs },
];

/// A value at each delay.
fn by_delay(values: &Values, stack: &str, benchmark: &str, size: u64) -> Result<[f64; 5], String> {
    let mut all = [0.0; 5];
    for (value, link) in all.iter_mut().zip(LINKS) {
        *value = values.median(stack, At { benchmark, link, size })?;
    }
    Ok(all)
}

fn large_reach_the_peak(values: &Values) -> Judgement {
    let small = by_delay(values, FISHPLATE, "bandwidth", KIB)?;
    let large = by_delay(values, FISHPLATE, "bandwidth", LARGE)?;
    let kept = large.iter().copied().fold(f64::INFINITY, f64::min) / large[0];
    let holds = kept >= KEEPS && small[4] / small[0] <= FALLEN;
    let rule = "asked of MPI over TCP, 16 messages at once: 4 MiB keeps 0.9 of its bandwidth at every delay, 1 KiB falls \
                to 0.7 or less at 10 ms";
    found(holds, rule, &[("4 MiB, least part kept", kept), ("1 KiB at 10 ms, part kept", small[4] / small[0])])
}

fn windows(values: &Values) -> Judgement {
    let window = |name| by_delay(values, "tcp", name, 256 * KIB);
    let (least, middle, most) = (window("TCP window 16K")?, window("streams 1")?, window("TCP window 256K")?);
    let falls = |all: [f64; 5]| all[4] / all[0];
    let helps = least[3] < middle[3] && middle[3] < most[3];
    let holds = helps && [least, middle, most].into_iter().all(|all| falls(all) <= FALLEN);
    let rule = "plain sockets with buffers of 16, 64, 256 KiB: more at 1 ms with each larger one, and all at 0.7 or less \
                of their own at 10 ms (verbs, which the statement compares with, are not there)";
    let at_1_ms = [("16K at 1 ms, MB/s", least[3]), ("64K at 1 ms, MB/s", middle[3]), ("256K at 1 ms, MB/s", most[3])];
    let parts = [("16K at 10 ms, part kept", falls(least)), ("256K at 10 ms, part kept", falls(most))];
    found(holds, rule, &[&at_1_ms[..], &parts].concat())
}

fn streams_gain(values: &Values) -> Judgement {
    let (one, eight) = (streams(values, 1)?, streams(values, 8)?);
    let (kept, gain) = (eight[3] / eight[0], eight[4] / one[4]);
    let rule =
        "buffers of 64 KiB: eight streams at 1.5 of one at 10 ms, at most 10 % off, and at 0.9 of their peak at 1 ms";
    found(near(gain, 1.5, TOLERANCE) && kept >= KEEPS, rule, &[("gain at 10 ms", gain), ("part kept at 1 ms", kept)])
}

fn streams_hold(values: &Values) -> Judgement {
    let (one, two, four) = (streams(values, 1)?, streams(values, 2)?, streams(values, 4)?);
    let kept = |all: [f64; 5]| all[3] / all[2];
    let holds = kept(one) <= FALLEN && kept(two) >= KEEPS && kept(four) >= KEEPS;
    let rule = "buffers of 64 KiB, 1 ms over 100 us: one stream at 0.7 or less, two and four at 0.9 or more";
    found(holds, rule, &[("1 stream", kept(one)), ("2 streams", kept(two)), ("4 streams", kept(four))])
}

fn streams(values: &Values, number: u32) -> Result<[f64; 5], String> {
    by_delay(values, "tcp", &format!("streams {number}"), 256 * KIB)
}

fn threshold(values: &Values) -> Judgement {
    let at = At { benchmark: "bandwidth", link: "1 ms", size: 8 * KIB };
    let gain = values.ratio(FISHPLATE, "threshold-8K", at)?;
    let rule = "bandwidth at 8 KiB with a threshold of 64 KiB over that with 8 KiB, 1.44, at most 10 % off";
    found(near(gain, 1.44, TOLERANCE), rule, &[("ratio", gain)])
}

fn pairs(values: &Values) -> Judgement {
    let growth = |link, size| {
        let rate = |benchmark| values.median(FISHPLATE, At { benchmark, link, size });
        Ok::<f64, String>(rate("pairs 4")? / rate("pairs 1")?)
    };
    let (near_small, far_small, far_medium) = (growth("0 us", 8)?, growth("10 ms", 8)?, growth("10 ms", 8 * KIB)?);
    let holds = [near_small, far_small, far_medium].into_iter().all(|growth| near(growth, 4.0, TOLERANCE));
    let rule = "rate of four pairs over that of one, 3.6 to 4.4; all pairs share this machine's processors";
    let named = [("8 B, no delay", near_small), ("8 B, 10 ms", far_small), ("8 KiB, 10 ms", far_medium)];
    found(holds, rule, &named)
}

/// How far times of small messages may be apart that count as comparable, as a part of one.
const SMALL_TOLERANCE: f64 = 0.3;

fn broadcast(values: &Values) -> Judgement {
    let ratio = |link, size| values.ratio(FISHPLATE, "flat", At { benchmark: "bcast", link, size });
    let saved = |link| Ok::<f64, String>(1.0 - ratio(link, 128 * KIB)?);
    let large = [saved("10 us")?, saved("100 us")?, saved("1 ms")?];
    let small = ratio("1 ms", KIB)?;
    let as_published = large.into_iter().zip([0.20, 0.18, 0.90]).all(|(saved, part)| near(saved, part, TOLERANCE));
    let holds = as_published && near(small, 1.0, SMALL_TOLERANCE);
    let rule = "4 ranks on 2 hosts: what a broadcast that knows hosts saves of the time of one that does not, 0.20, 0.18 and \
                0.90 at 128 KiB, at most 10 % off; at 1 KiB and 1 ms its time over that of the other, 0.7 to 1.3";
    let named = [("10 us", large[0]), ("100 us", large[1]), ("1 ms", large[2]), ("1 KiB, 1 ms", small)];
    found(holds, rule, &named)
}

fn verbs(_: &Values) -> Judgement {
    Err("rails carry TCP; there are no verbs to ask".into())
}

/// By how much the run time of a program that keeps its speed may change, as a part of it; and what it takes at 1 ms at
/// least where it degrades markedly, as a multiple of the time without delay.
const CHANGE: f64 = 0.15;
const DEGRADED: f64 = 1.3;

fn applications(values: &Values) -> Judgement {
    let seconds = |app, link| values.seconds(AppTime { app, stack: FISHPLATE, link, metric: RUN });
    let grows = |app| Ok::<f64, String>(seconds(app, "1 ms")? / seconds(app, "0 us")?);
    let (is, ft, cg) = (grows("is")?, grows("ft")?, grows("cg")?);
    let rule = "2 ranks on 2 hosts, class A, where 64 were in class B: run time at 1 ms over that without delay, IS and FT \
                0.85 to 1.15, CG at least 1.3";
    found(near(is, 1.0, CHANGE) && near(ft, 1.0, CHANGE) && cg >= DEGRADED, rule, &[("IS", is), ("FT", ft), ("CG", cg)])
}

fn nfs(_: &Values) -> Judgement {
    Err("NFS goes over TCP here, and what is said is about RDMA; docs/papers/experiments.md tells what it reads".into())
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::experiments::test_records::{Given, verdicts};

    const TESTED: [&str; 8] = ["W4", "W5", "W6", "W8", "W10", "W11", "W12", "W13"];

    fn over_delays(stack: &'static str, benchmark: &'static str, size: u64, all: [f64; 5]) -> Vec<Given> {
        LINKS.into_iter().zip(all).map(|(link, value)| Given::of(stack, benchmark, link, size, value)).collect()
    }

    fn apps() -> Vec<Given> {
        let times = [("is", [4.0, 4.1]), ("ft", [2.0, 2.1]), ("cg", [2.0, 4.0])];
        let of = |(app, [near, far]): (&'static str, [f64; 2])| {
            [("0 us", near), ("1 ms", far)].map(|(link, value)| Given::without_size(app, FISHPLATE, link, RUN, value))
        };
        times.into_iter().flat_map(of).collect()
    }

    pub fn as_published() -> Vec<Given> {
        let tcp = |name, all| over_delays("tcp", name, 256 * KIB, all);
        let ours = |name, size, all| over_delays(FISHPLATE, name, size, all);
        let lists = [
            ours("bandwidth", KIB, [50.0, 50.0, 30.0, 8.0, 0.8]),
            ours("bandwidth", LARGE, [58.0; 5]),
            ours("bandwidth", 8 * KIB, [50.0, 50.0, 40.0, 20.0, 2.0]),
            over_delays("threshold-8K", "bandwidth", 8 * KIB, [50.0, 45.0, 30.0, 13.0, 1.5]),
            tcp("TCP window 16K", [50.0, 40.0, 20.0, 8.0, 0.8]),
            tcp("streams 1", [58.0, 58.0, 58.0, 30.0, 3.0]),
            tcp("TCP window 256K", [58.0, 58.0, 58.0, 57.0, 12.0]),
            tcp("streams 2", [58.0, 58.0, 58.0, 56.0, 6.0]),
            tcp("streams 4", [58.0, 58.0, 58.0, 57.0, 12.0]),
            tcp("streams 8", [58.0, 58.0, 58.0, 57.0, 4.5]),
            ours("pairs 1", 8, [1e5; 5]),
            ours("pairs 4", 8, [4e5; 5]),
            ours("pairs 1", 8 * KIB, [1e3; 5]),
            ours("pairs 4", 8 * KIB, [4e3; 5]),
            ours("bcast", 128 * KIB, [100.0; 5]),
            ours("bcast", KIB, [10.0; 5]),
            over_delays("flat", "bcast", 128 * KIB, [125.0, 125.0, 122.0, 1000.0, 1000.0]),
            over_delays("flat", "bcast", KIB, [10.0; 5]),
            apps(),
        ];
        lists.concat()
    }

    #[test]
    fn statements_hold_or_not_by_the_values() {
        assert_eq!(verdicts("wan-2008", &as_published()), TESTED.map(|id| (id.to_string(), true)));
        // Delay, windows, streams, thresholds, pairs and hosts make no difference.
        let mut flat = as_published();
        flat.iter_mut().for_each(|given| given.value = 10.0);
        assert_eq!(verdicts("wan-2008", &flat), TESTED.map(|id| (id.to_string(), false)));
    }
}
