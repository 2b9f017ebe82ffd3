//! multirail-2004: two rails of which one message can use both.

use super::judgement::{Fact, Judgement, Null, TOLERANCE, found, near};
use super::medians::{AppTime, At, COMMUNICATION, RUN, Values};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// How far what an application saves may be from the published part, as a part of it.
const SAVED_TOLERANCE: f64 = 0.15;
/// A gain below this is noise, and one above is not slight.
const MIN_GAIN: f64 = 1.02;
const MAX_SLIGHT_GAIN: f64 = 1.5;
const SMALL: [u64; 2] = [64, KIB];
/// The benchmark in whose middle a rail falls to half of its rate, and rises again.
const OVER_TIME: &str = "a rail is shared for 3 s";
/// When that happens, in seconds since the program's begin. The plan's schedule counts from the first result, which comes
/// after one second.
const FALLS_S: f64 = 3.0;
const RISES_S: f64 = 6.0;
/// The interval in which it happens is left out.
const SETTLING_S: f64 = 1.0;

pub const FACTS: &[Fact] = &[
    Fact {
        id: "M4",
        text: "Two rails, even striping: peak unidirectional bandwidth 1723 MB/s, 1.95 times that of one rail",
        null: Null::Alike,
        decide: |values| peak(values, "bandwidth", 1723.0 / 884.0),
    },
    Fact {
        id: "M5",
        text: "Two rails, even striping: peak bidirectional bandwidth 1877 MB/s, 1.99 times that of one rail",
        null: Null::Alike,
        decide: |values| peak(values, "bibandwidth", 1877.0 / 943.0),
    },
    Fact {
        id: "M6",
        text: "Two rails: latency of large messages about half of one rail's",
        null: Null::Alike,
        decide: large_latency,
    },
    Fact {
        id: "M7",
        text: "Round robin slightly improves the bandwidth of small messages over one rail",
        null: Null::Alike,
        decide: round_robin,
    },
    Fact {
        id: "M8",
        text: "Two processes a node, senders on different nodes: striping beats binding, both beat one rail",
        null: Null::Alike,
        decide: two_senders,
    },
    Fact {
        id: "M9",
        text: "Two processes a node, both directions: striping and binding are comparable",
        null: Null::Apart,
        decide: two_processes,
    },
    Fact {
        id: "M10",
        text: "MPI_Bcast and MPI_Alltoall of large messages gain from two rails",
        null: Null::Alike,
        decide: collectives,
    },
    Fact { id: "M11", text: "NAS FT: communication time almost halved", null: Null::Alike, decide: almost_halved },
    Fact {
        id: "M12",
        text: "NAS IS: communication time down by up to 38 %, run time by up to 22 %",
        null: Null::Alike,
        decide: |values| application(values, "is", 0.38, 0.22),
    },
    Fact {
        id: "M13",
        text: "Visualization: communication time down by 43 %, run time by 16 %",
        null: Null::Alike,
        decide: |values| application(values, "visualization", 0.43, 0.16),
    },
    Fact {
        id: "M14",
        text: "Rails 4:1: even striping is held to twice the slow rail, weighted reaches about the sum, adaptive is \
               comparable to weighted",
        null: Null::Alike,
        decide: unequal,
    },
    Fact {
        id: "M15",
        text: "Rails 4:1, both directions: adaptive clearly beats weighted, because the bus makes 2:1 the best ratio",
        null: Null::Untested,
        decide: |_| Err("emulated rails carry both directions at full rate; there is no bus that both share".into()),
    },
    Fact {
        id: "M16",
        text: "A second program takes one rail for 10 s: adaptive beats even, and returns to the peak afterwards",
        null: Null::Alike,
        decide: shared_rail,
    },
];

fn peak(values: &Values, benchmark: &str, published: f64) -> Judgement {
    let at = At { benchmark, link: "equal", size: MIB };
    let (two, one) = (values.median("even", at)?, values.median("one-rail", at)?);
    let rule = format!("even striping over one rail at 1 MiB, at most 10 % from {published:.2}");
    found(
        near(two / one, published, TOLERANCE),
        &rule,
        &[("even MB/s", two), ("one rail MB/s", one), ("factor", two / one)],
    )
}

fn large_latency(values: &Values) -> Judgement {
    let ratio = values.ratio("even", "one-rail", At { benchmark: "latency", link: "equal", size: MIB })?;
    found(
        near(ratio, 0.5, TOLERANCE),
        "latency at 1 MiB, even striping over one rail, 0.45 to 0.55",
        &[("ratio", ratio)],
    )
}

fn round_robin(values: &Values) -> Judgement {
    let ratio = |size| values.ratio("even", "one-rail", At { benchmark: "bandwidth", link: "equal", size });
    let [smallest, larger] = [ratio(SMALL[0])?, ratio(SMALL[1])?];
    let holds = [smallest, larger].into_iter().all(|gain| (MIN_GAIN..=MAX_SLIGHT_GAIN).contains(&gain));
    let rule = "bandwidth of round robin over one rail, 1.02 to 1.5 at 64 bytes and at 1 KiB";
    found(holds, rule, &[("64 B", smallest), ("1 KiB", larger)])
}

fn two_senders(values: &Values) -> Judgement {
    let at = At { benchmark: "two processes a host, one way", link: "equal", size: MIB };
    let rate = |stack| values.median(stack, at);
    let (one, bound, striped) = (rate("one-rail")?, rate("binding")?, rate("even")?);
    let rule = "one of two processes of each host sends messages of 1 MiB: striping above binding, binding above one rail, by 2 % or \
                more each";
    let named = [("striping / binding", striped / bound), ("binding / one rail", bound / one)];
    found(striped >= MIN_GAIN * bound && bound >= MIN_GAIN * one, rule, &named)
}

fn two_processes(values: &Values) -> Judgement {
    let at = At { benchmark: "two processes a host", link: "equal", size: MIB };
    // Ranks 0 0 1 1: at distance 2 every process talks to the other host.
    let median = |stack| values.median_with(stack, at, ("distance", 2));
    let ratio = median("even")? / median("binding")?;
    let rule = "ring of distance 2 over two hosts at 1 MiB, striping over binding, 0.9 to 1.1";
    found(near(ratio, 1.0, TOLERANCE), rule, &[("ratio", ratio)])
}

fn collectives(values: &Values) -> Judgement {
    let gain = |benchmark, size| values.ratio("one-rail", "even", At { benchmark, link: "equal", size });
    let (bcast, alltoall) = (gain("bcast", MIB)?, gain("alltoall", 256 * KIB)?);
    let rule = "4 ranks on 2 hosts: time with one rail over time with two, above 1.1 for both";
    found(bcast > 1.1 && alltoall > 1.1, rule, &[("bcast 1 MiB", bcast), ("alltoall 256 KiB", alltoall)])
}

fn unequal(values: &Values) -> Judgement {
    let rails = values.rails_mb_per_s("unequal")?;
    let (sum, slow) = (rails.iter().sum::<f64>(), rails.iter().copied().fold(f64::INFINITY, f64::min));
    let median = |stack| values.median(stack, At { benchmark: "bandwidth", link: "unequal", size: MIB });
    let (even, weighted, adaptive) = (median("even")?, median("weighted")?, median("adaptive")?);
    let held = near(even, 2.0 * slow, TOLERANCE);
    let holds = held && near(weighted, sum, TOLERANCE) && near(adaptive, weighted, TOLERANCE);
    let rule = "each at most 10 % from what it should be, at 1 MiB; rails as asked, less the headers of TCP";
    let parts = [
        ("even / twice the slow rail", even / (2.0 * slow)),
        ("weighted / sum", weighted / sum),
        ("adaptive / weighted", adaptive / weighted),
    ];
    found(holds, rule, &parts)
}

fn shared_rail(values: &Values) -> Judgement {
    let at = At { benchmark: OVER_TIME, link: "equal", size: MIB };
    let mean = |stack, after_s, until_s| values.mean_between(stack, at, after_s, until_s);
    let peak = mean("adaptive", 0.0, FALLS_S)?;
    let shared = |stack| mean(stack, FALLS_S + SETTLING_S, RISES_S);
    let gain = shared("adaptive")? / shared("even")?;
    let returned = mean("adaptive", RISES_S + SETTLING_S, f64::INFINITY)? / peak;
    let rule = "one rail at half of its rate: adaptive over even, above 1.1; adaptive afterwards over before, at least 0.9; \
                the second in which the rate changes is left out";
    found(
        gain > 1.1 && returned >= 1.0 - TOLERANCE,
        rule,
        &[("meanwhile, adaptive / even", gain), ("adaptive, afterwards / before", returned)],
    )
}

/// A time of an application with two rails over that with one.
fn app_ratio(values: &Values, app: &str, metric: &str) -> Result<f64, String> {
    let seconds = |stack| values.seconds(AppTime { app, stack, link: "equal", metric });
    Ok(seconds("even")? / seconds("one-rail")?)
}

fn almost_halved(values: &Values) -> Judgement {
    let ratio = app_ratio(values, "ft", COMMUNICATION)?;
    let rule = "2 ranks on 2 hosts, class A: time in MPI with even striping over that with one rail, 0.5 to 0.6";
    found((0.5..=0.6).contains(&ratio), rule, &[("ratio", ratio)])
}

/// `communication` and `run` are the published parts of the times that two rails save.
fn application(values: &Values, app: &str, communication: f64, run: f64) -> Judgement {
    let saved = (1.0 - app_ratio(values, app, COMMUNICATION)?, 1.0 - app_ratio(values, app, RUN)?);
    let holds = near(saved.0, communication, SAVED_TOLERANCE) && near(saved.1, run, SAVED_TOLERANCE);
    let rule = format!(
        "2 ranks on 2 hosts: what even striping saves of the times with one rail, at most 15 % from {communication:.2} in MPI \
         and {run:.2} in all, more or less"
    );
    found(holds, &rule, &[("saved in MPI", saved.0), ("saved of the run time", saved.1)])
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::experiments::test_records::{Given, verdicts};

    /// One rail carries 48 MB/s, two of them twice as much.
    pub fn as_published() -> Vec<Given> {
        let mut all = Vec::new();
        for (stack, factor) in [("one-rail", 1.0), ("even", 2.0)] {
            for benchmark in ["bandwidth", "bibandwidth"] {
                all.push(Given::of(stack, benchmark, "equal", MIB, 48.0 * factor));
            }
            let small = if factor > 1.0 { 1.1 } else { 1.0 };
            all.extend(SMALL.map(|size| Given::of(stack, "bandwidth", "equal", size, small)));
            all.push(Given::of(stack, "latency", "equal", MIB, 20_000.0 / factor));
            all.push(Given::of(stack, "bcast", "equal", MIB, 20_000.0 / factor));
            all.push(Given::of(stack, "alltoall", "equal", 256 * KIB, 20_000.0 / factor));
        }
        for (stack, value) in [("even", 25.0), ("weighted", 60.0), ("adaptive", 59.0)] {
            all.push(Given::of(stack, "bandwidth", "unequal", MIB, value));
        }
        for (stack, shared) in [("even", 48.0), ("adaptive", 70.0)] {
            for second in 1..=9 {
                // The seconds in which the rate changes say nothing.
                let value = match second {
                    4 | 7 => 1.0,
                    5 | 6 => shared,
                    _ => 95.0,
                };
                let given = Given::of(stack, OVER_TIME, "equal", MIB, value);
                all.push(Given { option: Some(("time", second)), ..given });
            }
        }
        for stack in ["even", "binding"] {
            let given = Given::of(stack, "two processes a host", "equal", MIB, 45.0);
            all.push(Given { option: Some(("distance", 2)), ..given });
        }
        for (stack, rate) in [("one-rail", 45.0), ("binding", 70.0), ("even", 90.0)] {
            all.push(Given::of(stack, "two processes a host, one way", "equal", MIB, rate));
        }
        for (app, run_s, in_mpi_s) in [
            ("ft", [10.0, 6.0], [8.0, 4.2]),
            ("is", [5.0, 3.9], [4.0, 2.5]),
            ("visualization", [3.6, 3.0], [1.3, 0.75]),
        ] {
            for (at, stack) in ["one-rail", "even"].into_iter().enumerate() {
                all.push(Given::without_size(app, stack, "equal", RUN, run_s[at]));
                all.push(Given::without_size(app, stack, "equal", COMMUNICATION, in_mpi_s[at]));
            }
        }
        all
    }

    #[test]
    fn statements_hold_or_not_by_the_values() {
        let held = ["M4", "M5", "M6", "M7", "M8", "M9", "M10", "M11", "M12", "M13", "M14", "M16"];
        assert_eq!(verdicts("multirail-2004", &as_published()), held.map(|id| (id.to_string(), true)));
        // The second rail brings nothing, striping is half as fast as binding, and weights do not help.
        let mut flat = as_published();
        for given in &mut flat {
            given.value = match (given.link, given.stack) {
                ("unequal", _) => 25.0,
                _ if given.benchmark == OVER_TIME => 60.0,
                (_, "even") if given.option.is_some() => 20.0,
                (_, "binding") => 40.0,
                _ => 10.0,
            };
        }
        assert_eq!(verdicts("multirail-2004", &flat), held.map(|id| (id.to_string(), false)));
        // A larger gain than published is a different finding.
        let mut better = as_published();
        let two_rails =
            |given: &&mut Given| given.stack == "even" && ["is", "visualization"].contains(&given.benchmark);
        better.iter_mut().filter(two_rails).for_each(|given| given.value *= 0.8);
        let missed = |(id, holds): (String, bool)| (!holds).then_some(id);
        let missed: Vec<String> = verdicts("multirail-2004", &better).into_iter().filter_map(missed).collect();
        assert_eq!(missed, ["M12", "M13"]);
    }

    #[test]
    fn the_rail_is_shared_when_the_plan_says() {
        let (plan, _) = crate::experiments::find("multirail-2004").unwrap().plan(false).unwrap();
        let benchmark = plan.benchmarks.iter().find(|benchmark| benchmark.name == OVER_TIME).unwrap();
        let first_result_s: f64 = benchmark.options.value("--interval").unwrap().parse().unwrap();
        let changes = benchmark.schedule.iter().flat_map(|schedule| &schedule.entries);
        let times: Vec<f64> = changes.map(|entry| entry.at.as_secs_f64() + first_result_s).collect();
        assert_eq!(times, [FALLS_S, RISES_S]);
    }
}
